//! Contents of HyperShift's objects.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{
    hive::objects::{kubeconfig, seconds, token},
    player::Said,
};

/// The password of every cluster.
pub const PASSWORD: &str = "h0sted-p4ssw0rd";

/// Message of a control plane that is out of order.
pub const UNAVAILABLE: &str = "etcd deployment has 1 unavailable replica";

fn secret(namespace: &str, name: &str, data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": namespace }, "data": data })
}

/// The Secret with a cluster's kubeconfig.
pub(super) fn kubeconfig_secret(namespace: &str, cluster: &str, kubeconfig: &str) -> Value {
    let data = json!({ "kubeconfig": BASE64_STANDARD.encode(kubeconfig) });
    secret(namespace, &format!("{cluster}-admin-kubeconfig"), &data)
}

/// The Secrets of a cluster, which are there before it is.
pub(super) fn secrets(namespace: &str, cluster: &str) -> [Value; 2] {
    let password = json!({ "password": BASE64_STANDARD.encode(PASSWORD) });
    [
        kubeconfig_secret(namespace, cluster, &kubeconfig(cluster, &token(cluster))),
        secret(namespace, &format!("{cluster}-kubeadmin-password"), &password),
    ]
}

/// How the status names them.
pub(crate) fn named(cluster: &str) -> Value {
    json!({
        "kubeconfig": { "name": format!("{cluster}-admin-kubeconfig") },
        "kubeadminPassword": { "name": format!("{cluster}-kubeadmin-password") },
    })
}

/// Where its API is.
pub(crate) fn endpoint(cluster: &str) -> Value {
    json!({ "controlPlaneEndpoint": { "host": format!("api.{cluster}.hub.example"), "port": 6443 } })
}

/// The first that is said of one.
pub(crate) fn begun() -> Vec<Said> {
    vec![
        ("ValidConfiguration", "True", "AsExpected", String::new()),
        ("ValidReleaseImage", "True", "AsExpected", String::new()),
        ("ReconciliationActive", "True", "AsExpected", String::new()),
        ("InfrastructureReady", "False", "WaitingForAvailable", "no load balancer yet".into()),
        ("Degraded", "Unknown", "StatusUnknown", "the hosted control plane is not found".into()),
        ("Available", "False", "WaitingForAvailable", "waiting for the hosted control plane".into()),
    ]
}

/// Conditions of a control plane whose infrastructure is ready.
pub(crate) fn infrastructure() -> Vec<Said> {
    ["InfrastructureReady", "EtcdAvailable"].map(|type_| (type_, "True", "AsExpected", String::new())).into()
}

/// The control plane answers, or has ceased to.
pub(crate) fn available(well: bool) -> Vec<Said> {
    let (answers, broken) = if well { ("True", "False") } else { ("False", "True") };
    let (reason, words) = if well { ("AsExpected", "") } else { ("UnavailableReplicas", UNAVAILABLE) };
    vec![
        ("KubeAPIServerAvailable", answers, reason, words.to_owned()),
        ("Available", answers, reason, words.to_owned()),
        ("Degraded", broken, reason, words.to_owned()),
    ]
}

/// It is on its way out.
pub(super) fn destroying() -> Vec<Said> {
    vec![(
        "HostedClusterDestroyed",
        "False",
        "InProgress",
        "the hosted control plane is being destroyed".into(),
    )]
}

/// The version that an image's tag tells.
pub(crate) fn version(image: &str) -> &str {
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    tag.split_once('-').map_or(tag, |(version, _)| version)
}

/// A release begins to be rolled out.
pub(crate) fn begins(cluster: &Value, image: &str) -> Value {
    let before = cluster["status"]["version"]["history"].as_array().cloned().unwrap_or_default();
    let new = json!({
        "state": "Partial", "image": image, "version": version(image), "verified": true,
        "startedTime": seconds(), "completionTime": null,
    });
    let history: Vec<Value> = std::iter::once(new).chain(before).collect();
    json!({
        "desired": { "image": image, "version": version(image) }, "history": history,
        "availableUpdates": null, "observedGeneration": cluster["metadata"]["generation"],
    })
}

/// The newest release is there.
pub(crate) fn completes(cluster: &Value) -> Value {
    let mut version = cluster["status"]["version"].clone();
    version["history"][0]["state"] = "Completed".into();
    version["history"][0]["completionTime"] = seconds().into();
    version
}
