//! The call that ends an orphan, from the object as it was read right before.

use provider_testplatform::{
    config::RemoteKind,
    controllers::orphans::{
        remote::RemoteObject,
        teardown::{
            TeardownCall::{self, AwaitHub, Changed, Delete, SetField},
            next_call,
        },
    },
};
use serde_json::{Value, json};

use super::{NAME, UID, remote};

fn current() -> Value {
    json!({
        "metadata": { "uid": "uid-lost", "annotations": {
            "ephemeralcluster.ci.openshift.io/konflux-cluster": NAME,
            "testplatform.ci.openshift.org/konflux-cluster-uid": UID,
        } },
        "spec": { "ciOperator": {} },
    })
}

fn of(kind: RemoteKind) -> RemoteObject {
    let mut remote = remote("lost");
    remote.identity.kind = kind;
    remote
}

fn with(pointer: &str, value: Value) -> Value {
    let mut object = current();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field.replace("~1", "/")] = value;
    object
}

#[test]
fn an_ephemeral_cluster_is_torn_down_and_then_deleted() {
    let call = |current: &Value| next_call(&of(RemoteKind::EphemeralCluster), current);
    assert_eq!(call(&current()), SetField);
    let mut torn = with("/spec/tearDownCluster", json!(true));
    assert_eq!(call(&torn), AwaitHub);
    for (phase, done, expected) in [
        ("Ready", "False", AwaitHub),
        ("Deprovisioning", "True", AwaitHub),
        ("Failed", "False", AwaitHub),
        ("Failed", "True", Delete),
        ("Deprovisioned", "True", Delete),
    ] {
        torn["status"] =
            json!({ "phase": phase, "conditions": [{ "type": "ProwJobCompleted", "status": done }] });
        assert_eq!(call(&torn), expected, "{phase} {done}");
    }
}

#[test]
fn other_kinds_are_deleted() {
    for kind in RemoteKind::ALL {
        let expected = if kind == RemoteKind::EphemeralCluster { SetField } else { Delete };
        assert_eq!(next_call(&of(kind), &current()), expected, "{kind:?}");
        let deleted = with("/metadata/deletionTimestamp", json!("2026-03-02T12:00:00Z"));
        assert_eq!(next_call(&of(kind), &deleted), AwaitHub, "{kind:?}");
    }
}

#[test]
fn an_object_that_changed_hands_is_not_ended() {
    let annotation = |key: &str| format!("/metadata/annotations/{}", key.replace('/', "~1"));
    let cases: [(String, Value); 5] = [
        ("/metadata/uid".into(), json!("another")),
        ("/metadata/ownerReferences".into(), json!([{ "kind": "ConfigMap" }])),
        (annotation("ephemeralcluster.ci.openshift.io/konflux-cluster"), json!("stone-stg")),
        (annotation("testplatform.ci.openshift.org/konflux-cluster-uid"), json!("another")),
        (annotation("testplatform.ci.openshift.org/konflux-cluster-uid"), Value::Null),
    ];
    for (pointer, value) in cases {
        let call: TeardownCall = next_call(&of(RemoteKind::ClusterClaim), &with(&pointer, value));
        assert_eq!(call, Changed, "{pointer}");
    }
}
