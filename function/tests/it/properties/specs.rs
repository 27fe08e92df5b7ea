//! Specs that a tenant could write: any at all, and some that are sound but for a place or two.

use function_model::list_pointers;
use proptest::{
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Value, json};

/// Texts that have broken templates.
pub fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a\nb: c".to_owned()),
        Just("---\nkind: Secret".to_owned()),
        Just("<no value>".to_owned()),
        Just("{{ .x }}".to_owned()),
        Just("123".to_owned()),
        Just("true".to_owned()),
        Just("1e400".to_owned()),
        Just("ünïcödé 🦀".to_owned()),
        Just("\u{0}\u{7f}\u{202e}".to_owned()),
        Just("x".repeat(65536)),
        Just("\"'`$(id)".to_owned()),
        ".*",
    ]
}

/// Fields of a claim's spec, and of what is in there.
const FIELDS: &[&str] = &[
    "architecture",
    "baseDomain",
    "buildRoot",
    "byoc",
    "ciOperator",
    "cleanup",
    "cloud",
    "clusterClaim",
    "clusterProfile",
    "clusterRole",
    "controlPlane",
    "credentials",
    "credentialsSecretRef",
    "env",
    "generation",
    "hub",
    "keepForDebug",
    "labels",
    "lifetime",
    "mode",
    "name",
    "namespace",
    "network",
    "nodeGroups",
    "onOwnerCompletion",
    "owner",
    "parameters",
    "platform",
    "pool",
    "product",
    "provision",
    "pullSecretRef",
    "releaseImage",
    "releases",
    "replicas",
    "resources",
    "resume",
    "sshKeySecretRef",
    "tearDownCluster",
    "template",
    "test",
    "timeout",
    "timeouts",
    "version",
    "workflow",
    "writeConnectionSecretToRef",
];

/// Mostly one of those.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![3 => select(FIELDS).prop_map(str::to_owned), 1 => hostile()]
}

/// Anything, with fields that the function knows.
pub fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        hostile().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key(), inner, 0..4)
                .prop_map(|m| m.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

/// Valid specs of tenants, one for each kind of block.
fn sound() -> Vec<Value> {
    let test = json!({ "workflow": "ipi-aws", "clusterProfile": "aws", "env": { "SIZE": "small" } });
    let release = json!({ "channel": "stable", "version": "4.20" });
    vec![
        json!({
            "ciOperator": { "releases": { "latest": { "release": release } }, "test": test },
            "tearDownCluster": false, "lifetime": "4h", "writeConnectionSecretToRef": { "name": "demo-secret" },
            "cleanup": { "onOwnerCompletion": true, "keepForDebug": "30m" },
        }),
        json!({
            "ciOperator": { "test": test },
            "credentials": { "mode": "ServiceAccount", "clusterRole": "view", "generation": 1 },
        }),
        json!({ "clusterClaim": {
            "version": "4.20", "cloud": "aws", "labels": { "size": "small" }, "timeout": "2h", "resume": true,
            "pool": { "name": "ocp", "namespace": "pools" },
        } }),
        json!({
            "clusterClaim": { "version": "4.20" },
            "byoc": {
                "platform": { "aws": { "region": "us-east-1" } }, "baseDomain": "ci.tenant.example",
                "credentialsSecretRef": { "name": "my-aws" },
            },
        }),
        json!({
            "template": "hosted", "parameters": { "size": "small" }, "version": "4.20", "controlPlane": { "replicas": 3 },
            "nodeGroups": [{ "name": "workers", "class": "large", "count": 2, "labels": { "a": "b" } }],
            "network": { "podCidr": "10.128.0.0/14" }, "hub": { "name": "hub-1" }, "timeouts": { "provision": "2h" },
        }),
    ]
}

/// One of those with something else at some of its places.
pub fn nearly_sound() -> impl Strategy<Value = Value> {
    let changes = prop::collection::vec((any::<Index>(), any_json()), 1..3);
    (select(sound()), changes).prop_map(|(mut spec, changes)| {
        for (place, value) in changes {
            let all = list_pointers(&spec);
            *spec.pointer_mut(place.get::<String>(&all)).unwrap() = value;
        }
        spec
    })
}
