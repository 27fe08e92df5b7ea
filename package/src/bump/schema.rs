//! Compatibility of definitions: compares two schemas for breaking changes to existing claims, by the API server's rules.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use testplatform_apis::foreign::ephemeral_cluster::API_VERSION;

use super::text::{at, items_at, str_at};

/// Effect of a change on existing objects and unchanged clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Harmless.
    Fine,
    /// Changes behaviour, not validity.
    Warn,
    /// Breaks some objects; the change describes which.
    Maybe,
    /// Breaks.
    Breaking,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SchemaChange {
    /// The path of the field, `*` for every key of a map, `[]` for every item of a list.
    pub path: String,
    /// Effect of the change.
    pub verdict: Verdict,
    /// Description.
    pub what: String,
}

const UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";

/// Effect of a removed field.
const REMOVED_FIELD: &str = "is gone: strict clients are refused, others lose it";

/// Limits that refuse more values when they grow, and limits that refuse more when they shrink.
const LOWER_LIMITS: [&str; 4] = ["minimum", "minLength", "minItems", "minProperties"];
const UPPER_LIMITS: [&str; 4] = ["maximum", "maxLength", "maxItems", "maxProperties"];

/// Keywords of server-side apply and pruning: a change makes owners or fields disappear. Each has its default, as JSON.
const STRUCTURE: [(&str, &str); 4] = [
    ("x-kubernetes-list-type", "\"atomic\""),
    ("x-kubernetes-list-map-keys", "none"),
    ("x-kubernetes-map-type", "\"granular\""),
    ("x-kubernetes-int-or-string", "false"),
];

/// Other keywords that make values invalid. Comparing them semantically is beyond this tool.
const OTHER_KEYWORDS: [&str; 8] =
    ["oneOf", "anyOf", "allOf", "not", "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems"];

/// Differences from one version of a CompositeResourceDefinition to the next.
pub fn compare_definitions(old: &Value, new: &Value) -> Vec<SchemaChange> {
    let mut changes = Vec::new();
    let mut add = |path: &str, verdict, what: String| {
        changes.push(SchemaChange { path: path.to_owned(), verdict, what });
    };
    for path in [
        &["metadata", "name"][..],
        &["spec", "group"],
        &["spec", "scope"],
        // Compared as a whole: Crossplane cannot change even a short name of a definition in use.
        &["spec", "names"],
        &["spec", "claimNames"],
    ] {
        if at(old, path) != at(new, path) {
            add(
                &path.join("."),
                Verdict::Breaking,
                "changed: the definition cannot be applied over the running one".into(),
            );
        }
    }
    let keys = |value| {
        items_at(value, &["spec", "connectionSecretKeys"]).filter_map(Value::as_str).collect::<BTreeSet<_>>()
    };
    let (before, after) = (keys(old), keys(new));
    // No name means all names.
    let removed: Vec<String> = match (before.is_empty(), after.is_empty()) {
        (_, true) => vec![],
        (true, false) => {
            let named = after.into_iter().collect::<Vec<_>>().join(", ");
            vec![format!("only {named} from now on: connection Secrets lose every other key")]
        }
        (false, false) => before
            .difference(&after)
            .map(|key| format!("{key} is gone: connection Secrets lose it"))
            .collect(),
    };
    for what in removed {
        add("spec.connectionSecretKeys", Verdict::Breaking, what);
    }
    let mut schemas = Vec::new();
    for version in items_at(old, &["spec", "versions"]) {
        let name = str_at(version, &["name"]).unwrap_or_default();
        let path = format!("spec.versions.{name}");
        let next = items_at(new, &["spec", "versions"]).find(|next| str_at(next, &["name"]) == Some(name));
        let is = |version: &Value, key: &str| version.get(key).and_then(Value::as_bool).unwrap_or(false);
        let Some(next) = next.filter(|next| is(next, "served") || !is(version, "served")) else {
            add(&path, Verdict::Breaking, "no longer served".into());
            continue;
        };
        if is(version, "referenceable") != is(next, "referenceable") {
            add(&path, Verdict::Warn, "the stored version moves: objects have to be migrated".into());
        }
        if !is(version, "deprecated") && is(next, "deprecated") {
            add(&path, Verdict::Warn, "deprecated".into());
        }
        schemas.push((version, next));
    }
    for (version, next) in schemas {
        let schema = |version| at(version, &["schema", "openAPIV3Schema"]).cloned().unwrap_or_default();
        changes.extend(compare_schemas(&schema(version), &schema(next)));
    }
    changes
}

