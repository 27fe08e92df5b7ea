//! Contents of Hive's objects.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use testplatform_apis::yaml::to_yaml;

use super::FINALIZERS;
use crate::actors::now;

/// A pool, as an administrator makes it.
pub fn cluster_pool(namespace: &str, name: &str, size: u32, running: u32, most: u32) -> Value {
    json!({
        "apiVersion": "hive.openshift.io/v1", "kind": "ClusterPool",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "size": size, "runningCount": running, "maxSize": most, "baseDomain": "example.com",
            "imageSetRef": { "name": "ocp-4.20" },
            "platform": { "aws": { "region": "us-east-1", "credentialsSecretRef": { "name": "cloud" } } } },
    })
}

/// A claim, as somebody without our function makes it.
pub fn cluster_claim(namespace: &str, name: &str, pool: &str) -> Value {
    json!({
        "apiVersion": "hive.openshift.io/v1", "kind": "ClusterClaim",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "clusterPoolName": pool },
    })
}

/// A kubeconfig of a cluster, in the form in which the provider writes it.
pub fn kubeconfig(cluster: &str, token: &str) -> String {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "admin",
        "clusters": [{ "name": cluster, "cluster": { "server": format!("https://api.{cluster}.example.com:6443") } }],
        "contexts": [{ "name": "admin", "context": { "cluster": cluster, "user": "admin" } }],
        "users": [{ "name": "admin", "user": { "token": token } }],
    });
    to_yaml(&config).unwrap_or_default()
}

/// The token in the kubeconfig that a cluster is installed with. Nothing else in the world looks like it.
pub fn token(cluster: &str) -> String {
    only_of(cluster, "token")
}

/// The password that a cluster is installed with, likewise.
pub fn password(cluster: &str) -> String {
    only_of(cluster, "password")
}

fn only_of(cluster: &str, what: &str) -> String {
    let part = |n: u8| {
        let mut hasher = DefaultHasher::new();
        (cluster, what, n).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    };
    (0..4).map(part).collect::<Vec<_>>().concat()
}

/// A cluster that is being installed, and its namespace.
pub(super) fn cluster_deployment(namespace: &str, pool: &str, name: &str) -> [Value; 2] {
    [
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }),
        json!({
            "apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment",
            "metadata": { "name": name, "namespace": name, "finalizers": [FINALIZERS[1]],
                "labels": { "hive.openshift.io/clusterpool-namespace": namespace, "hive.openshift.io/clusterpool-name": pool,
                    "hive.openshift.io/version": "4.20.3" } },
            "spec": { "baseDomain": "example.com", "clusterName": name, "platform": { "aws": { "region": "us-east-1",
                    "credentialsSecretRef": { "name": "cloud" } } },
                "clusterPoolRef": { "namespace": namespace, "poolName": pool } },
        }),
    ]
}

fn secret(cluster: &str, name: &str, data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": cluster }, "data": data })
}

/// The Secret with a cluster's kubeconfig.
pub(super) fn kubeconfig_secret(cluster: &str, kubeconfig: &str) -> Value {
    let encoded = BASE64_STANDARD.encode(kubeconfig);
    secret(cluster, "0-admin-kubeconfig", &json!({ "kubeconfig": encoded, "raw-kubeconfig": encoded }))
}

/// The Secret with a cluster's password.
pub(super) fn password_secret(cluster: &str, password: &str) -> Value {
    let encoded = |text: &str| BASE64_STANDARD.encode(text);
    let data = json!({ "username": encoded("kubeadmin"), "password": encoded(password) });
    secret(cluster, "0-admin-password", &data)
}

/// The Secrets of a cluster's namespace: three that its claim's owner may get, and the cloud's, which nobody may.
pub(super) fn secrets(cluster: &str) -> [Value; 4] {
    let encoded = |text: &str| BASE64_STANDARD.encode(text);
    [
        kubeconfig_secret(cluster, &kubeconfig(cluster, &token(cluster))),
        password_secret(cluster, &password(cluster)),
        secret(cluster, "0-metadata-json", &json!({ "metadata.json": encoded("{}") })),
        secret(cluster, "cloud", &json!({ "aws_secret_access_key": encoded("hunter2") })),
    ]
}

