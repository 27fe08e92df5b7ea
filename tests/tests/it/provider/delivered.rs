//! A hub with the real provider and exactly the rights that are made for it, and a real API server as the cluster that was delivered. Whoever
//! made the cluster is played.

use std::process::Command;

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use provider_testplatform::{
    config::Config,
    rbac::{self, ServiceAccount},
};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_tests::{
    cluster::{At, Cluster, SOON, at, at_root, has},
    control_plane::ControlPlane,
    hub::issue_in,
    kinds::{CRD, Kind, SECRET},
    nest::{Nest, Process},
    ports::free_ports,
    program,
};

pub const HOSTED: Kind = Kind { api_version: "hypershift.openshift.io/v1beta1", kind: "HostedCluster" };
pub const CONFIG_MAP: Kind = Kind { api_version: "v1", kind: "ConfigMap" };
pub const CLUSTERS: &str = "clusters";
pub const CREDENTIALS: &str = "testplatform-credentials";
/// Name and namespace of the provider's ServiceAccount.
pub const OWN: &str = "provider-testplatform";

/// An administrator of the delivered cluster: a kubeconfig, and what of its token is nowhere else. Beside it is a role that may only look:
/// of the roles that every cluster has, some are put together by controllers that do not run here.
pub async fn admin(delivered: &ControlPlane) -> anyhow::Result<(String, String)> {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "admin", "namespace": "kube-system" },
    });
    let role = |name: &str, subject: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
            "subjects": [subject],
        })
    };
    let binding =
        role("admin", json!({ "kind": "ServiceAccount", "name": "admin", "namespace": "kube-system" }));
    let looker = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "looker" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"] }],
    });
    delivered.cluster().apply_all(&[account, binding, looker]).await?;
    let config = issue_in(delivered, "kube-system", "admin", "canary").await?.kubeconfig;
    let token = config["users"][0]["user"]["token"].as_str().context("no token")?;
    let signature = token.rsplit('.').next().unwrap_or_default().to_owned();
    Ok((config.to_string(), signature))
}

pub async fn furnish(hub: &Cluster, admin: &str, password: &str) -> anyhow::Result<()> {
    for name in [OWN, CREDENTIALS, CLUSTERS, "ephemeral-cluster"] {
        hub.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await?;
    }
    define(hub, HOSTED).await?;
    source(hub, admin, password).await
}

/// Credentials of the admin, as whoever made the clusters leaves them.
pub async fn source(hub: &Cluster, kubeconfig: &str, password: &str) -> anyhow::Result<()> {
    source_named(hub, "admin-kubeconfig", kubeconfig, password).await
}

/// The same in a Secret of this name.
pub async fn source_named(hub: &Cluster, name: &str, kubeconfig: &str, password: &str) -> anyhow::Result<()> {
    let data = json!({
        "kubeconfig": BASE64_STANDARD.encode(kubeconfig), "password": BASE64_STANDARD.encode(password),
    });
    let metadata = json!({ "name": name, "namespace": CLUSTERS });
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data });
    hub.apply(&secret).await.map(drop)
}

/// The provider, whose configuration has more of `clusters`, and its own kubeconfig.
pub async fn start(hub: &ControlPlane, nest: &Nest, more: &Value) -> anyhow::Result<(Process, String)> {
    let [port] = free_ports()?;
    let mut config = json!({
        "clusters": { "poll": "1s", "backends": { "hypershift": { "namespaces": [CLUSTERS] } } },
        "http": { "address": format!("127.0.0.1:{port}") },
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        config["clusters"][key] = value.clone();
    }
    let config = nest.file("config.yaml", config.to_string())?;
    let rights = rbac::hub(&Config::load(&config)?, &ServiceAccount::default());
    hub.cluster().apply_all(&serde_saphyr::from_multiple::<Value>(&rights)?).await?;
    let own = issue_in(hub, OWN, OWN, "account").await?.kubeconfig.to_string();
    nest.file("kubeconfig", &own)?;
    Ok((again(nest)?, own))
}

/// The provider, with what it was configured with.
pub fn again(nest: &Nest) -> anyhow::Result<Process> {
    let mut command = Command::new(program::provider()?);
    command.args(["--config=config.yaml", "--kubeconfig=kubeconfig", "--log-format=text", "-d"]);
    nest.spawn("provider", &mut command)
}

/// Makes a usable cluster as the function would request it and a backend would make it.
pub async fn hosted(hub: &Cluster, name: &str, wish: Option<&Value>) -> anyhow::Result<Value> {
    hosted_by(hub, name, wish, "admin-kubeconfig").await
}

/// The same, whose credentials are in a Secret of this name.
pub async fn hosted_by(
    hub: &Cluster,
    name: &str,
    wish: Option<&Value>,
    source: &str,
) -> anyhow::Result<Value> {
    let mut object = json!({
        "apiVersion": HOSTED.api_version, "kind": HOSTED.kind,
        "metadata": {
            "name": name, "namespace": CLUSTERS, "annotations": { ours::CREDENTIALS_NAMESPACE: CREDENTIALS },
        },
    });
    if let Some(wish) = wish {
        object["metadata"]["annotations"][ours::CREDENTIALS_WISH] = wish.to_string().into();
    }
    let made = hub.create(&object).await?;
    let available = json!({
        "conditions": [{ "type": "Available", "status": "True", "reason": "x", "lastTransitionTime": "2026-01-01T00:00:00Z" }],
        "kubeconfig": { "name": source }, "kubeadminPassword": { "name": source },
    });
    hub.merge_status(&cluster(name), &available).await?;
    Ok(made)
}

/// With what rights somebody wants credentials.
pub fn wish(role: &str, generation: u32) -> Value {
    json!({ "clusterRole": role, "generation": generation, "mode": "ServiceAccount" })
}

/// The provider's report on a cluster.
pub fn told(cluster: &Value) -> Value {
    let text = cluster["metadata"]["annotations"][ours::STATUS].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

pub fn cluster(name: &str) -> At {
    at(HOSTED, CLUSTERS, name)
}

pub fn published(name: &str) -> At {
    at(SECRET, CREDENTIALS, &format!("{name}-credentials"))
}

/// A kind's definition with the parts that matter: its names, and a status subresource.
pub fn definition(kind: Kind) -> anyhow::Result<Value> {
    let (group, version) = kind.api_version.split_once('/').context("no group")?;
    let singular = kind.kind.to_lowercase();
    Ok(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{singular}s.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": kind.kind, "listKind": format!("{}List", kind.kind), "plural": format!("{singular}s"), "singular": singular },
            "versions": [{
                "name": version, "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    }))
}

pub async fn define(hub: &Cluster, kind: Kind) -> anyhow::Result<()> {
    let crd = definition(kind)?;
    hub.apply(&crd).await?;
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    hub.until_is(&at_root(CRD, name), SOON, "established", |crd| has(crd, "Established", "True", ""))
        .await
        .map(drop)
}