/// Differences that affect a claim between an XRD and the CRD of the remote object: fields that the XRD lacks or refuses.
///
/// Compares the version in which clusters are requested if the CRD has it, else the stored one.
pub fn compare_request(crd: &Value, xrd: &Value) -> Vec<SchemaChange> {
    let is = |version: &Value, flag: &str| version.get(flag).and_then(Value::as_bool).unwrap_or(false);
    let schema = |version: &Value| at(version, &["schema", "openAPIV3Schema", "properties", "spec"]).cloned();
    let versions = |definition| items_at(definition, &["spec", "versions"]);
    let (_, asked) = API_VERSION.split_once('/').unwrap_or_default();
    let requested_version = versions(crd).find(|version| str_at(version, &["name"]) == Some(asked));
    if requested_version.is_some_and(|version| !is(version, "served")) {
        let what = format!("{asked}, in which clusters are asked for, is no longer served");
        return vec![SchemaChange { path: String::new(), verdict: Verdict::Breaking, what }];
    }
    let theirs =
        requested_version.or_else(|| versions(crd).find(|version| is(version, "storage"))).and_then(schema);
    let ours = versions(xrd).find(|version| is(version, "referenceable")).and_then(schema);
    let (Some(crd), Some(xrd)) = (theirs, ours) else {
        let what = "no schema of spec to compare".to_owned();
        return vec![SchemaChange { path: String::new(), verdict: Verdict::Warn, what }];
    };
    let mut changes = compare_schemas(&crd, &xrd);
    for change in &mut changes {
        change.what = change
            .what
            .replace(REMOVED_FIELD, "is not in the XRD: strict clients are refused, others lose it");
    }
    changes
}

/// Differences from one OpenAPI schema to the next, without descriptions.
pub fn compare_schemas(old: &Value, new: &Value) -> Vec<SchemaChange> {
    let mut changes = Vec::new();
    compare_level("", old, new, &mut changes);
    changes
}

fn compare_level(path: &str, old: &Value, new: &Value, changes: &mut Vec<SchemaChange>) {
    let mut add = |verdict, what: String| {
        let path = if path.is_empty() { "." } else { path };
        changes.push(SchemaChange { path: path.to_owned(), verdict, what });
    };
    let show = |value: Option<&Value>| value.map_or_else(|| "none".to_owned(), Value::to_string);
    if old.get("type") != new.get("type") {
        let what = format!("type {} became {}", show(old.get("type")), show(new.get("type")));
        // An object schema may omit its type.
        let same = old.get("properties").is_some() && new.get("properties").is_some();
        add(if same { Verdict::Fine } else { Verdict::Breaking }, what);
        if !same {
            return;
        }
    }
    for (key, usual) in STRUCTURE {
        // A missing keyword has its default.
        let value_of = |value: &Value| value.get(key).map_or_else(|| usual.into(), Value::to_string);
        let (was, is) = (value_of(old), value_of(new));
        if was != is {
            add(Verdict::Breaking, format!("{key} {was} became {is}"));
        }
    }
    compare_limits(old, new, &mut add);
    let flag = |value: &Value, key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(false);
    match (flag(old, "nullable"), flag(new, "nullable")) {
        (true, false) => add(Verdict::Maybe, "null is no longer valid".into()),
        (false, true) => add(Verdict::Fine, "null becomes valid".into()),
        _ => {}
    }
    if flag(old, UNKNOWN) && !flag(new, UNKNOWN) {
        add(Verdict::Breaking, "unknown fields are no longer kept".into());
    }
    match (old.get("default"), new.get("default")) {
        (None, Some(default)) => add(Verdict::Warn, format!("default {default} added")),
        (Some(was), is) if Some(was) != is => {
            add(Verdict::Warn, format!("default {was} became {}", show(is)));
        }
        _ => {}
    }
    let required = |value| items_at(value, &["required"]).filter_map(Value::as_str).collect::<BTreeSet<_>>();
    let properties =
        |value: &Value| value.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let (before, after) = (properties(old), properties(new));
    let has_default = |name: &str| after.get(name).is_some_and(|schema| schema.get("default").is_some());
    for name in required(new).difference(&required(old)).filter(|name| !has_default(name)) {
        add(Verdict::Breaking, format!("{name} is required now"));
    }
    for name in required(old).difference(&required(new)) {
        add(Verdict::Fine, format!("{name} is no longer required"));
    }
    let mut below = Vec::new();
    for (name, schema) in &before {
        match after.get(name) {
            Some(next) => below.push((name.clone(), schema.clone(), next.clone())),
            None if flag(new, UNKNOWN) => {
                add(Verdict::Warn, format!("{name} is no longer declared, but kept"));
            }
            None => add(Verdict::Breaking, format!("{name} {REMOVED_FIELD}")),
        }
    }
    for name in after.keys().filter(|name| !before.contains_key(*name)) {
        add(Verdict::Fine, format!("{name} added"));
    }
    match (old.get("additionalProperties"), new.get("additionalProperties")) {
        (Some(was @ Value::Object(_)), Some(is @ Value::Object(_))) => {
            below.push(("*".into(), was.clone(), is.clone()));
        }
        (was, is) if was == is => {}
        (None | Some(Value::Bool(false)), _) | (Some(_), Some(Value::Bool(true))) => {
            add(Verdict::Fine, "more keys are valid".into());
        }
        _ => add(Verdict::Breaking, "fewer keys are valid".into()),
    }
    match (old.get("items"), new.get("items")) {
        (Some(was), Some(is)) => below.push(("[]".into(), was.clone(), is.clone())),
        (None, Some(is)) => add(Verdict::Maybe, format!("items are {is} now")),
        _ => {}
    }
    for (name, was, is) in below {
        compare_level(&format!("{path}.{name}"), &was, &is, changes);
    }
}

