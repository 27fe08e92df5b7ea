//! Clusters by a template that Cluster API makes: the claim becomes a Cluster with a topology, and its kubeconfig comes back. There is no
//! password.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{At, Cluster, SOON, at, has},
    cluster_api::{ENDING, topology},
    control_plane::connect,
    hive::{
        objects::{kubeconfig, text, token},
        offer::CREDENTIALS,
    },
    hypershift::CLUSTERS,
    kinds::{NODE, SECRET},
    tenant::{Tenant, decoded},
    witness::Witness,
};

use super::{
    by_template::{LASTS, Wired},
    hive::GONE,
    hypershift::stays_ready,
};

/// The Secret that the provider publishes for a Cluster.
pub fn published(name: &str) -> At {
    at(SECRET, CREDENTIALS, &format!("{name}-credentials"))
}

/// Of a Cluster on the hub, its own kubeconfig included.
pub async fn nothing_left(tenant: &Tenant<'_>, name: &str) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let own = at(SECRET, CLUSTERS, &format!("{name}-kubeconfig"));
    for at in [topology(name), own, published(name)] {
        hub.until_gone(&at, GONE).await?;
    }
    Ok(())
}

/// Makes the claim, and waits through to Ready. The name of its Cluster.
pub async fn got(tenant: &Tenant<'_>, more: &Value) -> anyhow::Result<String> {
    tenant.ask(more).await?;
    let name = tenant.composite().await?;
    tenant.until_phase("Ready").await?;
    delivered(tenant).await?;
    Ok(name)
}

/// Waits until the tenant's Secret has a kubeconfig, and uses it if the cluster has an API server. The data of the Secret.
pub async fn delivered(tenant: &Tenant<'_>) -> anyhow::Result<BTreeMap<String, String>> {
    if !tenant.engine.cluster_api().await?.is_real() {
        let name = tenant.composite().await?;
        return tenant.until_secret(SOON, &kubeconfig(&name, &token(&name))).await;
    }
    let filled = |secret: &Value| decoded(secret).get("kubeconfig").is_some_and(|text| !text.is_empty());
    let secret = tenant.konflux().until_is(&tenant.secret(), SOON, "with a kubeconfig", filled).await?;
    let data = decoded(&secret);
    let client = connect(data.get("kubeconfig").context("no kubeconfig")?).await?;
    let nodes = Cluster::new("the delivered cluster", client).list(NODE).await;
    let nodes = nodes.context("the delivered kubeconfig does not work")?;
    ensure!(!nodes.is_empty(), "the delivered cluster has no nodes");
    Ok(data)
}

pub async fn cluster_api_happy_path(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let player = tenant.engine.fake_cluster_api().await?;
    tenant.ask(&json!({})).await?;
    let name = tenant.composite().await?;
    player.hold(&name);
    // That says less than it seems to: nothing answers yet.
    let provisioned = |cluster: &Value| cluster["status"]["phase"] == "Provisioned";
    hub.until_is(&topology(&name), SOON, "Provisioned", provisioned).await?;
    tenant.until_condition("InfrastructureReady", "True", "Available").await?;
    tenant.until_condition("CredentialsPublished", "False", "NotRunning").await?;
    tenant.until_phase("Provisioning").await?;
    ensure!(hub.get(&published(&name)).await?.is_none(), "published before its API server answers");
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
    ensure!(tenant.remotes_made() == 1, "a second Cluster was asked for");
    Ok(())
}

