//! What the function passes over in a catalogue and in its input, since an old function reads what is for a newer one: here it is a typo, and
//! what was meant as a limit would be none.

use std::collections::BTreeSet;

use serde_json::Value;
use testplatform_apis::{
    catalogue,
    duration::GoDuration,
    input::{self, Input, Settings},
    names::ObjectName,
    template::parameter::join_path,
};

use super::{lines::Lines, texts::quote_texts};
use crate::build::FUNCTION;

type Found = Vec<(String, &'static str)>;

fn pipeline_steps(composition: &Value) -> impl Iterator<Item = &Value> {
    composition["spec"]["pipeline"].as_array().into_iter().flatten()
}

/// The inputs of the function in a Composition, each with the number of its step.
fn inputs(composition: &Value) -> impl Iterator<Item = (usize, &Value)> {
    pipeline_steps(composition).map(|step| &step["input"]).enumerate().filter(|(_, input)| {
        let version = input["apiVersion"].as_str().unwrap_or_default();
        version.split('/').next() == Some(input::GROUP)
    })
}

/// By which names the function gets the catalogue of pools in a Composition.
pub(super) fn pools_named(composition: &Value) -> Vec<String> {
    let named = |(_, input): (usize, &Value)| {
        let pools = input["pools"].as_str().map(str::to_owned);
        Input { pools, ..Input::default() }.to_settings().pools
    };
    // A step without an input reads it by the usual name.
    let bare = |step: &&Value| step["input"].is_null() && step["functionRef"]["name"] == FUNCTION;
    let usual = pipeline_steps(composition).filter(bare).map(|_| Settings::default().pools);
    inputs(composition).map(named).chain(usual).collect()
}

/// What is wrong with the name of a catalogue of pools, where the function reads it by one of these.
pub(super) fn of_pools_name(name: &str, read: &BTreeSet<String>) -> Option<String> {
    let known = read.iter().map(String::as_str).collect::<Vec<_>>().join(" or ");
    match name {
        "" => Some(format!("is missing: the function reads {known}")),
        name if read.contains(name) => None,
        name => Some(format!(
            "nobody reads a catalogue of pools named {name}; the function reads {known}: give it that name, or set pools in the function's input"
        )),
    }
}

/// What is wrong with the input of the function in a Composition: path and sentence of each. None: the Composition gives it none.
pub(super) fn of_composition(composition: &Value, lines: &Lines) -> Option<Vec<(String, String)>> {
    let schema = serde_json::to_value(input::build_schema()).unwrap_or_default();
    let mut found = None;
    for (i, input) in inputs(composition) {
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
        let mut passed_over = Found::new();
        let nobody = "is not a field of the function's input, so nobody reads it";
        walk(&Schema { root: &schema, nobody }, &schema, &given, &path, &mut passed_over);
        own.extend(passed_over.into_iter().map(|(path, sentence)| (path, sentence.to_owned())));
    }
    found
}

/// What is wrong with a catalogue of pools that can be read all the same: path and sentence of each.
pub(super) fn of_pools(data: &Value) -> Found {
    let schema = serde_json::to_value(catalogue::build_schema()).unwrap_or_default();
    let mut found = Found::new();
    let nobody = "is not a field of a catalogue of pools, so nobody reads it";
    walk(&Schema { root: &schema, nobody }, &schema, data, "data", &mut found);
    for (i, pool) in data["pools"].as_array().into_iter().flatten().enumerate() {
        let span = |field: &str| serde_json::from_value::<GoDuration>(pool[field].clone()).ok();
        if span("defaultLifetime").zip(span("maxLifetime")).is_some_and(|(own, most)| own > most) {
            found.push((format!("data.pools[{i}].defaultLifetime"), "is above maxLifetime"));
        }
        let path = format!("data.pools[{i}]");
        // Of what pools are made like it is no more than what it is known by.
        if pool["bringYourOwn"].is_null() {
            namespace(pool, "namespace", &path, &mut found);
        }
        namespace(&pool["subject"], "namespace", &format!("{path}.subject"), &mut found);
        carrier(pool, &path, "carrier", &mut found);
    }
    for (i, hub) in data["hubs"].as_array().into_iter().flatten().enumerate() {
        namespace(hub, "credentialsNamespace", &format!("data.hubs[{i}]"), &mut found);
    }
    found
}

/// The same of an entry of the catalogue of templates.
pub(super) fn of_template(data: &Value) -> Found {
    let mut found = Found::new();
    namespace(data, "namespace", "data", &mut found);
    let backend = &data["backendRef"];
    namespace(backend, "hostedClusterNamespace", "data.backendRef", &mut found);
    namespace(&backend["classRef"], "namespace", "data.backendRef.classRef", &mut found);
    carrier(data, "data", "carrier", &mut found);
    carrier(data, "data", "provider", &mut found);
    found
}

fn carrier(of: &Value, path: &str, who: &str, found: &mut Found) {
    namespace(&of["bringYourOwn"][who], "namespace", &format!("{path}.bringYourOwn.{who}"), found);
}

/// A name that objects may have, and no namespace.
fn namespace(of: &Value, field: &str, path: &str, found: &mut Found) {
    let Some(name) = of[field].as_str() else { return };
    if ObjectName::try_from(name).is_ok() && (name.contains('.') || name.len() > 63) {
        let sentence = "is no name of a namespace: lower-case letters, digits and -, at most 63";
        found.push((format!("{path}.{field}"), sentence));
    }
}

/// By what is walked.
struct Schema<'a> {
    /// What references lead into.
    root: &'a Value,
    /// What is said of a field that it does not have.
    nobody: &'static str,
}

/// Fields that the schema does not have, and nulls. What reading refuses by itself is not said again.
fn walk(by: &Schema<'_>, schema: &Value, value: &Value, path: &str, found: &mut Found) {
    let schema = resolved(by.root, schema);
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
                    Some(inner) => walk(by, inner, member, &path, found),
                }
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                walk(by, &schema["items"], item, &format!("{path}[{i}]"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What a reference leads to, and of what may be absent, what it is.
pub(super) fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let some = schema["anyOf"].as_array().and_then(|any| any.iter().find(|one| one["type"] != "null"));
    let schema = some.unwrap_or(schema);
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}
