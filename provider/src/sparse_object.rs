//! Partial read of objects into which others may write anything: only the fields that are needed, to the depth that those have.
//!
//! However deep a tenant nests a claim, and with it the managed fields, the objects of all others stay readable.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use testplatform_runtime::{any_kind, sparse_value::read_fields};

/// How many are listed at once: each may be as large as etcd takes it, which is 1.5 MB.
pub const PAGE: u32 = 20;
/// Fields that are read of a spec.
const SPEC: &[&str] = &["byoc", "claimRef", "cleanup", "forProvider", "providerConfigRef", "tearDownCluster"];
/// Fields that are read of a status, including that of a Tekton run.
const STATUS: &[&str] = &["backend", "completionTime", "conditions", "hub", "phase"];
/// How many levels of a spec or a status are read, itself included. None of these fields has as many; what lies deeper counts as null.
const LEVELS: u8 = 8;

/// An object of any kind by which tenants ask, a run of theirs, or an Object of provider-kubernetes.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "FullObject")]
pub struct PartialObject {
    /// Parts of its metadata, the managed fields not among them.
    pub metadata: ObjectMeta,
    /// Parts of its `spec` and `status`, below these names.
    pub body: Value,
}

/// As it comes.
#[derive(Deserialize)]
struct FullObject {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default, deserialize_with = "spec")]
    spec: Value,
    #[serde(default, deserialize_with = "status")]
    status: Value,
}

/// Fields that are read of the metadata. The rest may be nested, or is not needed here.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    finalizers: Option<Vec<String>>,
}

impl From<FullObject> for PartialObject {
    fn from(object: FullObject) -> Self {
        let FullObject { metadata, spec, status } = object;
        let metadata = ObjectMeta {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            creation_timestamp: metadata.creation_timestamp,
            deletion_timestamp: metadata.deletion_timestamp,
            labels: metadata.labels,
            annotations: metadata.annotations,
            owner_references: metadata.owner_references,
            finalizers: metadata.finalizers,
            ..ObjectMeta::default()
        };
        let body = [("spec".to_owned(), spec), ("status".to_owned(), status)];
        Self { metadata, body: Value::Object(body.into_iter().collect()) }
    }
}

fn spec<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    read_fields(deserializer, SPEC, LEVELS)
}

fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    read_fields(deserializer, STATUS, LEVELS)
}

any_kind!(PartialObject);

#[cfg(test)]
mod tests {
    use kube::{
        api::DynamicObject,
        core::{ObjectList, WatchEvent},
    };
    use serde_json::json;

    use super::*;

    /// Deeper than anything is read, in lists and in maps.
    fn deep() -> [Value; 2] {
        let nested = |wrap: fn(Value) -> Value| (0..200).fold(json!(1), |inner, _| wrap(inner));
        [nested(|inner| json!([inner])), nested(|inner| json!({ "a": inner }))]
    }

    /// A claim, as an API server writes it, with this wherever somebody could put it.
    fn claim(deep: &Value) -> String {
        let claim = json!({
            "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestPlatformCluster",
            "metadata": {
                "name": "demo", "namespace": "tenant-a", "uid": "u", "resourceVersion": "7",
                "deletionTimestamp": "2026-03-02T12:00:00Z", "annotations": { "a": "b" },
                "ownerReferences": [{ "apiVersion": "tekton.dev/v1", "kind": "TaskRun", "name": "t", "uid": "v" }],
                "managedFields": [{ "manager": "kubectl", "fieldsType": "FieldsV1", "fieldsV1": deep }],
            },
            "spec": {
                "parameters": { "deep": deep }, "ciOperator": { "configuration": deep },
                "cleanup": { "onOwnerCompletion": true, "keepForDebug": deep },
            },
            "status": { "phase": "Ready", "conditions": [{ "type": "A", "status": "True" }], "hub": deep, "more": deep },
        });
        claim.to_string()
    }

    #[test]
    fn what_is_nested_deep_is_in_nobodys_way() {
        for deep in deep() {
            let text = claim(&deep);
            assert!(serde_json::from_str::<DynamicObject>(&text).is_err(), "this is not deep: {text}");
            let one: PartialObject = serde_json::from_str(&text).unwrap();
            let list = format!(r#"{{"kind":"L","apiVersion":"v1","metadata":{{}},"items":[{text},{text}]}}"#);
            let list: ObjectList<PartialObject> = serde_json::from_str(&list).unwrap();
            let event = format!(r#"{{"type":"ADDED","object":{text}}}"#);
            let event: WatchEvent<PartialObject> = serde_json::from_str(&event).unwrap();
            let WatchEvent::Added(heard) = event else { panic!("another event: {text}") };
            for PartialObject { metadata, body } in list.items.into_iter().chain([one, heard]) {
                assert_eq!(metadata.name.as_deref(), Some("demo"));
                assert_eq!(metadata.namespace.as_deref(), Some("tenant-a"));
                assert_eq!(metadata.uid.as_deref(), Some("u"));
                assert_eq!(metadata.resource_version.as_deref(), Some("7"));
                assert_eq!(metadata.annotations, Some(BTreeMap::from([("a".to_owned(), "b".to_owned())])));
                assert_eq!(metadata.owner_references.unwrap()[0].name, "t");
                assert!(metadata.deletion_timestamp.is_some() && metadata.managed_fields.is_none());
                assert_eq!(body["spec"].as_object().unwrap().len(), 1, "{body}");
                assert_eq!(body["spec"]["cleanup"]["onOwnerCompletion"], true);
                // Nothing would be 0s.
                assert!(!body["spec"]["cleanup"]["keepForDebug"].is_null(), "{body}");
                assert_eq!(body["status"]["phase"], "Ready");
                assert_eq!(body["status"]["conditions"], json!([{ "type": "A", "status": "True" }]));
                assert_eq!(body["status"].get("more"), None);
            }
        }
    }

    #[test]
    fn what_is_needed_is_read_as_it_is() {
        let spec = json!({
            "byoc": { "platform": { "aws": { "region": "us-east-1" } }, "credentialsSecretRef": { "name": "my-aws" } },
            "claimRef": { "name": "demo", "namespace": "tenant-a" },
            "cleanup": { "onOwnerCompletion": true, "keepForDebug": [5, -5, 5.5, null, "5m"] },
            "tearDownCluster": false,
        });
        let status = json!({
            "phase": "Failed", "hub": { "name": "hive-1" }, "backend": { "namespace": "byoc-demo-1" },
            "conditions": [{ "type": "ClusterReady", "lastTransitionTime": "2026-03-02T12:00:00Z" }],
        });
        let whole = json!({ "metadata": {}, "spec": spec, "status": status }).to_string();
        let read: PartialObject = serde_json::from_str(&whole).unwrap();
        assert_eq!(read.body, json!({ "spec": spec, "status": status }));
        // An object without a body, and one of which only the metadata was requested.
        let bare: PartialObject = serde_json::from_str(r#"{ "metadata": { "name": "demo" } }"#).unwrap();
        assert_eq!(bare.body, json!({ "spec": null, "status": null }));
    }
}
