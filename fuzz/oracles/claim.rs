//! The YAML of a claim → what is asked of the hub: tenants write what they like, and it stays data.

use function_testplatform::{
    proto::{Resource, Resources, RunFunctionRequest, State},
    wire,
};
use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use testplatform_apis::names::ephemeral_cluster::{KONFLUX_CLUSTER, KONFLUX_TENANT};

use crate::request::answered;

/// An EnvironmentConfig with the name of the Konflux cluster, and one with a catalogue of pools.
const ENVIRONMENT: &str = include_str!("../../examples/hive-by-version/environment.yaml");
const CLUSTER: &str = "konflux-example";
const TENANT: &str = "team-a";
const NAME: &str = "demo-x7k2p";
/// Where EphemeralClusters and pools of that catalogue are.
const NAMESPACES: [&str; 2] = ["ephemeral-cluster", "cluster-pools"];

/// Whatever the text.
pub fn check(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).ok();
    let claim = text.and_then(|text| serde_saphyr::from_str::<Value>(text).ok());
    let Some(request) = claim.as_ref().and_then(request) else { return };
    let Some(response) = answered(&request) else { return };
    let desired = response.desired.unwrap_or_default();
    for name in ["ec", "claim"] {
        let Some(bytes) = desired.resources.get(name) else { continue };
        let resource = Resource::decode(bytes.clone()).expect("a resource of ours");
        let object = wire::to_value(&resource.resource).expect("an object of ours");
        asked(name, &object["spec"]["forProvider"]["manifest"]);
    }
}

/// Who asks, and where, does not depend on what the claim says.
fn asked(name: &str, manifest: &Value) {
    let metadata = &manifest["metadata"];
    assert_eq!(metadata["name"], NAME);
    assert!(NAMESPACES.iter().any(|namespace| metadata["namespace"] == *namespace), "{metadata}");
    if name == "ec" {
        assert_eq!(metadata["annotations"][KONFLUX_TENANT], TENANT);
        assert_eq!(metadata["annotations"][KONFLUX_CLUSTER], CLUSTER);
    }
}

/// The first request for the composite that Crossplane makes of a claim; none where it has no form on the wire.
fn request(claim: &Value) -> Option<RunFunctionRequest> {
    let mut spec = claim["spec"].as_object().cloned().unwrap_or_default();
    spec.insert("claimRef".into(), json!({ "name": "demo", "namespace": TENANT }));
    let composite = json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformCluster",
        "metadata": {
            "name": NAME, "uid": "xr-uid", "creationTimestamp": "2026-11-21T10:00:00Z",
            "annotations": claim["metadata"]["annotations"],
        },
        "spec": spec,
    });
    let resource = |object: &Value| {
        let resource = wire::to_struct(object).ok()?;
        Some(Resource { resource, ..Resource::default() })
    };
    let found: Vec<Value> = serde_saphyr::from_multiple(ENVIRONMENT).expect("YAML");
    let mut required: std::collections::BTreeMap<String, Resources> =
        [("clusters".to_owned(), Resources::default())].into();
    for (name, object) in ["envcfg", "pools"].into_iter().zip(&found) {
        required.insert(name.to_owned(), Resources { items: vec![resource(object)?] });
    }
    Some(RunFunctionRequest {
        observed: Some(State { composite: Some(resource(&composite)?), ..State::default() }),
        desired: Some(State::default()),
        input: None::<Bytes>,
        required_resources: required,
        ..RunFunctionRequest::default()
    })
}
