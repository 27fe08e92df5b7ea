//! [`Rendered`] → the YAML stream of `crossplane render`: the composite, what it composes, results, context.

use std::fmt::Write as _;

use prost::Message as _;
use serde_json::{Map, Value, json};
use testplatform_apis::{collect, yaml::to_yaml};
use testplatform_composites::sdk::{
    proto::{Ready, Resource, Severity, Status},
    wire,
};

use super::{
    Error, Input, Pass, RenderArgs, Rendered,
    claim::{CLAIM_NAME, CLAIM_NAMESPACE, COMPOSITE},
    input::RESOURCE_NAME,
};

/// The time of every transition, as `crossplane render` has it: the real one would only be noise.
const TRANSITION: &str = "2024-01-01T00:00:00Z";
/// apiVersion of the documents that are no Kubernetes objects.
const RENDER: &str = "render.crossplane.io/v1beta1";
/// Conditions that a function cannot set.
const SYSTEM: [&str; 5] = ["Ready", "Synced", "Healthy", "Responsive", "UpToDate"];
/// How many unready resources are named.
const NAMED: usize = 3;

/// The whole output.
pub fn format_stream(input: &Input, rendered: &Rendered, args: &RenderArgs) -> Result<String, Error> {
    let mut out = String::new();
    if args.explain {
        for line in explain_passes(rendered) {
            let _ = writeln!(out, "# {line}");
        }
    }
    let mut documents = Vec::new();
    if rendered.fatal.is_none() {
        documents.push(composite_document(input, rendered, args)?);
        for (name, bytes) in &rendered.desired.resources {
            documents.push(composed_document(input, name, &decode_resource(name, bytes)?)?);
        }
    }
    if args.include_function_results {
        documents.extend(rendered.results.iter().map(|(step, r)| {
            let mut result = json!({
                "apiVersion": RENDER, "kind": "Result", "step": step, "message": r.message,
                "severity": Severity::try_from(r.severity).unwrap_or_default().as_str_name(),
            });
            if let Some(reason) = r.reason.as_ref().filter(|reason| !reason.is_empty()) {
                result["reason"] = reason.as_str().into();
            }
            result
        }));
    }
    if args.include_connection_details && rendered.fatal.is_none() {
        documents.push(connection_secret(input, rendered));
    }
    if args.include_context {
        let fields = wire::to_value(&rendered.context).map_err(|e| encoding_error("context", &e))?;
        documents.push(json!({ "apiVersion": RENDER, "kind": "Context", "fields": fields }));
    }
    for document in &documents {
        out.push_str("---\n");
        let text = to_yaml(document)
            .map_err(|e| Error::Input(format!("the output cannot be written as YAML: {e}")))?;
        out.push_str(&text);
    }
    Ok(out)
}

fn explain_passes(rendered: &Rendered) -> Vec<String> {
    let several = rendered.passes.len() > 1;
    let lines = |pass: &Pass| {
        let lines = match &pass.thought {
            Ok(thought) => thought.explain_response(&pass.response),
            Err(unusable) => vec![format!("fatal: {unusable}")],
        };
        let prefix = if several { format!("{}: ", pass.step) } else { String::new() };
        lines.into_iter().map(move |line| format!("{prefix}{line}")).collect::<Vec<_>>()
    };
    rendered.passes.iter().flat_map(lines).collect()
}

fn composite_document(input: &Input, rendered: &Rendered, args: &RenderArgs) -> Result<Value, Error> {
    let given = &input.composite;
    let desired = rendered.desired.composite.clone().unwrap_or_default();
    let wanted = wire::to_value(&desired.resource).map_err(|e| encoding_error("composite", &e))?;
    let mut object = if args.include_full_xr {
        given.clone()
    } else {
        let mut metadata = json!({ "name": given["metadata"]["name"] });
        if let Some(namespace) = given["metadata"].get("namespace") {
            metadata["namespace"] = namespace.clone();
        }
        json!({ "apiVersion": given["apiVersion"], "kind": given["kind"], "metadata": metadata })
    };
    let mut status = wanted.get("status").cloned().unwrap_or_else(|| json!({}));
    status["conditions"] = composite_conditions(rendered)?.into();
    object["status"] = status;
    Ok(object)
}

/// `Ready` first, which is core's; then the function's, the last of a type.
fn composite_conditions(rendered: &Rendered) -> Result<Vec<Value>, Error> {
    let mut all = vec![ready_condition(rendered)?];
    for condition in &rendered.conditions {
        if SYSTEM.contains(&condition.r#type.as_str()) {
            continue;
        }
        let status = match condition.status() {
            Status::ConditionTrue => "True",
            Status::ConditionFalse => "False",
            Status::ConditionUnknown | Status::ConditionUnspecified => "Unknown",
        };
        let mut shown = json!({
            "lastTransitionTime": TRANSITION, "type": condition.r#type, "status": status,
            "reason": condition.reason,
        });
        if let Some(message) = condition.message.as_ref().filter(|m| !m.is_empty()) {
            shown["message"] = message.as_str().into();
        }
        all.retain(|c| c["type"] != shown["type"]);
        all.push(shown);
    }
    Ok(all)
}

