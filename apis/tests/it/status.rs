//! Status: what is written is declared, what is read is forgiven.

use serde_json::{Map, Value, json};
use testplatform_apis::phase::Phase;
use testplatform_apis::status::{CredentialsState, TestPlatformClusterStatus};

use crate::support::{admit, schema};

fn full() -> Value {
    json!({
        "phase": "Ready",
        "message": "The cluster is ready.",
        "backend": { "kind": "EphemeralCluster", "name": "x", "namespace": "ephemeral-cluster", "pool": "p", "uid": "u", "attempt": 1 },
        "hub": { "name": "app-ci", "reason": "OnlyHub", "excluded": ["away"] },
        "prowJob": { "id": "p", "url": "https://prow.example.org/p" },
        "apiServerURL": "https://api.example.org:6443",
        "consoleURL": "https://console.example.org",
        "version": "4.20.3",
        "versionDesired": "4.20.3",
        "credentials": { "state": "Published", "secretName": "x-credentials" },
        "startedAt": "2026-11-21T09:59:45Z",
        "readyAt": "2026-11-21T10:40:00Z",
        "expiresAt": "2026-11-21T14:40:00Z",
        "estimatedReadyAt": "2026-11-21T10:45:00Z",
        "queue": { "position": 1, "depth": 3 },
        "diagnostics": "install failed",
        "template": { "name": "hosted", "backend": "hypershift", "cost": 2, "deprecated": "use hosted-4-21" },
        "effective": {
            "template": "hosted", "backend": "hypershift", "version": "4.20.3", "releaseImage": "quay.io/x:4.20.3",
            "parameters": { "fips": true, "list": [1, { "a": null }] },
            "controlPlane": { "replicas": 3, "class": "large" },
            "nodeGroups": [
                { "name": "a", "class": "small", "count": 2, "labels": { "a": "b" }, "parameters": { "x": 1 } },
                { "name": "b", "class": "small", "autoscale": { "min": 1, "max": 3 }, "arch": "arm64",
                  "failureDomain": "z", "taints": [{ "key": "k", "effect": "NoSchedule" }] },
            ],
            "network": {
                "podCIDR": "10.0.0.0/14", "serviceCIDR": "172.30.0.0/16", "machineCIDR": "10.4.0.0/24",
                "internal": { "networkID": "n", "subnetID": "s" }, "external": { "networkID": "e" },
                "dnsNameservers": ["10.0.0.1"],
            },
            "hub": { "name": "h", "force": true, "selector": { "matchLabels": { "region": "x" } }, "affinity": "Pack" },
            "timeouts": { "provision": "1h0m0s", "teardown": "1h0m0s" },
        },
        "nodes": {
            "desired": 3, "ready": 2,
            "pools": [{ "name": "a", "class": "small", "desired": 3, "ready": 2, "version": "4.20.3" }],
        },
        "progress": { "step": "ControlPlane", "message": "waiting for etcd", "percent": 40 },
        "lastError": { "reason": "Quota", "message": "no more", "since": "2026-11-21T10:00:00Z", "terminal": false },
        "appliedGeneration": 3,
        "handedOver": { "namespace": "team-a", "name": "x", "uid": "u" },
        "takeOver": { "from": "team-a-x", "stage": "Watching", "uid": "u" },
    })
}

/// Crossplane prunes fields that the schema does not declare; so every field that can be written is declared.
#[test]
fn every_field_is_declared_and_survives() {
    let status: TestPlatformClusterStatus = serde_json::from_value(full()).unwrap();
    assert_eq!(status.phase, Some(Phase::Ready));
    assert_eq!(
        status.credentials.as_ref().and_then(|credentials| credentials.state),
        Some(CredentialsState::Published)
    );
    let written = serde_json::to_value(&status).unwrap();
    assert_eq!(written, full());
    let object = json!({ "spec": { "ciOperator": {} }, "status": written });
    assert_eq!(admit(schema(), &object, None), Ok(()));
    let declared = &schema()["properties"]["status"];
    for (name, value) in full().as_object().unwrap() {
        let inner = &declared["properties"][name];
        assert!(inner.is_object(), "{name} is not declared");
        for member in value.as_object().into_iter().flat_map(serde_json::Map::keys) {
            assert!(inner["properties"][member].is_object(), "{name}.{member} is not declared");
        }
    }
    assert_eq!(declared["properties"].as_object().unwrap().len(), full().as_object().unwrap().len());
}

/// A status that is refused takes conditions and credentials with it, and its cluster is made by then.
#[test]
fn status_with_the_largest_catalogue_values_is_accepted() {
    let numbered = |n: usize| (0..n).map(|i| (format!("p{i}"), json!(i.to_string()))).collect::<Map<_, _>>();
    let taint = json!({ "key": "k".repeat(400), "value": "v".repeat(64), "effect": "NoSchedule" });
    let mut status = full();
    let effective = &mut status["effective"];
    effective["parameters"] = numbered(100).into();
    effective["controlPlane"]["class"] = "".into();
    effective["timeouts"]["provision"] = format!("{}1h0m0s", "0".repeat(60)).into();
    effective["nodeGroups"] = json!([
        { "name": "n".repeat(64), "class": "c".repeat(64), "count": 5000, "labels": numbered(40), "parameters": numbered(100),
          "taints": vec![taint; 17], "failureDomain": "f".repeat(64) },
        { "name": "", "class": "", "autoscale": { "min": -1, "max": 0 } },
        { "name": "c", "class": "c", "count": -1 },
    ]);
    let written: TestPlatformClusterStatus = serde_json::from_value(status.clone()).unwrap();
    assert_eq!(written.effective.as_ref().unwrap().node_groups.as_ref().unwrap().len(), 3);
    let object = json!({ "spec": { "ciOperator": {} }, "status": written });
    assert_eq!(admit(schema(), &object, None), Ok(()));
}

#[test]
fn empty_status_serializes_to_nothing() {
    assert_eq!(serde_json::to_value(TestPlatformClusterStatus::default()).unwrap(), json!({}));
}

#[test]
fn unreadable_fields_count_as_absent() {
    let odd = json!({
        "phase": "Sleeping", "message": 7, "backend": { "uid": ["x"], "kind": "EphemeralCluster", "attempt": 2.0 },
        "hub": "app-ci", "startedAt": "yesterday", "readyAt": null, "queue": { "position": 1.5, "depth": 1e300 },
        "conditions": [], "unheardOf": true, "version": "4.20.3",
    });
    let status: TestPlatformClusterStatus = serde_json::from_value(odd).unwrap();
    let written = serde_json::to_value(&status).unwrap();
    let expected =
        json!({ "backend": { "kind": "EphemeralCluster", "attempt": 2 }, "queue": {}, "version": "4.20.3" });
    assert_eq!(written, expected);
}

#[test]
fn phases_are_their_names() {
    for phase in Phase::ALL {
        assert_eq!(serde_json::to_value(phase).unwrap(), json!(phase.as_str()));
        assert_eq!(phase.to_string(), format!("{phase:?}"));
    }
    let declared = &schema()["properties"]["status"]["properties"]["phase"]["enum"];
    assert_eq!(declared, &json!(Phase::ALL));
}
