//! Objects of provider-kubernetes, whatever they carry: their sync state as observed, and their manifests as desired.

pub(crate) mod observer;
mod outage;
mod sync_state;

pub use outage::Outage;
use serde_json::{Map, Value, json};
pub use sync_state::SyncState;
pub(crate) use sync_state::{
    began_to_create, found_none, is_current, is_deletable, non_empty_spec, pinned_uid, read_sync_state,
};
use testplatform_apis::{
    foreign::object::{API_VERSION, KIND},
    names::crossplane,
};

/// Builds an Object around a manifest.
pub(crate) fn build_object(name: &str, mut annotations: Map<String, Value>, spec: Value) -> Value {
    let mut metadata = json!({ "name": name });
    // provider-kubernetes would add it by a write of its own, which triggers core.
    annotations.insert(crossplane::EXTERNAL_NAME.into(), name.into());
    metadata["annotations"] = Value::Object(annotations);
    assemble_object(API_VERSION, KIND, metadata, spec)
}

/// Assembles an object from its parts, which are moved.
pub(crate) fn assemble_object(api_version: &str, kind: &str, metadata: Value, spec: Value) -> Value {
    let mut object = json!({ "apiVersion": api_version, "kind": kind });
    object["metadata"] = metadata;
    object["spec"] = spec;
    object
}
