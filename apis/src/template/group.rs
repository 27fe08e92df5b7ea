//! Checks of a node group, common to claims and to the default groups of catalogue entries.

use super::Backend;
use super::companions::{AUTOSCALE_RULE, MAX_PARAMETERS, NodeGroup};
use crate::names::{ObjectName, ShortName};

/// Takes the member that is wrong, and a sentence.
pub type Report<'a> = dyn FnMut(&str, &str) + 'a;

/// Checks a group, except for fields that the backend does not support at all. `to_zero`: whether autoscaling may remove the last node of
/// its class.
pub fn check_node_group(group: &NodeGroup, backend: Backend, to_zero: bool, wrong: &mut Report<'_>) {
    let can = backend.capabilities();
    if ShortName::try_from(group.name.as_str()).is_err() || group.name.contains('.') {
        wrong("name", "is not a DNS label: letters, digits and inner dashes, at most 63");
    }
    let numbers = [group.count, group.autoscale.map(|a| a.min), group.autoscale.map(|a| a.max)];
    if numbers.into_iter().flatten().any(|n| !(0..=1000).contains(&n)) {
        wrong(if group.count.is_some() { "count" } else { "autoscale" }, "must be within 0 and 1000");
    }
    if group.count.and_then(|n| u32::try_from(n).ok()).is_some_and(|n| n < can.min_count) {
        wrong("count", &format!("must be at least {}: {backend} has no empty groups", can.min_count));
    }
    if group.autoscale.is_some_and(|a| a.min == 0) && can.autoscale && !to_zero {
        wrong("autoscale.min", "must be at least 1: nodes of this class cannot go to 0 by themselves");
    }
    for (key, value) in &group.labels {
        if !is_label_key(key) || !is_label_value(value) {
            wrong("labels", "has a key or a value that is not a label's");
            break;
        }
    }
    if group
        .taints
        .iter()
        .any(|t| !is_label_key(&t.key) || !is_label_value(t.value.as_deref().unwrap_or_default()))
    {
        wrong("taints", "has a key or a value that is not a taint's");
    }
}

/// The members of a group that say something and that a backend does not have.
pub fn unknown_to(group: &NodeGroup, backend: Backend) -> impl Iterator<Item = &'static str> {
    let can = backend.capabilities();
    let members = [
        ("autoscale", group.autoscale.is_some(), can.autoscale),
        ("arch", group.arch.is_some(), can.arch),
        ("failureDomain", group.failure_domain.is_some(), can.failure_domain),
        ("labels", !group.labels.is_empty(), can.labels),
        ("taints", !group.taints.is_empty(), can.taints),
    ];
    members.into_iter().filter(|(_, says, has)| *says && !has).map(|(member, ..)| member)
}

/// Checks that the schema makes for claims, but not for a catalogue.
pub fn beyond_the_schema(group: &NodeGroup, wrong: &mut Report<'_>) {
    if let Some(range) = group.autoscale {
        if range.min > range.max {
            wrong("autoscale", AUTOSCALE_RULE);
        }
        if range.max < 1 {
            wrong("autoscale.max", "must be at least 1");
        }
    }
    if group.failure_domain.as_ref().is_some_and(|domain| !(1..=63).contains(&domain.chars().count())) {
        wrong("failureDomain", "has no name of 1 to 63 characters");
    }
    for (member, number, most) in [
        ("labels", group.labels.len(), 32),
        ("taints", group.taints.len(), 16),
        ("parameters", group.parameters.0.len(), MAX_PARAMETERS),
    ] {
        if number > most {
            wrong(member, &format!("has more than {most}"));
        }
    }
}

/// A name of at most 63 characters, after an optional DNS prefix.
fn is_label_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let prefixed = prefix.is_none_or(|p| ObjectName::try_from(p).is_ok());
    prefixed && !name.is_empty() && is_label_value(name)
}

/// Empty, or at most 63 letters, digits, dashes, underscores and dots, with letters or digits at its ends.
fn is_label_value(value: &str) -> bool {
    let ends = |b: Option<&u8>| b.is_none_or(u8::is_ascii_alphanumeric);
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    value.len() <= 63
        && value.bytes().all(inner)
        && ends(value.as_bytes().first())
        && ends(value.as_bytes().last())
}