fn compare_limits(old: &Value, new: &Value, add: &mut impl FnMut(Verdict, String)) {
    for (keys, tighter) in [(LOWER_LIMITS, 1.0), (UPPER_LIMITS, -1.0)] {
        for key in keys {
            let number = |value: &Value| value.get(key).and_then(Value::as_f64);
            match (number(old), number(new)) {
                (None, Some(is)) => add(Verdict::Maybe, format!("{key} {is} added")),
                (Some(was), Some(is)) if (is - was) * tighter > 0.0 => {
                    add(Verdict::Maybe, format!("{key} {was} became {is}"));
                }
                (Some(was), Some(is)) if (is - was) * tighter < 0.0 => {
                    add(Verdict::Fine, format!("{key} {was} became {is}"));
                }
                (Some(was), None) => add(Verdict::Fine, format!("{key} {was} removed")),
                _ => {}
            }
        }
    }
    for key in ["pattern", "format"] {
        match (old.get(key), new.get(key)) {
            (was, Some(is)) if was != Some(is) => add(Verdict::Maybe, format!("{key} is {is} now")),
            (Some(was), None) => add(Verdict::Fine, format!("{key} {was} removed")),
            _ => {}
        }
    }
    for key in OTHER_KEYWORDS {
        // `false` equals a missing keyword.
        let value_of =
            |value: &'_ Value| value.get(key).filter(|value_of| **value_of != Value::Bool(false)).cloned();
        match (value_of(old), value_of(new)) {
            (was, Some(is)) if was.as_ref() != Some(&is) => add(Verdict::Maybe, format!("{key} is {is} now")),
            (Some(was), None) => add(Verdict::Fine, format!("{key} {was} removed")),
            _ => {}
        }
    }
    match (old.get("enum").and_then(Value::as_array), new.get("enum").and_then(Value::as_array)) {
        (None, Some(_)) => add(Verdict::Maybe, "only some values are valid now".into()),
        (Some(was), Some(is)) => {
            for value in was.iter().filter(|value| !is.contains(value)) {
                add(Verdict::Maybe, format!("{value} is no longer valid"));
            }
            for value in is.iter().filter(|value| !was.contains(value)) {
                add(Verdict::Fine, format!("{value} becomes valid"));
            }
        }
        (Some(_), None) => add(Verdict::Fine, "any value is valid now".into()),
        (None, None) => {}
    }
    let rules = |value| {
        items_at(value, &["x-kubernetes-validations"])
            .filter_map(|rule| str_at(rule, &["rule"]))
            .collect::<BTreeSet<_>>()
    };
    for rule in rules(new).difference(&rules(old)) {
        add(Verdict::Maybe, format!("rule added: {rule}"));
    }
}
