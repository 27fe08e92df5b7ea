//! Strict checks of the catalogue and of the function's input. The function ignores unknown fields, since an old function reads catalogues
//! for a newer one. Here an unknown field is a typo, and an intended limit would have no effect.

use std::collections::BTreeSet;

use serde_json::Value;
use testplatform_apis::{
    catalogue,
    duration::GoDuration,
    input::{self, Input, Settings},
    names::ObjectName,
    template::parameter::join_path,
};

use super::{
    lines::Lines,
    texts::{quote_texts, resolve_schema},
};
use crate::names::FUNCTION;

type FieldProblems = Vec<(String, &'static str)>;

fn pipeline_steps(composition: &Value) -> impl Iterator<Item = &Value> {
    composition["spec"]["pipeline"].as_array().into_iter().flatten()
}

/// The inputs of the function in a Composition, each with the number of its step.
fn function_inputs(composition: &Value) -> impl Iterator<Item = (usize, &Value)> {
    pipeline_steps(composition).map(|step| &step["input"]).enumerate().filter(|(_, input)| {
        let version = input["apiVersion"].as_str().unwrap_or_default();
        version.split('/').next() == Some(input::GROUP)
    })
}

/// The names by which the function gets the pool catalogue in a Composition.
pub(super) fn pool_catalogue_names(composition: &Value) -> Vec<String> {
    let named = |(_, input): (usize, &Value)| {
        let pools = input["pools"].as_str().map(str::to_owned);
        Input { pools, ..Input::default() }.to_settings().pools
    };
    // A step without an input uses the usual name.
    let bare = |step: &&Value| step["input"].is_null() && step["functionRef"]["name"] == FUNCTION;
    let usual = pipeline_steps(composition).filter(bare).map(|_| Settings::default().pools);
    function_inputs(composition).map(named).chain(usual).collect()
}

/// Problem with the name of a pool catalogue. `read` are the names that the function reads.
pub(super) fn check_pools_name(name: &str, read: &BTreeSet<String>) -> Option<String> {
    let known = read.iter().map(String::as_str).collect::<Vec<_>>().join(" or ");
    match name {
        "" => Some(format!("is missing: the function reads {known}")),
        name if read.contains(name) => None,
        name => Some(format!(
            "nobody reads a catalogue of pools named {name}; the function reads {known}: give it that name, or set pools in the function's input"
        )),
    }
}

/// Problems with the function's input in a Composition: path and message of each. None: the Composition has no input.
pub(super) fn check_composition(composition: &Value, lines: &Lines) -> Option<Vec<(String, String)>> {
    let schema = serde_json::to_value(input::build_schema()).unwrap_or_default();
    let mut found = None;
    for (i, input) in function_inputs(composition) {
        let path = format!("spec.pipeline[{i}].input");
        let mut given = input.clone();
        for of_objects in ["apiVersion", "kind", "metadata"] {
            given.as_object_mut().map(|given| given.remove(of_objects));
        }
        let own: &mut Vec<_> = found.get_or_insert_default();
        let (given, unquoted) = quote_texts(&schema, &given, &path, lines);
        own.extend(unquoted);
        if let Err(error) = serde_json::from_value::<Input>(given.clone()) {
            own.push((path.clone(), error.to_string()));
        }
        let mut passed_over = FieldProblems::new();
        let nobody = "is not a field of the function's input, so nobody reads it";
        walk_schema(&Schema { root: &schema, nobody }, &schema, &given, &path, &mut passed_over);
        own.extend(passed_over.into_iter().map(|(path, sentence)| (path, sentence.to_owned())));
    }
    found
}

/// Problems of a readable pool catalogue: path and message of each.
pub(super) fn check_pools(data: &Value) -> FieldProblems {
    let schema = serde_json::to_value(catalogue::build_schema()).unwrap_or_default();
    let mut found = FieldProblems::new();
    let nobody = "is not a field of a catalogue of pools, so nobody reads it";
    walk_schema(&Schema { root: &schema, nobody }, &schema, data, "data", &mut found);
    for (i, pool) in data["pools"].as_array().into_iter().flatten().enumerate() {
        let span = |field: &str| serde_json::from_value::<GoDuration>(pool[field].clone()).ok();
        if span("defaultLifetime").zip(span("maxLifetime")).is_some_and(|(own, most)| own > most) {
            found.push((format!("data.pools[{i}].defaultLifetime"), "is above maxLifetime"));
        }
        let path = format!("data.pools[{i}]");
        // The namespace of a `bringYourOwn` entry only identifies it, so any object name is valid.
        if pool["bringYourOwn"].is_null() {
            check_namespace(pool, "namespace", &path, &mut found);
        }
        check_namespace(&pool["subject"], "namespace", &format!("{path}.subject"), &mut found);
        check_carrier(pool, &path, "carrier", &mut found);
    }
    for (i, hub) in data["hubs"].as_array().into_iter().flatten().enumerate() {
        check_namespace(hub, "credentialsNamespace", &format!("data.hubs[{i}]"), &mut found);
    }
    found
}

/// Problems of a readable entry of the template catalogue.
pub(super) fn check_template(data: &Value) -> FieldProblems {
    let mut found = FieldProblems::new();
    check_namespace(data, "namespace", "data", &mut found);
    let backend = &data["backendRef"];
    check_namespace(backend, "hostedClusterNamespace", "data.backendRef", &mut found);
    check_namespace(&backend["classRef"], "namespace", "data.backendRef.classRef", &mut found);
    check_carrier(data, "data", "carrier", &mut found);
    check_carrier(data, "data", "provider", &mut found);
    found
}

fn check_carrier(of: &Value, path: &str, who: &str, found: &mut FieldProblems) {
    check_namespace(&of["bringYourOwn"][who], "namespace", &format!("{path}.bringYourOwn.{who}"), found);
}

/// Reports a field whose value is a valid object name, but no namespace name.
fn check_namespace(of: &Value, field: &str, path: &str, found: &mut FieldProblems) {
    let Some(name) = of[field].as_str() else { return };
    if ObjectName::try_from(name).is_ok() && (name.contains('.') || name.len() > 63) {
        let sentence = "is not a name of a namespace: lower-case letters, digits and -, at most 63";
        found.push((format!("{path}.{field}"), sentence));
    }
}

/// Context of a walk through a schema.
struct Schema<'a> {
    /// Schema with the definitions of all references.
    root: &'a Value,
    /// Message for an unknown field.
    nobody: &'static str,
}

/// Finds fields that the schema lacks, and nulls. Problems that parsing reports are not repeated.
fn walk_schema(by: &Schema<'_>, schema: &Value, value: &Value, path: &str, found: &mut FieldProblems) {
    let schema = resolve_schema(by.root, schema);
    match value {
        Value::Object(members) => {
            let others = &schema["additionalProperties"];
            if !schema["properties"].is_object() && !others.is_object() {
                return;
            }
            for (key, member) in members {
                let path = join_path(path, key);
                let required =
                    || schema["required"].as_array().is_some_and(|r| r.contains(&key.as_str().into()));
                match schema["properties"].get(key).or_else(|| others.is_object().then_some(others)) {
                    None if *others == Value::Bool(false) => {}
                    None => found.push((path, by.nobody)),
                    Some(_) if member.is_null() && required() => {}
                    Some(_) if member.is_null() => found.push((path, "is null; leave it out")),
                    Some(inner) => walk_schema(by, inner, member, &path, found),
                }
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                walk_schema(by, &schema["items"], item, &format!("{path}[{i}]"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
