//! The node groups of claims that say nothing of any: each is one that a claim could ask for.

use std::collections::{BTreeMap, BTreeSet};

use super::Document;
use super::flaws::Flaws;
use crate::template::Backend;
use crate::template::companions::{COUNT_OR_AUTOSCALE, MAX_NODE_GROUPS, NodeGroup};
use crate::template::group;
use crate::template::parameter::{Rule, join_path};

/// Checks default groups: a claim must be able to request them. `to_zero`: whether autoscaling may remove the last node of a class; none:
/// there is no such class.
pub(super) fn find_flaws(
    document: &Document,
    backend: Backend,
    to_zero: &dyn Fn(&str) -> Option<bool>,
    flaws: &mut Flaws<'_>,
) {
    let groups = &document.default_node_groups;
    if !backend.capabilities().node_groups && !groups.is_empty() {
        flaws.add_flaw("defaultNodeGroups", format!("{backend} has no node groups"));
        return;
    }
    let most = document.limits.max_node_groups.unwrap_or(MAX_NODE_GROUPS).min(MAX_NODE_GROUPS);
    if u32::try_from(groups.len()).unwrap_or(u32::MAX) > most {
        flaws.add_flaw("defaultNodeGroups", format!("has more than {most} groups"));
    }
    let mut names = BTreeSet::new();
    for (i, group) in groups.iter().enumerate() {
        let mut flaw = |member: &str, sentence: String| {
            flaws.add_flaw(&format!("defaultNodeGroups[{i}]{member}"), sentence);
        };
        let mut wrong = |member: &str, sentence: &str| flaw(&format!(".{member}"), sentence.to_owned());
        let class = to_zero(&group.class);
        // An unknown class is not checked.
        group::check_node_group(group, backend, class.unwrap_or(true), &mut wrong);
        group::beyond_the_schema(group, &mut wrong);
        group_parameters(group, &document.node_parameters, &mut flaw);
        if !names.insert(&group.name) {
            flaw(".name", "is already used".into());
        }
        if class.is_none() {
            flaw(".class", "is none of allowedNodeClasses".into());
        }
        if group.count.is_some() == group.autoscale.is_some() {
            flaw("", COUNT_OR_AUTOSCALE.into());
        }
        for member in group::unknown_to(group, backend) {
            flaw(&format!(".{member}"), format!("is not supported by {backend}"));
        }
    }
    let most = |g: &NodeGroup| g.count.or(g.autoscale.map(|a| a.max)).and_then(|n| u32::try_from(n).ok());
    let all = groups.iter().filter_map(most).fold(0, u32::saturating_add);
    if document.limits.max_nodes.is_some_and(|limit| all > limit) {
        flaws.add_flaw("defaultNodeGroups", "has more nodes in all than limits.maxNodes".to_owned());
    }
}

/// Checks the parameters of a default group.
fn group_parameters(group: &NodeGroup, rules: &BTreeMap<String, Rule>, flaw: &mut dyn FnMut(&str, String)) {
    for (name, value) in &group.parameters.0 {
        let mut path = join_path(".parameters", name);
        match rules.get(name) {
            Some(rule) => rule.check_value(&mut path, value, flaw),
            None => flaw(&path, "is none of nodeParameters".into()),
        }
    }
    for (name, _) in
        rules.iter().filter(|(name, rule)| rule.required && !group.parameters.0.contains_key(*name))
    {
        flaw(&join_path(".parameters", name), "is required".into());
    }
}
