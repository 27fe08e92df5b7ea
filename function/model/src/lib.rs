//! The world around the function, in memory, for its tests: what Crossplane asks, and what core, provider-kubernetes and
//! the hubs make of the answer. A package of its own, so that it is compiled once for all of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "test support: a test that cannot go on says so"
)]

pub mod bundles;
pub mod caas;
pub mod cluster_api;
pub mod examples;
pub mod hive;
pub mod hypershift;
pub mod osac;
pub mod pool;
pub mod prerequisites;
pub mod requests;
pub mod templates;
pub mod tenant_credentials;
pub mod times;
pub mod trouble;
pub mod view;
pub mod walks;
pub mod world;

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use prost::{Message as _, bytes::Bytes};
use serde_json::{Map, Value, json};
use testplatform_apis::foreign::object;
use testplatform_composites::sdk::{
    proto::{
        Ready, RequestMeta, Resource, Resources, RunFunctionRequest, RunFunctionResponse, Severity, State,
        Status, Target, resource::ConnectionDetailsEntry,
    },
    wire,
};

/// One line on the terminal, past the test harness, which keeps what passing tests print.
pub fn print_line(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

pub fn request_from_json(json: &Value) -> RunFunctionRequest {
    RunFunctionRequest {
        meta: Some(RequestMeta {
            tag: json["meta"]["tag"].as_str().unwrap_or_default().to_owned(),
            capabilities: vec![],
        }),
        observed: Some(decode_state(&observed_objects(&json["observed"]))),
        desired: Some(decode_state(&json["desired"])),
        input: json.get("input").map(encode_struct),
        context: json.get("context").map(encode_struct),
        extra_resources: decode_resources(&json["extraResources"]),
        required_resources: decode_resources(&json["requiredResources"]),
        ..RunFunctionRequest::default()
    }
}

/// The places of everything that is in a value, as JSON pointers: what is inside something comes before that.
pub fn list_pointers(value: &Value) -> Vec<String> {
    let mut all = Vec::new();
    note_places(value, "", &mut all);
    all
}

fn note_places(value: &Value, at: &str, all: &mut Vec<String>) {
    let mut note = |key: &str, value: &Value| {
        let at = format!("{at}/{key}");
        note_places(value, &at, all);
        all.push(at);
    };
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                note(&key.replace('~', "~0").replace('/', "~1"), value);
            }
        }
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                note(&number.to_string(), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub fn encode_struct(value: &Value) -> Bytes {
    wire::json_to_struct(value).unwrap()
}

/// An object without a kind is an Object of provider-kubernetes.
fn observed_objects(observed: &Value) -> Value {
    let mut observed = observed.clone();
    for (_, entry) in observed["resources"].as_object_mut().into_iter().flatten() {
        let resource = &mut entry["resource"];
        if resource["kind"].is_null() && resource.is_object() {
            resource["apiVersion"] = object::API_VERSION.into();
            resource["kind"] = object::KIND.into();
        }
    }
    observed
}

fn decode_state(json: &Value) -> State {
    let entries = json["resources"].as_object().into_iter().flatten();
    State {
        composite: json.get("composite").map(decode_resource),
        resources: entries.map(|(k, v)| (k.clone(), decode_resource(v).encode_to_vec().into())).collect(),
    }
}

fn decode_resource(json: &Value) -> Resource {
    let details = json["connectionDetails"].as_object().into_iter().flatten();
    Resource {
        resource: encode_struct(&json["resource"]),
        connection_details: details
            .map(|(k, v)| ConnectionDetailsEntry {
                key: k.clone(),
                value: Some(decode_base64(v.as_str().unwrap()).into()),
            })
            .collect(),
        ready: 0,
    }
}

fn decode_resources(json: &Value) -> BTreeMap<String, Resources> {
    let entries = json.as_object().into_iter().flatten();
    entries
        .map(|(name, list)| {
            let items = list["items"].as_array().into_iter().flatten().map(decode_resource).collect();
            (name.clone(), Resources { items })
        })
        .collect()
}

/// The response as JSON. Values of connection details as text.
pub fn response_to_json(response: &RunFunctionResponse) -> Value {
    let target = |t: Option<i32>| t.map(|t| Target::try_from(t).unwrap().as_str_name());
    let desired = response.desired.clone().unwrap_or_default();
    let resources: Map<String, Value> = desired
        .resources
        .iter()
        .map(|(name, bytes)| (name.clone(), resource_json(&Resource::decode(bytes.clone()).unwrap())))
        .collect();
    json!({
        "meta": {
            "tag": response.meta.as_ref().unwrap().tag,
            "ttl": response.meta.as_ref().unwrap().ttl.as_ref().map(|t| t.seconds),
        },
        "desired": { "composite": desired.composite.as_ref().map(resource_json), "resources": resources },
        "conditions": response.conditions.iter().map(|c| json!({
            "type": c.r#type, "status": Status::try_from(c.status).unwrap().as_str_name(),
            "reason": c.reason, "message": c.message, "target": target(c.target),
        })).collect::<Vec<_>>(),
        "results": response.results.iter().map(|r| json!({
            "severity": Severity::try_from(r.severity).unwrap().as_str_name(),
            "reason": r.reason, "message": r.message, "target": target(r.target),
        })).collect::<Vec<_>>(),
        "requirements": response.requirements.as_ref().map(|r| json!({
            "extraResources": r.extra_resources.keys().collect::<Vec<_>>(),
            "resources": r.resources.keys().collect::<Vec<_>>(),
        })),
    })
}

fn resource_json(resource: &Resource) -> Value {
    let details: Map<String, Value> = resource
        .connection_details
        .iter()
        .map(|e| (e.key.clone(), e.value.as_ref().map_or(Value::Null, |v| String::from_utf8_lossy(v).into())))
        .collect();
    json!({
        "resource": wire::to_value(&resource.resource).unwrap(),
        "connectionDetails": details,
        "ready": Ready::try_from(resource.ready).unwrap().as_str_name(),
    })
}

pub fn decode_base64(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).unwrap()
}

pub fn encode_base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}
