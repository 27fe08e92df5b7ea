//! A starter claim: `spec` without the Secret, and a list of values that only its owner knows.

use serde_json::{Map, Value, json};
use testplatform_apis::template::{
    companions::{MAX_NODE_GROUPS, NodeGroup},
    entry::{Entry, Rules},
    parameter::{Rule, Type, join_path},
};

/// The starter of a template. It has defaults that users often change, and required parameters for which any valid value works.
pub(super) fn template_starter(entry: &Entry, version: Option<&str>) -> (Map<String, Value>, Vec<String>) {
    let mut spec = Map::new();
    let mut fill_in = Vec::new();
    spec.insert("template".into(), entry.name.as_str().into());
    if let Some(version) = version {
        spec.insert("version".into(), version.into());
    }
    if let Some(lifetime) = entry.document.default_lifetime {
        spec.insert("lifetime".into(), shorten_duration(&lifetime.to_string()).into());
    }
    let parameters = required_values("spec.parameters", &entry.made.as_offer().parameters(), &mut fill_in);
    if !parameters.is_empty() {
        spec.insert("parameters".into(), parameters.into());
    }
    if let Some(groups) = node_groups(entry, &mut fill_in) {
        spec.insert("nodeGroups".into(), groups);
    }
    (spec, fill_in)
}

/// A duration without zero units: Go writes `2h0m0s`.
pub(super) fn shorten_duration(duration: &str) -> String {
    let units = ["0s", "0m"].iter().fold(duration, |rest, nothing| {
        let shorter = rest.strip_suffix(nothing);
        // The 0 of `10s` is a digit of the number.
        shorter.filter(|rest| rest.ends_with(['h', 'm'])).unwrap_or(rest)
    });
    units.to_owned()
}

/// Values of required parameters.
fn required_values(path: &str, rules: &Rules<'_>, fill_in: &mut Vec<String>) -> Map<String, Value> {
    let mut set = Map::new();
    for (name, rule) in rules.iter().filter(|(_, rule)| rule.required) {
        match example_value(rule) {
            Some(value) => {
                set.insert((*name).to_owned(), value);
            }
            None => fill_in.push(join_path(path, name)),
        }
    }
    set
}

/// A value that the rule allows, if any valid value works. Free text and Secrets are for the owner to choose.
fn example_value(rule: &Rule) -> Option<Value> {
    let edge = rule.minimum.or(rule.maximum);
    let own = match rule.type_ {
        Type::Boolean => Some(Value::Bool(false)),
        #[expect(clippy::cast_possible_truncation, reason = "what does not fit is judged below")]
        Type::Integer => edge.map(|edge| json!(edge.ceil() as i64)),
        Type::Number => edge.map(|edge| json!(edge)),
        Type::String | Type::Array | Type::Object => None,
    };
    let allowed = |value: &Value| {
        let mut sound = true;
        rule.check_value(&mut String::new(), value, &mut |_, _| sound = false);
        sound && !rule.secret
    };
    rule.allowed.iter().cloned().chain(own).find(allowed)
}

/// The default groups of a claim, or one of the first class. None: the claim should omit them.
fn node_groups(entry: &Entry, fill_in: &mut Vec<String>) -> Option<Value> {
    let document = &entry.document;
    let limits = &document.limits;
    let least = limits.min_nodes.unwrap_or_default();
    let mut groups = document.default_node_groups.clone();
    if groups.is_empty() {
        let class = entry.made.as_offer().class_names().first().copied()?.to_owned();
        let count = i32::try_from(least.max(1)).ok().filter(|count| *count <= 1000)?;
        groups.push(NodeGroup { name: "workers".into(), class, count: Some(count), ..NodeGroup::default() });
    }
    let number = |n: i32| u32::try_from(n).unwrap_or_default();
    let sum = |of: &dyn Fn(&NodeGroup) -> Option<i32>| {
        groups.iter().filter_map(of).map(number).fold(0, u32::saturating_add)
    };
    let fewest = sum(&|group| group.count.or(group.autoscale.map(|range| range.min)));
    let most = sum(&|group| group.count.or(group.autoscale.map(|range| range.max)));
    let fits = fewest >= least
        && limits.max_nodes.is_none_or(|max| most <= max)
        && groups.len() <= limits.max_node_groups.unwrap_or(MAX_NODE_GROUPS).min(MAX_NODE_GROUPS) as usize;
    if !fits {
        return None;
    }
    let rules = entry.made.as_offer().node_parameters();
    for (i, group) in groups.iter_mut().enumerate() {
        let missing: Rules<'_> =
            rules.iter().filter(|(name, _)| !group.parameters.0.contains_key(*name)).copied().collect();
        let set = required_values(&format!("spec.nodeGroups[{i}].parameters"), &missing, fill_in);
        group.parameters.0.extend(set);
    }
    serde_json::to_value(groups).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (go, own) in [
            ("2h0m0s", "2h"),
            ("1h30m0s", "1h30m"),
            ("10m0s", "10m"),
            ("1h0m10s", "1h0m10s"),
            ("1m10s", "1m10s"),
            ("0s", "0s"),
            ("90s", "90s"),
            ("20h10m0s", "20h10m"),
        ] {
            assert_eq!(shorten_duration(go), own);
        }
    }
}