/// Its parts go one after the other, and the claim says which of them is waited for. It is over when the last is gone.
pub async fn cluster_api_torn_down(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let name = got(tenant, &json!({})).await?;
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let player = tenant.engine.fake_cluster_api().await?;
    let objects = [tenant.object("managed").await?, tenant.object("credentials").await?];
    let composite = tenant.composite_at().await?;
    player.hold_end(&name, 0);
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    let released = |c: Option<&Value>| c.is_some_and(|c| c["metadata"]["deletionTimestamp"].is_string());
    hub.until(&topology(&name), GONE, "being deleted", released).await?;
    // The credentials go before the cluster does.
    hub.until_gone(&published(&name), SOON).await?;
    for (part, (step, _)) in ENDING.iter().enumerate() {
        player.hold_end(&name, part);
        let waits = |claim: &Value| {
            claim["status"]["phase"] == "Deprovisioning"
                && text(claim, "/status/progress/step") == *step
                && has(claim, "TearDownComplete", "False", "InProgress")
                && has(claim, "ProwJobCompleted", "False", "TearingDown")
        };
        tenant.until(GONE, step, waits).await?;
        ensure!(hub.get(&topology(&name)).await?.is_some(), "it went before its parts");
    }
    player.let_go(&name);
    tenant.until(GONE, "over", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    tenant.until_condition("TearDownComplete", "True", "TornDown").await?;
    tenant.until_condition("ProwJobCompleted", "True", "TornDown").await?;
    tenant.until_condition("ClusterReady", "False", "Deprovisioned").await?;
    tenant.until_secret(SOON, "").await?;
    nothing_left(tenant, &name).await?;
    ensure!(tenant.remotes_made() == 1, "a second Cluster was asked for");
    konflux.delete(&tenant.claim()).await?;
    konflux.until_gone(&tenant.claim(), SOON).await?;
    konflux.until_gone(&composite, GONE).await?;
    for object in objects {
        konflux.until_gone(&object, GONE).await?;
    }
    Ok(())
}

/// Cluster API calls nothing final. What only somebody who changes something would heal is taken for that once it has lasted; what others
/// may free is waited for, however long it lasts. The API before this one had a word for what is final, which counts at once.
pub async fn cluster_api_refused(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let player = tenant.engine.fake_cluster_api().await?;
    let waits = tenant.another("waits").await?;
    player.block(&waits.namespace, "Quota exceeded for cores: requested 4, but already used 20 of 20");
    player.block(&tenant.namespace, "flavor m1.huge could not be found; password=hunter2");
    waits.ask(&json!({})).await?;
    waits.until_condition("InfrastructureReady", "False", "QuotaExceeded").await?;
    tenant.ask(&json!({})).await?;
    let told = |claim: &Value| text(claim, "/status/lastError/message").contains("m1.huge");
    let claim = tenant.until(SOON, "with its error", told).await?;
    ensure!(claim["status"]["phase"] == "Provisioning", "it may heal: {}", claim["status"]);
    ensure!(claim["status"]["lastError"]["terminal"] == true, "{}", claim["status"]["lastError"]);
    let claim = tenant.until(LASTS, "Failed", |claim| claim["status"]["phase"] == "Failed").await?;
    ensure!(text(&claim, "/status/message").contains("m1.huge"), "{}", claim["status"]);
    ensure!(!claim["status"].to_string().contains("hunter2"), "a secret is in {}", claim["status"]);

    // It has lasted longer, and nobody took it for final.
    waits.nudge("older").await?;
    let claim = waits.until_phase("Provisioning").await?;
    let error = &claim["status"]["lastError"];
    ensure!(error["reason"] == "QuotaExceeded" && error["terminal"] == false, "{error}");
    ensure!(!waits.phases().iter().any(|phase| phase == "Failed"), "{:?}", waits.phases());
    player.give_up(&waits.namespace, "the project of the cloud is gone");
    let claim = waits.until(SOON, "given up", |claim| claim["status"]["phase"] == "Failed").await?;
    let error = &claim["status"]["lastError"];
    ensure!(error["reason"] == "CreateError" && error["terminal"] == true, "{error}");
    ensure!(text(&claim, "/status/message").contains("the project of the cloud is gone"), "{claim}");
    for claim in [tenant, &waits] {
        claim.until_condition("ClusterReady", "False", "Failed").await?;
        claim.until(GONE, "over", |claim| has(claim, "ProwJobCompleted", "True", "")).await?;
        nothing_left(claim, &claim.composite().await?).await?;
        let secret = claim.konflux().get(&claim.secret()).await?;
        let empty = secret.is_none_or(|secret| decoded(&secret).values().all(String::is_empty));
        ensure!(empty, "there are credentials");
        ensure!(claim.remotes_made() == 1, "a second Cluster was asked for");
    }
    Ok(())
}

pub async fn cluster_api_hub_away(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let wired = Wired::got(tenant).await?;
    let name = tenant.composite().await?;
    let grown = json!({ "nodeGroups": [{ "name": "default-worker", "class": "default", "count": 3 }] });
    let arrived = |claim: &Value| claim["status"]["nodes"]["ready"] == 3;
    wired.away(&kubeconfig(&name, &token(&name)), &grown, arrived).await
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
    together.verdict().await.context("version and image are not of one release")?;
    served.verdict().await?;
    ensure!(
        decoded(&tenant.konflux().get(&tenant.secret()).await?.context("no Secret")?)
            .contains_key("kubeconfig")
    );
    Ok(())
}
