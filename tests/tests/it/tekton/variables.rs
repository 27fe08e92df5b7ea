//! Tekton's variables: `$(params.x)` and the like become text, everything else in a field stays as it is.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};

/// Names and values.
pub type Variables = BTreeMap<String, String>;

const KINDS: [&str; 7] = ["params", "context", "results", "step", "steps", "tasks", "workspaces"];

/// Every variable of Tekton in a text.
pub fn variables(text: &str) -> Vec<&str> {
    let inside = |rest: &'_ str| rest.find(')').map(|end| end + 2);
    text.match_indices("$(")
        .filter_map(|(at, _)| Some(&text[at + 2..at + inside(&text[at + 2..])?]))
        .filter(|name| name.split_once('.').is_some_and(|(kind, _)| KINDS.contains(&kind)))
        .collect()
}

/// A text with its variables replaced. One that has no value is an error, where Tekton may leave it as it is.
pub fn replaced(text: &str, values: &Variables) -> anyhow::Result<String> {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("$(") {
        let Some(end) = rest[at..].find(')') else { break };
        let name = &rest[at + 2..at + end];
        whole.push_str(&rest[..at]);
        match (values.get(name), variables(&rest[at..=at + end]).is_empty()) {
            (Some(value), _) => whole.push_str(value),
            (None, true) => whole.push_str(&rest[at..=at + end]),
            (None, false) => bail!("variable {name} has no value"),
        }
        rest = &rest[at + end + 1..];
    }
    whole.push_str(rest);
    Ok(whole)
}

/// Parameters with their defaults, as variables. Required parameters must be given, given ones must be declared.
pub fn parameters(
    declared: &[serde_json::Value],
    given: &BTreeMap<String, String>,
) -> anyhow::Result<Variables> {
    let mut values = Variables::new();
    for parameter in declared {
        let name = parameter["name"].as_str().context("a parameter without a name")?;
        let value = given.get(name).map(String::as_str).or(parameter["default"].as_str());
        let value = value.with_context(|| format!("parameter {name} is required"))?;
        values.insert(format!("params.{name}"), value.to_owned());
    }
    match given.keys().find(|name| !values.contains_key(&format!("params.{name}"))) {
        Some(name) => bail!("there is no parameter {name}"),
        None => Ok(values),
    }
}
