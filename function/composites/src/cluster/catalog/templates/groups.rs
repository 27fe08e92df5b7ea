//! Node groups: the claim's, else those of the previous request, else the template's.

use std::collections::BTreeSet;

use serde_json::Value;
use testplatform_apis::{
    condition::Request,
    template::{
        companions::{MAX_NODE_GROUPS, NodeGroup, Values},
        effective::Effective,
        entry::{Entry, TemplateOffer},
        group::{check_node_group, unknown_to},
    },
};

use super::{ClaimSpec, catalogue, parameters::resolve_parameters, refusal::Refusals};
use crate::cluster::request::NodeCount;

/// A group that may be asked for, not yet in the words of its backend.
pub(super) struct NodeGroupDraft {
    pub group: NodeGroup,
    /// With their values, by name.
    pub parameters: Vec<(String, Value)>,
}

/// The groups for the backend, and as they are shown.
pub(super) fn resolve_groups(
    entry: &Entry,
    claim: &ClaimSpec,
    memory: Option<&Effective>,
    refusals: &mut Refusals,
) -> (Vec<NodeGroupDraft>, Vec<NodeGroup>) {
    let path = "spec.nodeGroups";
    let offer = entry.made.as_offer();
    if !offer.backend().capabilities().node_groups {
        if claim.node_groups.is_some() {
            let sentence = format!(
                "cannot be set: the nodes of a cluster of {} are set by its parameters",
                offer.backend()
            );
            refusals.add(Request::FieldRefused, path, sentence);
        }
        return (vec![], vec![]);
    }
    let before = memory.and_then(|m| m.node_groups.clone());
    let requested =
        claim.node_groups.as_ref().or(before.as_ref()).unwrap_or(&entry.document.default_node_groups);
    let limits = &entry.document.limits;
    let moved = memory.is_some_and(|m| m.template.as_ref() != Some(&entry.name));
    let known = |group: &NodeGroup| before.iter().flatten().find(|b| b.name == group.name);
    let all_unchanged = before.as_ref().is_some_and(|b| b.len() == requested.len())
        && requested.iter().all(|group| known(group).is_some_and(|before| is_unchanged(before, group)));
    if claim.node_groups.is_some() && (moved || !all_unchanged) {
        let most = limits.max_node_groups.unwrap_or(MAX_NODE_GROUPS).min(MAX_NODE_GROUPS);
        if u32::try_from(requested.len()).unwrap_or(u32::MAX) > most {
            refusals.add(Request::InvalidNodeGroups, path, format!("has more than {most} groups"));
        }
        check_totals(requested, limits.min_nodes, limits.max_nodes, refusals);
        if requested.is_empty() && offer.backend().capabilities().min_count > 0 {
            let sentence = format!(
                "must have a group: {} gives a cluster without any what its own template has; leave the field out for that",
                offer.backend()
            );
            refusals.add(Request::InvalidNodeGroups, path, sentence);
        }
    }
    let rules = offer.node_parameters();
    let mut used_names = BTreeSet::new();
    let (mut groups, mut shown) = (Vec::new(), Vec::new());
    for (i, group) in requested.iter().enumerate().take(MAX_NODE_GROUPS as usize) {
        let path = format!("{path}[{i}]");
        let known = known(group);
        if !used_names.insert(group.name.as_str()) {
            refusals.add(Request::InvalidNodeGroups, format!("{path}.name"), "is already used");
            continue;
        }
        // An unchanged group is not checked again, and stays although its class is no longer offered.
        let unchanged = known.is_some_and(|before| is_unchanged(before, group));
        if !unchanged {
            check_group(offer, group, &path, refusals);
        }
        if offer.scales_to_zero(&group.class).is_none() && (moved || !unchanged) {
            let names: Vec<String> = offer.class_names().into_iter().map(str::to_owned).collect();
            let sentence = match names.as_slice() {
                [] => "is not a class of nodes: this template has none".to_owned(),
                names => format!("must be one of {}", catalogue::first_ten(names)),
            };
            refusals.add(Request::InvalidNodeGroups, format!("{path}.class"), sentence);
            continue;
        }
        let is_inherited = claim.node_groups.is_none() && before.is_some();
        let own = if is_inherited { Values::default() } else { group.parameters.clone() };
        let remembered = known.map(|k| k.parameters.clone()).unwrap_or_default();
        let (parameters, visible) = resolve_parameters(
            (&format!("{path}.parameters"), "parameter of node groups"),
            &rules,
            &own,
            (&remembered, moved || known.is_none()),
            Request::InvalidNodeGroups,
            refusals,
        );
        groups.push(NodeGroupDraft { group: group.clone(), parameters });
        shown.push(NodeGroup { parameters: visible, ..group.clone() });
    }
    (groups, shown)
}

/// Whether a group equals the previous request. Omitted parameters keep their values.
fn is_unchanged(before: &NodeGroup, group: &NodeGroup) -> bool {
    let same_parameters =
        group.parameters.0.iter().all(|(name, value)| before.parameters.0.get(name) == Some(value));
    same_parameters && *before == NodeGroup { parameters: before.parameters.clone(), ..group.clone() }
}

/// How many nodes, by rules that were checked.
pub(super) fn node_count(group: &NodeGroup) -> NodeCount {
    let count = |n: i32| u32::try_from(n).unwrap_or_default();
    match (group.count, group.autoscale) {
        (_, Some(range)) => NodeCount::Between { min: count(range.min), max: count(range.max) },
        (fixed, None) => NodeCount::Fixed(count(fixed.unwrap_or_default())),
    }
}

fn check_totals(groups: &[NodeGroup], least: Option<u32>, most: Option<u32>, refusals: &mut Refusals) {
    let sum =
        |of: fn(NodeCount) -> u32| groups.iter().map(|g| of(node_count(g))).fold(0, u32::saturating_add);
    let fewest = sum(|size| match size {
        NodeCount::Fixed(n) | NodeCount::Between { min: n, .. } => n,
    });
    let all = sum(|size| match size {
        NodeCount::Fixed(n) | NodeCount::Between { max: n, .. } => n,
    });
    if let Some(least) = least.filter(|least| fewest < *least) {
        let sentence = format!("has {fewest} nodes in total and needs at least {least}");
        refusals.add(Request::InvalidNodeGroups, "spec.nodeGroups", sentence);
    }
    if let Some(most) = most.filter(|most| all > *most) {
        let sentence = format!("may have {all} nodes in total; at most {most} are allowed");
        refusals.add(Request::InvalidNodeGroups, "spec.nodeGroups", sentence);
    }
}

/// Checks a new or changed group.
fn check_group(offer: &dyn TemplateOffer, group: &NodeGroup, path: &str, refusals: &mut Refusals) {
    let backend = offer.backend();
    let to_zero = offer.scales_to_zero(&group.class) == Some(true);
    check_node_group(group, backend, to_zero, &mut |member, sentence| {
        refusals.add(Request::InvalidNodeGroups, format!("{path}.{member}"), sentence);
    });
    let known = offer.architectures(&group.class);
    if let Some(arch) = group.arch.filter(|arch| !known.is_empty() && !known.contains(arch)) {
        let names: Vec<&str> = known.iter().map(|arch| arch.as_str()).collect();
        let sentence =
            format!("is {}, and nodes of class {} can be {}", arch.as_str(), group.class, names.join(" or "));
        refusals.add(Request::InvalidNodeGroups, format!("{path}.arch"), sentence);
    }
    for member in unknown_to(group, backend) {
        let sentence = format!("cannot be requested: {backend} does not support it");
        refusals.add(Request::FieldRefused, format!("{path}.{member}"), sentence);
    }
}