fn ready_condition(rendered: &Rendered) -> Result<Value, Error> {
    let mut unready = Vec::new();
    for (name, bytes) in &rendered.desired.resources {
        if decode_resource(name, bytes)?.ready() != Ready::True {
            unready.push(name.as_str());
        }
    }
    let explicit = rendered.desired.composite.as_ref().map(Resource::ready).unwrap_or_default();
    let ready = match explicit {
        Ready::True => true,
        Ready::False => false,
        Ready::Unspecified => unready.is_empty(),
    };
    let mut condition = json!({
        "lastTransitionTime": TRANSITION, "type": "Ready",
        "status": if ready { "True" } else { "False" },
        "reason": if ready { "Available" } else { "Creating" },
    });
    if !ready && !unready.is_empty() {
        condition["message"] = format!("Unready resources: {}", first_names(&unready)).into();
    }
    Ok(condition)
}

/// The first few names, and how many more there are.
fn first_names(names: &[&str]) -> String {
    match names {
        [first @ .., last] if names.len() == NAMED => format!("{}, and {last}", first.join(", ")),
        _ if names.len() > NAMED => {
            format!("{}, and {} more", names[..NAMED].join(", "), names.len() - NAMED)
        }
        _ => names.join(", "),
    }
}

/// A composed resource with what Crossplane adds to it before it applies it.
fn composed_document(input: &Input, name: &str, desired: &Resource) -> Result<Value, Error> {
    let mut object = wire::to_value(&desired.resource).map_err(|e| encoding_error(name, &e))?;
    let xr = &input.observed_composite.object;
    let prefix = &xr["metadata"]["labels"][COMPOSITE];
    let existing = input.observed.iter().find(|c| c.name == name).map(|c| &c.document.object["metadata"]);

    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    match existing {
        // An existing resource keeps its name.
        Some(existing) => {
            for field in ["name", "generateName", "namespace"] {
                match existing.get(field) {
                    Some(value) => metadata[field] = value.clone(),
                    None => drop(metadata.as_object_mut().and_then(|m| m.remove(field))),
                }
            }
        }
        None if metadata["name"].is_null() && metadata["generateName"].is_null() => {
            metadata["generateName"] = format!("{}-", prefix.as_str().unwrap_or_default()).into();
        }
        None => {}
    }
    metadata["annotations"][RESOURCE_NAME] = name.into();
    metadata["labels"][COMPOSITE] = prefix.clone();
    let claim = &xr["spec"]["claimRef"];
    for (label, field) in [(CLAIM_NAME, "name"), (CLAIM_NAMESPACE, "namespace")] {
        if let Some(value) = claim[field].as_str() {
            metadata["labels"][label] = value.into();
        }
    }
    // The uid as the composite has it: none, as long as it exists only in a file.
    let uid = input.composite["metadata"]["uid"].as_str().unwrap_or_default();
    metadata["ownerReferences"] = json!([{
        "apiVersion": xr["apiVersion"], "kind": xr["kind"], "name": xr["metadata"]["name"], "uid": uid,
        "controller": true, "blockOwnerDeletion": true,
    }]);
    drop_nulls(metadata);
    Ok(object)
}

/// Looking at a field of a JSON value by name leaves a null behind.
fn drop_nulls(metadata: &mut Value) {
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.retain(|_, value| !value.is_null());
    }
}

/// Which keys the composite's Secret is given, and how much is in each.
fn connection_secret(input: &Input, rendered: &Rendered) -> Value {
    let details = rendered.desired.composite.iter().flat_map(|c| &c.connection_details);
    let published =
        details.filter(|e| input.connection_keys.is_empty() || input.connection_keys.contains(&e.key));
    let keys = collect::to_text_object(published.map(|e| {
        let size = e.value.as_ref().map_or(0, prost::bytes::Bytes::len);
        let shown = if size == 0 { "empty".to_owned() } else { format!("{size} bytes") };
        (e.key.as_str(), Some(shown))
    }));
    json!({ "apiVersion": RENDER, "kind": "Connection", "keys": keys })
}

fn decode_resource(name: &str, bytes: &prost::bytes::Bytes) -> Result<Resource, Error> {
    Resource::decode(bytes.clone()).map_err(|e| encoding_error(name, &e))
}

fn encoding_error(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::Input(format!("desired {what} cannot be read: {error}"))
}
