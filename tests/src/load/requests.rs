//! Requests as Crossplane sends them, made from files of the repository or from recorded calls.

use std::{fs, path::Path};

use anyhow::{Context as _, ensure};
use jiff::{SignedDuration, Timestamp};
use prost::{Message as _, bytes::Bytes};
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Map, Value, json};
use testplatform_composites::sdk::{
    proto::{DESCRIPTORS, RunFunctionRequest},
    wire,
};
use testplatform_render::RenderArgs;
use testplatform_test_data::upstream;

use crate::settings;

#[path = "../../../function/model/src/times.rs"]
mod times;

/// When the examples and the recorded requests were made; after that a deadline might have passed.
const EXAMPLES_MADE: &str = "2026-03-02T12:00:00Z";
const RECORDED: &str = "recorded/";

/// A request with its name for people.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub name: String,
    pub bytes: Bytes,
}

/// The request of that name, as if it were made `now`; `bare` without managedFields.
pub(super) fn named(name: &str, bare: bool, now: Timestamp) -> anyhow::Result<Asked> {
    if let Some(recorded) = name.strip_prefix(RECORDED) {
        return Ok(Asked { name: name.to_owned(), bytes: read_recorded(recorded, now)? });
    }
    let directory = settings::repository().join("examples").join(name);
    if !directory.is_dir() {
        let bytes = fs::read(name).with_context(|| format!("{name} is neither an example nor a file"))?;
        RunFunctionRequest::decode(&bytes[..]).with_context(|| format!("{name} is not a request"))?;
        return Ok(Asked { name: name.to_owned(), bytes: bytes.into() });
    }
    let bytes = example(&directory, bare, now).with_context(|| directory.display().to_string())?;
    let with = if bare { "" } else { " with managedFields" };
    Ok(Asked { name: format!("examples/{name}{with}"), bytes })
}

/// The same request with another step's input, read from YAML.
pub(super) fn with_input(asked: &Asked, input: &Path) -> anyhow::Result<Bytes> {
    let text = fs::read_to_string(input).with_context(|| format!("cannot read {}", input.display()))?;
    let input: Value = serde_saphyr::from_str(&text)?;
    let mut request = RunFunctionRequest::decode(asked.bytes.clone())?;
    request.input = Some(wire::to_struct(&input)?);
    Ok(request.encode_to_vec().into())
}

/// The last pass that `render` makes over an example.
fn example(directory: &Path, bare: bool, now: Timestamp) -> anyhow::Result<Bytes> {
    let made: Timestamp = EXAMPLES_MADE.parse()?;
    let file = |name: &str| Some(directory.join(name)).filter(|path| path.is_file());
    let compositions = settings::repository().join("package/compositions");
    let otherwise = match file("pool.yaml") {
        Some(_) => compositions.join("testplatform-cluster-pool.yaml"),
        None => compositions.join("testplatform-ephemeral-cluster.yaml"),
    };
    let arguments = RenderArgs {
        xr: file("pool.yaml").unwrap_or_else(|| directory.join("claim.yaml")),
        composition: file("composition.yaml").unwrap_or(otherwise),
        observed_resources: file("observed.yaml").into_iter().collect(),
        required_resources: file("environment.yaml").into_iter().collect(),
        now: Some(made),
        ..RenderArgs::default()
    };
    let (mut input, _) = testplatform_render::Input::load(&arguments, made)?;
    let by = SignedDuration::from_secs(now.as_second() - made.as_second());
    let observed = input.observed.iter_mut().map(|composed| &mut composed.document.object);
    for object in observed.chain([&mut input.observed_composite.object]) {
        times::move_times(object, by);
        if !bare {
            manage(object);
        }
    }
    let rendered = testplatform_render::run(&input, now)?;
    let pass = rendered.passes.last().context("nothing is asked")?;
    Ok(pass.request.encode_to_vec().into())
}