/// Spec after an installation.
pub(super) fn installed() -> Value {
    json!({ "spec": { "installed": true, "powerState": "Hibernating", "clusterMetadata": {
        "clusterID": "id", "infraID": "infra",
        "adminKubeconfigSecretRef": { "name": "0-admin-kubeconfig" },
        "adminPasswordSecretRef": { "name": "0-admin-password" },
        "metadataJSONSecretRef": { "name": "0-metadata-json" },
    } } })
}

/// Status after an installation.
pub(super) fn addresses(cluster: &str) -> Value {
    json!({
        "apiURL": format!("https://api.{cluster}.example.com:6443"),
        "webConsoleURL": format!("https://console.{cluster}.example.com"),
    })
}

/// Status after a failed installation.
pub(super) fn broken() -> Value {
    let condition = |type_: &str, reason: &str, message: &str| json!({ "type": type_, "status": "True", "reason": reason, "message": message, "lastTransitionTime": seconds() });
    json!({ "conditions": [
        condition("ProvisionFailed", "InsufficientQuota", "the limit of vCPUs is reached; password=hunter2"),
        condition("ProvisionStopped", "InstallAttemptsLimitReached", "Install attempts limit reached"),
    ] })
}

/// Status of a cluster that its cloud refuses to destroy, in addition to its other conditions.
pub(super) fn refused(cluster: &Value) -> Value {
    let condition = |type_: &str, status: &str, reason: &str, message: &str| json!({ "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": seconds() });
    let said = [
        condition(
            "DeprovisionLaunchError",
            "True",
            "AuthenticationFailed",
            "the credentials are not accepted; secret: hunter2",
        ),
        condition("Provisioned", "False", "DeprovisionFailed", "Cluster deprovision failed"),
    ];
    let before = cluster["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let kept = before.into_iter().filter(|c| said.iter().all(|new| new["type"] != c["type"]));
    json!({ "conditions": kept.chain(said.clone()).collect::<Vec<_>>() })
}

/// Status of a pool whose deletion waits for its clusters.
pub(super) fn held(clusters: &[&Value]) -> Value {
    let names: Vec<&str> = clusters.iter().map(|c| text(c, "/metadata/name")).collect();
    let message = format!("The following ClusterDeployments are pending cleanup: {}", names.join(", "));
    json!({ "conditions": [{
        "type": "DeletionPossible", "status": "False", "reason": "ClusterDeploymentsPendingCleanup", "message": message,
    }] })
}

/// The power state, and the conditions that go with it.
pub(super) fn power(state: &str) -> Value {
    let condition = |type_: &str, holds: bool, reason: &str| {
        let status = if holds { "True" } else { "False" };
        json!({ "type": type_, "status": status, "reason": reason, "message": reason, "lastTransitionTime": seconds() })
    };
    let (ready, hibernating) = match state {
        "Running" => ("Running", "ResumingOrRunning"),
        "Hibernating" => ("StoppingOrHibernating", "Hibernating"),
        step => (step, "ResumingOrRunning"),
    };
    json!({ "powerState": state, "conditions": [
        condition("Ready", state == "Running", ready),
        condition("Hibernating", state == "Hibernating", hibernating),
    ] })
}

/// By age, then by name.
pub(super) fn age(object: &Value) -> (String, String) {
    (text(object, "/metadata/creationTimestamp").to_owned(), text(object, "/metadata/name").to_owned())
}

/// `true` if any of these values is another one.
pub(super) fn differs(stored: &Value, wanted: &Value) -> bool {
    wanted.as_object().into_iter().flatten().any(|(key, value)| stored[key] != *value)
}

/// The text at a JSON pointer; empty if there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Now, as an API server keeps it.
pub(crate) fn seconds() -> String {
    now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
