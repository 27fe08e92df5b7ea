//! Objects that OSAC's jobs make.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::behind;
use crate::{
    hive::objects::{kubeconfig, seconds, text, token},
    hypershift::objects::PASSWORD,
    provider,
};

const API: &str = "rbac.authorization.k8s.io/v1";

/// Fingerprint of an order's spec.
pub(super) fn config(spec: &Value) -> Value {
    let mut hasher = DefaultHasher::new();
    spec.to_string().hash(&mut hasher);
    format!("{:016x}", hasher.finish()).into()
}

/// The namespace of an order, its Secrets, and that the provider is let in.
pub(super) fn surroundings(order: &str) -> Vec<Value> {
    let namespace = behind(order);
    let named = json!({ "name": "hub-access", "namespace": namespace });
    let mut all = vec![
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } }),
        json!({
            "apiVersion": API, "kind": "Role", "metadata": named,
            "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }],
        }),
        json!({
            "apiVersion": API, "kind": "RoleBinding", "metadata": named,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "hub-access" },
            "subjects": [{ "kind": "ServiceAccount", "name": provider::NAME, "namespace": provider::NAME }],
        }),
    ];
    all.extend(secrets(order));
    all
}

/// The Secrets of a cluster.
pub(super) fn secrets(order: &str) -> [Value; 2] {
    let secret = |name: String, key: &str, value: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": behind(order) },
            "data": { key: BASE64_STANDARD.encode(value) },
        })
    };
    let kubeconfig = kubeconfig(order, &token(order));
    [
        secret(format!("{order}-admin-kubeconfig"), "kubeconfig", &kubeconfig),
        secret(format!("{order}-kubeadmin-password"), "password", PASSWORD),
    ]
}

/// The release of an order that names none.
fn image(order: &Value) -> Value {
    let own = &order["spec"]["releaseImage"];
    if own.is_null() { "quay.io/openshift-release-dev/ocp-release:4.19.1-x86_64".into() } else { own.clone() }
}

/// The HostedCluster of an order.
pub(super) fn hosted(order: &Value, name: &str) -> Value {
    let by = |service: &str, strategy: &str| json!({ "service": service, "servicePublishingStrategy": { "type": strategy } });
    json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
        "metadata": { "name": name, "namespace": behind(name) },
        "spec": {
            "release": { "image": image(order) }, "pullSecret": { "name": "pull-secret" },
            "platform": { "type": "Agent", "agent": { "agentNamespace": "hosts" } },
            "dns": { "baseDomain": "hub.example" },
            "networking": {
                "clusterNetwork": [{ "cidr": "10.128.0.0/14" }], "serviceNetwork": [{ "cidr": "172.30.0.0/16" }],
            },
            "etcd": { "managementType": "Managed", "managed": { "storage": {
                "type": "PersistentVolume", "persistentVolume": { "size": "8Gi" },
            } } },
            "services": [
                by("APIServer", "LoadBalancer"), by("OAuthServer", "Route"), by("Konnectivity", "Route"),
                by("Ignition", "Route"),
            ],
        },
    })
}

/// A NodePool for each class of nodes that an order asks for.
pub(super) fn node_pools(order: &Value, name: &str) -> Vec<Value> {
    let requests = order["spec"]["nodeRequests"].as_array().map_or(&[][..], Vec::as_slice);
    let pool = |request: &Value| {
        let class = text(request, "/resourceClass");
        json!({
            "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
            "metadata": { "name": format!("nodepool-{name}-{class}"), "namespace": behind(name) },
            "spec": {
                "clusterName": name, "replicas": request["numberOfNodes"], "release": { "image": image(order) },
                "management": { "upgradeType": "InPlace", "autoRepair": false },
                "platform": { "type": "Agent", "agent": { "agentLabelSelector": { "matchLabels": { "class": class } } } },
            },
        })
    };
    requests.iter().map(pool).collect()
}

/// `true` if an order requests the nodes of a NodePool.
pub(super) fn asks_for(order: &Value, name: &str, pool: &Value) -> bool {
    node_pools(order, name).iter().any(|asked| asked["metadata"]["name"] == pool["metadata"]["name"])
}

/// The last job of a type.
pub(super) fn newest<'a>(order: &'a Value, type_: &str) -> Option<&'a Value> {
    order["status"]["provisioningJobs"].as_array()?.iter().rfind(|job| job["type"] == type_)
}

/// The jobs with one more that runs, or with the last one in another state. It keeps the last two.
pub(super) fn with(order: &Value, type_: &str, state: &str, message: &str) -> Value {
    let mut jobs = order["status"]["provisioningJobs"].as_array().cloned().unwrap_or_default();
    let count = jobs.iter().filter_map(|job| text(job, "/jobID").parse::<u32>().ok()).max().unwrap_or(0);
    let last = jobs.iter_mut().rfind(|job| job["type"] == type_ && job["state"] == "Running");
    if let Some(job) = last {
        job["state"] = state.into();
        job["message"] = message.into();
    } else {
        jobs.push(json!({
            "jobID": (count + 1).to_string(), "type": type_, "state": state, "message": message,
            "timestamp": seconds(), "configVersion": config(&order["spec"]),
        }));
    }
    let begin = jobs.len().saturating_sub(2);
    jobs.split_off(begin).into()
}
