//! Clusters by a template that Cluster API makes: the claim becomes a Cluster with a topology, and its kubeconfig comes back. There is no
//! password.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, at, at_root, has},
    cluster_api::topology,
    hive::{
        objects::{kubeconfig, text, token},
        offer::CREDENTIALS,
    },
    kinds::{COMPOSITE, SECRET},
    tenant::{Tenant, decoded},
    witness::Witness,
};

use super::{hive::GONE, hypershift::stays_ready};

/// Makes the claim, and waits through to Ready. The name of its Cluster.
async fn got(tenant: &Tenant<'_>, more: &Value) -> anyhow::Result<String> {
    tenant.ask(more).await?;
    let name = tenant.composite().await?;
    tenant.until_phase("Ready").await?;
    tenant.until_secret(SOON, &kubeconfig(&name, &token(&name))).await?;
    Ok(name)
}

pub async fn cluster_api_happy_path(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let player = tenant.engine.topologies().await?;
    tenant.ask(&json!({})).await?;
    let name = tenant.composite().await?;
    player.hold(&name);
    let published = at(SECRET, CREDENTIALS, &format!("{name}-credentials"));
    // That says less than it seems to: nothing answers yet.
    let provisioned = |cluster: &Value| cluster["status"]["phase"] == "Provisioned";
    hub.until_is(&topology(&name), SOON, "Provisioned", provisioned).await?;
    tenant.until_condition("InfrastructureReady", "True", "Available").await?;
    tenant.until_condition("CredentialsPublished", "False", "NotRunning").await?;
    tenant.until_phase("Provisioning").await?;
    ensure!(hub.get(&published).await?.is_none(), "published before its API answers");
    player.let_go(&name);

    tenant.until_phase("Ready").await?;
    let secret = tenant.until_secret(SOON, &kubeconfig(&name, &token(&name))).await?;
    ensure!(secret.get("kubeAdminPassword").is_some_and(String::is_empty), "there is no password");
    for (type_, reason) in [
        ("ClusterReady", "Ready"),
        ("ControlPlaneAvailable", "Available"),
        ("NodesReady", "AllReady"),
        ("SpecApplied", "UpToDate"),
        ("CredentialsPublished", "PublishedWithoutPassword"),
    ] {
        tenant.until_condition(type_, "True", reason).await?;
    }
    let claim = tenant.until_phase("Ready").await?;
    let status = &claim["status"];
    ensure!(status["nodes"]["desired"] == 1 && status["nodes"]["ready"] == 1, "{}", status["nodes"]);
    ensure!(text(&claim, "/status/version").ends_with("1.31.2"), "{status}");
    ensure!(text(&claim, "/status/apiServerURL").contains(&name), "{status}");
    ensure!(status["consoleURL"].is_null(), "Kubernetes has no console: {status}");

    player.hold(&name);
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    let released = |c: Option<&Value>| c.is_some_and(|c| c["metadata"]["deletionTimestamp"].is_string());
    hub.until(&topology(&name), GONE, "being deleted", released).await?;
    hub.until_gone(&published, SOON).await?;
    tenant.until_phase("Deprovisioning").await?;
    player.let_go(&name);
    tenant.until(GONE, "over", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    tenant.until_condition("ProwJobCompleted", "True", "TornDown").await?;
    tenant.until_secret(SOON, "").await?;
    ensure!(hub.get(&topology(&name)).await?.is_none(), "it is still there");
    ensure!(tenant.remotes_made() == 1, "a second Cluster was asked for");
    konflux.delete(&tenant.claim()).await?;
    konflux.until_gone(&tenant.claim(), SOON).await?;
    konflux.until_gone(&at_root(COMPOSITE, &name), GONE).await
}

/// A group grows, another one comes whose size the load makes, and goes again.
pub async fn cluster_api_resized(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let name = got(tenant, &json!({})).await?;
    let hub = tenant.engine.hub.cluster();
    let grown = json!([
        { "name": "default-worker", "class": "default", "count": 3 },
        { "name": "spare", "class": "large", "autoscale": { "min": 1, "max": 4 } },
    ]);
    tenant.change(&json!({ "nodeGroups": grown })).await?;
    let served = |nodes: i64| {
        move |claim: &Value| {
            claim["status"]["nodes"]["ready"] == nodes && has(claim, "SpecApplied", "True", "UpToDate")
        }
    };
    tenant.until(SOON, "grown", served(4)).await?;
    let cluster = hub.get(&topology(&name)).await?.context("no Cluster")?;
    let groups = cluster["spec"]["topology"]["workers"]["machineDeployments"].as_array().cloned();
    let groups = groups.unwrap_or_default();
    let spare = groups.iter().find(|group| group["name"] == "spare").context("no other group")?;
    ensure!(spare["replicas"].is_null(), "the autoscaler has no say: {spare}");
    tenant
        .change(&json!({ "nodeGroups": [{ "name": "default-worker", "class": "default", "count": 1 }] }))
        .await?;
    tenant.until(SOON, "shrunk", served(1)).await?;
    ensure!(tenant.remotes_made() == 1, "another Cluster was asked for");
    Ok(())
}

/// Two minor versions ahead are reached by way of the one in between, each with its image.
pub async fn cluster_api_upgraded(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let name = got(tenant, &json!({ "version": "v1.29.9" })).await?;
    let hub = tenant.engine.hub.cluster();
    let version = |cluster: &Value| text(cluster, "/spec/topology/version").to_owned();
    let image = |cluster: &Value| {
        let variables = cluster["spec"]["topology"]["variables"].as_array().cloned().unwrap_or_default();
        variables.into_iter().find(|v| v["name"] == "imageUUID").map(|v| v["value"].clone())
    };
    let pairs = [("v1.29.9", "of-29"), ("v1.30.6", "5a10"), ("v1.31.2", "5a11")];
    let agrees = move |cluster: Option<&Value>| {
        cluster.is_none_or(|cluster| {
            let image = image(cluster).unwrap_or_default();
            pairs.iter().any(|(v, end)| {
                version(cluster) == *v && image.as_str().is_some_and(|image| image.ends_with(end))
            })
        })
    };
    let together = Witness::of(hub, &topology(&name), agrees).await?;
    let served = stays_ready(tenant).await?;
    tenant.change(&json!({ "version": "v1.31.2" })).await?;
    let between = |cluster: &Value| text(cluster, "/spec/topology/version") == "v1.30.6";
    hub.until_is(&topology(&name), SOON, "on its way", between).await?;
    let there = |cluster: &Value| {
        let versions = &cluster["status"]["controlPlane"]["versions"];
        versions[0]["version"] == "v1.31.2"
    };
    hub.until_is(&topology(&name), SOON, "upgraded", there).await?;
    let told = |claim: &Value| {
        text(claim, "/status/version").ends_with("1.31.2") && has(claim, "SpecApplied", "True", "UpToDate")
    };
    tenant.until(SOON, "upgraded", told).await?;
    together.verdict().context("version and image are not of one release")?;
    served.verdict()?;
    ensure!(
        decoded(&tenant.konflux().get(&tenant.secret()).await?.context("no Secret")?)
            .contains_key("kubeconfig")
    );
    Ok(())
}