/// One of the requests that were recorded upstream, which are in protobuf's JSON form.
fn read_recorded(name: &str, now: Timestamp) -> anyhow::Result<Bytes> {
    let path = upstream().join("parity").join(name).join("request.json");
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut json: Value = serde_json::from_slice(&text)?;
    // They were made when the composite was a few minutes old.
    let made = json["observed"]["composite"]["resource"]["metadata"]["creationTimestamp"].as_str();
    let made: Timestamp = made.context("the composite has no time of creation")?.parse()?;
    times::move_times(&mut json, SignedDuration::from_secs(now.as_second() - made.as_second() - 600));
    let pool = DescriptorPool::decode(DESCRIPTORS)?;
    let request = pool.get_message_by_name("apiextensions.fn.proto.v1.RunFunctionRequest");
    let message = DynamicMessage::deserialize(request.context("no such message")?, json)?;
    Ok(message.encode_to_vec().into())
}

/// Adds what an API server keeps of who set which field: one entry for the object and one for its status. Crossplane
/// sends it along, and it is about half of what it sends.
fn manage(object: &mut Value) {
    let Some(whole) = object.as_object() else { return };
    let time = &object["metadata"]["creationTimestamp"];
    let entry = |operation: &str, subresource: Option<&str>, fields: Value| {
        let mut entry = json!({
            "manager": "crossplane", "operation": operation, "apiVersion": object["apiVersion"], "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        });
        if let Some(subresource) = subresource {
            entry["subresource"] = subresource.into();
        }
        entry
    };
    let of = |names: &[&str]| {
        let part = whole.iter().filter(|(name, _)| names.contains(&name.as_str()));
        fields(&part.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    let mut entries = vec![entry("Apply", None, of(&["metadata", "spec"]))];
    if whole.contains_key("status") {
        entries.push(entry("Update", Some("status"), of(&["status"])));
    }
    object["metadata"]["managedFields"] = entries.into();
}

/// The names of all fields, as API servers write them. Lists are one field, but for those of conditions.
fn fields(object: &Map<String, Value>) -> Value {
    let named = object.iter().map(|(name, value)| {
        let below = match value {
            Value::Object(inner) if !inner.is_empty() => fields(inner),
            Value::Array(items) if name == "conditions" => conditions(items),
            _ => json!({}),
        };
        (format!("f:{name}"), below)
    });
    Value::Object(named.collect())
}

fn conditions(items: &[Value]) -> Value {
    let keyed = items.iter().filter_map(|item| {
        let key = format!("k:{{\"type\":{}}}", item["type"]);
        let mut below = fields(item.as_object()?);
        below["."] = json!({});
        Some((key, below))
    });
    Value::Object(keyed.collect())
}

/// Checks that the function does not refuse the request: nothing else is worth measuring.
pub(super) fn sane(answer: &[u8]) -> anyhow::Result<()> {
    use testplatform_composites::sdk::proto::{RunFunctionResponse, Severity};
    let answer = RunFunctionResponse::decode(answer).context("the answer is not a RunFunctionResponse")?;
    let fatal = answer.results.iter().find(|result| result.severity() == Severity::Fatal);
    ensure!(fatal.is_none(), "the function refuses: {}", fatal.map_or("", |result| &result.message));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_of_a_ready_cluster_has_about_12_kb() {
        let now = "2026-11-21T10:30:00Z".parse().unwrap();
        let size = |bare| named("ready", bare, now).unwrap().bytes.len();
        assert!((10_000..14_000).contains(&size(false)), "{}", size(false));
        assert!(size(true) < size(false));
    }

    #[test]
    fn recorded_request_is_read() {
        let now = "2026-11-21T10:30:00Z".parse().unwrap();
        let asked = named("recorded/04-ready", false, now).unwrap();
        let request = RunFunctionRequest::decode(asked.bytes).unwrap();
        assert!(request.observed.unwrap().resources.contains_key("ec"));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let error = named("no-such-thing", false, Timestamp::UNIX_EPOCH).unwrap_err().to_string();
        assert!(error.contains("no-such-thing is neither an example nor a file"), "{error}");
    }
}
