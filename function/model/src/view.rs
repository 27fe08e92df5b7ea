//! A response as our own decoder sees it, in the shape that protobuf libraries print: protobuf's JSON with the
//! field names of the .proto and enums as numbers. Written field by field, so that it shares nothing with them.

use prost::{Message as _, bytes::Bytes};
use serde_json::{Map, Value, json};
use testplatform_composites::sdk::{
    proto::{
        Condition, Requirements, Resource, ResourceSelector, Result as Event, RunFunctionResponse, State,
        resource_selector::Match,
    },
    wire,
};

/// The whole response. A connection detail without a value is null.
pub fn render_response(response: &RunFunctionResponse) -> Value {
    let meta = response.meta.as_ref().map(|meta| {
        build_object([
            ("tag", optional_text(&meta.tag)),
            ("ttl", meta.ttl.as_ref().map(|ttl| duration(ttl).into())),
        ])
    });
    build_object([
        ("meta", meta),
        ("desired", response.desired.as_ref().map(state)),
        ("results", optional_list(&response.results, event)),
        ("context", response.context.as_ref().map(structure)),
        ("requirements", response.requirements.as_ref().map(requirements)),
        ("conditions", optional_list(&response.conditions, condition)),
        ("output", response.output.as_ref().map(structure)),
    ])
}

/// Output of another decoder, with numbers compared by value: `2` is `2.0`.
pub fn normalize_json(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64().unwrap()),
        Value::Array(items) => items.into_iter().map(normalize_json).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, normalize_json(value))).collect(),
        other => other,
    }
}

fn build_object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect::<Map<_, _>>()
        .into()
}

/// A field without presence is there when it is not the default.
fn optional_text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| text.into())
}

fn optional_number(number: i32) -> Option<Value> {
    (number != 0).then(|| number.into())
}

fn optional_list<T>(items: &[T], each: fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| items.iter().map(each).collect())
}

fn structure(bytes: &Bytes) -> Value {
    wire::to_value(bytes).unwrap()
}

fn duration(ttl: &prost_types::Duration) -> String {
    assert_eq!(ttl.nanos, 0, "a response's ttl is whole seconds");
    format!("{}s", ttl.seconds)
}

fn state(state: &State) -> Value {
    let entries = state.resources.iter();
    let resources: Map<String, Value> =
        entries.map(|(name, b)| (name.clone(), resource(&Resource::decode(b.clone()).unwrap()))).collect();
    build_object([
        ("composite", state.composite.as_ref().map(resource)),
        ("resources", (!resources.is_empty()).then(|| resources.into())),
    ])
}

fn resource(resource: &Resource) -> Value {
    let value =
        |value: &Option<Bytes>| value.as_ref().map_or(Value::Null, |v| super::encode_base64(v).into());
    let details: Map<_, _> =
        resource.connection_details.iter().map(|e| (e.key.clone(), value(&e.value))).collect();
    build_object([
        ("resource", (!resource.resource.is_empty()).then(|| structure(&resource.resource))),
        ("connection_details", (!details.is_empty()).then(|| details.into())),
        ("ready", optional_number(resource.ready)),
    ])
}

fn event(event: &Event) -> Value {
    build_object([
        ("severity", optional_number(event.severity)),
        ("message", optional_text(&event.message)),
        ("reason", event.reason.clone().map(Value::from)),
        ("target", event.target.map(Value::from)),
    ])
}

fn condition(condition: &Condition) -> Value {
    build_object([
        ("type", optional_text(&condition.r#type)),
        ("status", optional_number(condition.status)),
        ("reason", optional_text(&condition.reason)),
        ("message", condition.message.clone().map(Value::from)),
        ("target", condition.target.map(Value::from)),
    ])
}

fn requirements(requirements: &Requirements) -> Value {
    assert!(requirements.schemas.is_empty(), "the function asks for no schemas");
    let selectors = |map: &std::collections::BTreeMap<String, ResourceSelector>| {
        let entries: Map<_, _> = map.iter().map(|(name, s)| (name.clone(), selector(s))).collect();
        (!entries.is_empty()).then(|| entries.into())
    };
    build_object([
        ("extra_resources", selectors(&requirements.extra_resources)),
        ("resources", selectors(&requirements.resources)),
    ])
}

fn selector(selector: &ResourceSelector) -> Value {
    let (name, labels) = match &selector.r#match {
        Some(Match::MatchName(name)) => (Some(json!(name)), None),
        Some(Match::MatchLabels(labels)) => {
            (None, Some(if labels.labels.is_empty() { json!({}) } else { json!({"labels": labels.labels}) }))
        }
        None => (None, None),
    };
    build_object([
        ("api_version", optional_text(&selector.api_version)),
        ("kind", optional_text(&selector.kind)),
        ("match_name", name),
        ("match_labels", labels),
        ("namespace", selector.namespace.clone().map(Value::from)),
    ])
}
