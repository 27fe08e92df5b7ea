//! Who writes claims and TestClusters, each with the rights that they have and no others.

use std::time::Duration;

use anyhow::Context as _;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{Cluster, SOON},
    control_plane::ControlPlane,
    patience,
};

use super::written::{CLAIMS, NAMESPACE, Written};

const RBAC: &str = "rbac.authorization.k8s.io";
const COMPOSITIONS: &str = "apiextensions.crossplane.io";

/// Everybody.
pub struct People {
    /// A tenant, with what Konflux gives to pipelines: everything with these kinds, in one namespace.
    pub alice: Cluster,
    /// Crossplane, with what its chart and its manager of rights give to it, as far as it matters here.
    pub core: Cluster,
    /// Somebody who looks after Crossplane on this cluster.
    pub admin: Cluster,
}

impl People {
    /// Gives everybody their rights.
    pub async fn come(plane: &ControlPlane, all: &[&Written]) -> anyhow::Result<Self> {
        let own: Vec<Value> = all.iter().map(|of| rule(of.group, of.plural, "*")).collect();
        let composites =
            |verb: &str| -> Vec<Value> { all.iter().map(|of| rule(of.group, of.composites, verb)).collect() };
        let cores = [own.clone(), composites("*"), vec![rule(COMPOSITIONS, "*", "*")]].concat();
        let update = vec![rule(COMPOSITIONS, "compositions", "update")];
        let admins = [own.clone(), composites("update"), update].concat();
        Ok(Self {
            alice: person(plane, "alice", Some(NAMESPACE), &own).await?,
            core: person(plane, "system:serviceaccount:crossplane-system:crossplane", None, &cores).await?,
            admin: person(plane, "admin", None, &admins).await?,
        })
    }
}

fn rule(group: &str, resource: &str, verb: &str) -> Value {
    json!({ "apiGroups": [group], "resources": [resource], "verbs": [verb] })
}

/// Somebody with rights in a namespace, or everywhere.
async fn person(
    plane: &ControlPlane,
    user: &str,
    namespace: Option<&str>,
    rules: &[Value],
) -> anyhow::Result<Cluster> {
    let api = format!("{RBAC}/v1");
    let name = format!("test-{}", user.rsplit(':').next().unwrap_or(user));
    let role =
        json!({ "apiVersion": api, "kind": "ClusterRole", "metadata": { "name": name }, "rules": rules });
    let kind = if namespace.is_some() { "RoleBinding" } else { "ClusterRoleBinding" };
    let mut binding = json!({
        "apiVersion": api, "kind": kind, "metadata": { "name": name },
        "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": name },
        "subjects": [{ "apiGroup": RBAC, "kind": "User", "name": user }],
    });
    if let Some(namespace) = namespace {
        binding["metadata"]["namespace"] = namespace.into();
    }
    plane.cluster().apply_all(&[role, binding]).await?;
    let kubeconfig = Kubeconfig::from_yaml(&std::fs::read_to_string(plane.kubeconfig())?)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.auth_info.impersonate = Some(user.to_owned());
    let person = Cluster::new(user, Client::try_from(config)?);
    // The authorizer hears of it a moment later.
    let heard = async {
        while person.get(&CLAIMS.at("nothing")).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    patience::timeout(SOON, heard).await.with_context(|| format!("{user} never may read claims"))?;
    Ok(person)
}
