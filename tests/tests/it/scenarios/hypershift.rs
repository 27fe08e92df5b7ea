//! Clusters by a template that HyperShift makes: the claim becomes a HostedCluster with NodePools on a hub that is chosen once, and
//! the kubeconfig comes back.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, condition, has},
    hive::objects::text,
    hypershift::{hosted::Hosted, node_pools, objects::PASSWORD},
    promise,
    tenant::{Tenant, decoded},
    witness::Witness,
};

use super::hive::GONE;

/// From the moment in which everything is there to the Secret in the tenant's namespace.
const PROMISED: Duration = Duration::from_secs(3);
/// How long the destruction of a cluster lasts that is held.
const DESTROYING: Duration = Duration::from_secs(5);

/// The hand on the HostedCluster, once it was asked for.
async fn asked(tenant: &Tenant<'_>, more: &Value) -> anyhow::Result<Hosted> {
    tenant.ask(more).await?;
    let hosted = Hosted::new(tenant.engine.hub.cluster(), &tenant.composite().await?);
    hosted.until_asked(SOON).await?;
    Ok(hosted)
}

/// As [`asked`], then through to Ready.
async fn got(tenant: &Tenant<'_>, more: &Value) -> anyhow::Result<Hosted> {
    let hosted = asked(tenant, more).await?;
    tenant.until_phase("Ready").await?;
    tenant.until_secret(SOON, &hosted.kubeconfig()).await?;
    Ok(hosted)
}

/// Begins to watch whether the claim stays Ready. Core restates conditions now and then; what becomes of those, the recorder sees.
pub async fn stays_ready(tenant: &Tenant<'_>) -> anyhow::Result<Witness> {
    let ready = |claim: Option<&Value>| claim.is_some_and(|claim| claim["status"]["phase"] == "Ready");
    Witness::of(tenant.konflux(), &tenant.claim(), ready).await
}

pub async fn hypershift_happy_path(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let hypershift = tenant.hypershift().await?;
    let begun = Instant::now();
    tenant.ask(&json!({})).await?;
    let hosted = Hosted::new(hub, &tenant.composite().await?);
    hypershift.hold(hosted.name());
    hosted.until_asked(SOON).await?;
    let there = begun.elapsed();
    let named = |cluster: &Value| cluster["status"]["kubeconfig"]["name"].is_string();
    hub.until_is(&hosted.at(), SOON, "with its Secrets named", named).await?;
    tenant.until_condition("CredentialsPublished", "False", "NotRunning").await?;
    ensure!(hub.get(&hosted.published()).await?.is_none(), "published before its API server answers");
    hypershift.let_go(hosted.name());
    let served = async {
        hosted.until_available(SOON).await?;
        let up = |pool: &Value| pool["status"]["replicas"] == 2;
        hub.until_is(&hosted.pool("workers"), SOON, "with its nodes", up).await?;
        let installed = |cluster: &Value| cluster["status"]["version"]["history"][0]["state"] == "Completed";
        hub.until_is(&hosted.at(), SOON, "installed", installed).await?;
        anyhow::Ok(Instant::now())
    };
    let delivered = async {
        let ready = |claim: &Value| has(claim, "ClusterReady", "True", "Ready");
        tenant.until(SOON, "ready", ready).await?;
        anyhow::Ok(Instant::now())
    };
    let (up, came) = tokio::try_join!(served, delivered)?;
    let took = came.saturating_duration_since(up);
    eprintln!("ready {} ms after the last of it was there", took.as_millis());
    promise::kept(PROMISED, there, took)?;
    let secret = decoded(&konflux.get(&tenant.secret()).await?.context("ready, and no Secret")?);
    ensure!(secret.get("kubeconfig") == Some(&hosted.kubeconfig()), "another's kubeconfig");
    ensure!(secret.get("kubeAdminPassword").is_some_and(|p| p == PASSWORD), "the password is missing");

    for (type_, reason) in [
        ("HubSelected", ""),
        ("InfrastructureReady", "Available"),
        ("ControlPlaneAvailable", "Available"),
        ("NodesReady", "AllReady"),
        ("TemplateApplied", "NothingToApply"),
        ("SpecApplied", "UpToDate"),
        ("CredentialsPublished", "Published"),
    ] {
        tenant.until_condition(type_, "True", reason).await?;
    }
    let claim = tenant.until_phase("Ready").await?;
    let status = &claim["status"];
    ensure!(status["version"] == "4.20.3" && status["effective"]["version"] == "4.20.3", "{status}");
    ensure!(status["nodes"]["desired"] == 2 && status["nodes"]["ready"] == 2, "{}", status["nodes"]);
    ensure!(status["hub"]["name"] == "hub-east", "{}", status["hub"]);
    for field in ["apiServerURL", "consoleURL"] {
        ensure!(text(&claim, &format!("/status/{field}")).contains(hosted.name()), "{field}: {status}");
    }

    let cluster = hub.get(&hosted.at()).await?.context("it is gone")?;
    ensure!(cluster["spec"]["infraID"].is_string(), "what HyperShift wrote was taken away: {cluster}");
    Ok(())
}

/// It is over when HyperShift has destroyed the cluster, the nodes first, and not when it was told to.
pub async fn hypershift_torn_down(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hosted = got(tenant, &json!({})).await?;
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let hypershift = tenant.hypershift().await?;
    hypershift.hold(hosted.name());
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    hosted.until_released(GONE).await?;
    tenant.until_phase("Deprovisioning").await?;
    let lasts = |claim: Option<&Value>| claim.is_some_and(|c| c["status"]["phase"] == "Deprovisioning");
    let claim = Witness::of(konflux, &tenant.claim(), lasts).await?;
    tokio::time::sleep(DESTROYING).await;
    claim.verdict().await?;
    drop(claim);
    let pools = node_pools(hub, hosted.name()).await?;
    ensure!(pools.is_empty(), "nodes are left, and the control plane goes: {pools:?}");
    hypershift.let_go(hosted.name());
    over(tenant, &hosted).await?;
    deleted(tenant).await
}

/// Everything goes, the nodes first, and the claim not before the cluster.
pub async fn hypershift_claim_deleted(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hosted = got(tenant, &json!({})).await?;
    tenant.hypershift().await?.hold(hosted.name());
    let (composite, writer) = (tenant.composite_at().await?, tenant.object("managed").await?);
    tenant.konflux().delete(&tenant.claim()).await?;
    hosted.until_released(GONE).await?;
    tokio::time::sleep(DESTROYING).await;
    let writer = tenant.konflux().get(&writer).await?;
    ensure!(writer.is_some(), "the Object went before the cluster that it stands for");
    tenant.hypershift().await?.let_go(hosted.name());
    for at in [&tenant.claim(), &tenant.secret(), &composite] {
        tenant.konflux().until_gone(at, GONE).await?;
    }
    nothing_left(tenant, &hosted).await
}

/// Somebody takes the HostedCluster away: it is over, and there is never a second one.
pub async fn hypershift_deleted_behind_our_back(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hosted = got(tenant, &json!({})).await?;
    hosted.lose().await?;
    tenant.until(GONE, "Failed", |claim| claim["status"]["phase"] == "Failed").await?;
    tenant.until_condition("RemoteConsistent", "False", "RemoteDeleted").await?;
    let emptied = |secret: &Value| decoded(secret).get("kubeconfig").is_some_and(String::is_empty);
    tenant.konflux().until_is(&tenant.secret(), GONE, "emptied", emptied).await?;
    tenant.nudge("lost").await?;
    tokio::time::sleep(DESTROYING).await;
    ensure!(tenant.remotes_made() == 1, "a second cluster was asked for");
    // HyperShift had no time to take its nodes away, so that was left to us, and is begun when it is seen that the cluster is lost.
    hosted.until_no_nodes(GONE).await?;
    nothing_left(tenant, &hosted).await
}

/// A control plane that is out of order for a while is told of, and nothing is withdrawn.
pub async fn hypershift_degraded_and_recovered(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hosted = got(tenant, &json!({})).await?;
    let claim = stays_ready(tenant).await?;
    let hypershift = tenant.hypershift().await?;
    hypershift.behave(|b| {
        b.degraded.insert(hosted.name().to_owned());
    });
    let told = tenant.until_condition("ControlPlaneAvailable", "False", "").await?;
    let words = condition(&told, "ControlPlaneAvailable").map(|c| c["message"].clone()).unwrap_or_default();
    ensure!(words.as_str().is_some_and(|w| !w.is_empty()), "no words: {words}");
    hypershift.behave(|b| {
        b.degraded.remove(hosted.name());
    });
    tenant.until_condition("ControlPlaneAvailable", "True", "Available").await?;
    claim.verdict().await?;
    ensure!(tenant.until_secret(SOON, &hosted.kubeconfig()).await.is_ok(), "the credentials are others");
    Ok(())
}

/// A group grows, another one comes, and goes again with its nodes.
pub async fn hypershift_resized(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hosted =
        got(tenant, &json!({ "nodeGroups": [{ "name": "workers", "class": "small", "count": 1 }] })).await?;
    let hub = tenant.engine.hub.cluster();
    let grown = json!([
        { "name": "workers", "class": "small", "count": 3 },
        { "name": "big", "class": "large", "autoscale": { "min": 1, "max": 3 } },
    ]);
    tenant.change(&json!({ "nodeGroups": grown })).await?;
    let served = |desired: i64, ready: i64| {
        move |claim: &Value| {
            let nodes = &claim["status"]["nodes"];
            nodes["pools"].as_array().is_some_and(|pools| i64::try_from(pools.len()) == Ok(desired))
                && nodes["ready"] == ready
                && has(claim, "SpecApplied", "True", "UpToDate")
        }
    };
    tenant.until(SOON, "grown", served(2, 4)).await?;
    let scales = hub.get(&hosted.pool("big")).await?.context("no NodePool for the other group")?;
    ensure!(
        scales["spec"]["replicas"].is_null() && scales["spec"]["autoScaling"]["max"] == 3,
        "{}",
        scales["spec"]
    );

    tenant.change(&json!({ "nodeGroups": [{ "name": "workers", "class": "small", "count": 2 }] })).await?;
    hub.until_gone(&hosted.pool("big"), GONE).await?;
    tenant.until(GONE, "shrunk", served(1, 2)).await?;
    ensure!(tenant.remotes_made() == 1, "another HostedCluster was asked for");
    Ok(())
}

/// The control plane goes first, the nodes follow.
pub async fn hypershift_upgraded(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let hosted = got(tenant, &json!({ "version": "4.19" })).await?;
    let hub = tenant.engine.hub.cluster();
    let leads = |pool: &Value| text(pool, "/spec/release/image").contains("4.20");
    ensure!(
        !leads(&hub.get(&hosted.pool("workers")).await?.context("no NodePool")?),
        "4.20 was not asked for"
    );
    let claim = stays_ready(tenant).await?;
    tenant.change(&json!({ "version": "4.20" })).await?;
    hub.until_is(&hosted.pool("workers"), SOON, "upgraded", leads).await?;
    let cluster = hub.get(&hosted.at()).await?.context("no HostedCluster")?;
    let newest = &cluster["status"]["version"]["history"][0];
    ensure!(newest["state"] == "Completed" && newest["version"] == "4.20.3", "the nodes lead: {newest}");
    let upgraded = |claim: &Value| {
        claim["status"]["version"] == "4.20.3" && has(claim, "SpecApplied", "True", "UpToDate")
    };
    tenant.until(SOON, "upgraded", upgraded).await?;
    claim.verdict().await?;
    // There is no way back.
    tenant.change(&json!({ "version": "4.19" })).await?;
    tenant.until_condition("SpecApplied", "False", "").await?;
    let cluster = hub.get(&hosted.at()).await?.context("no HostedCluster")?;
    ensure!(
        text(&cluster, "/spec/release/image").contains("4.20"),
        "it was brought back: {}",
        cluster["spec"]
    );
    Ok(())
}

/// It is over as it should be, and everything is gone.
async fn over(tenant: &Tenant<'_>, hosted: &Hosted) -> anyhow::Result<()> {
    let ended = |claim: &Value| claim["status"]["phase"] == "Deprovisioned";
    tenant.until(GONE, "Deprovisioned", ended).await?;
    tenant.until_condition("TearDownComplete", "True", "").await?;
    tenant.until_condition("ProwJobCompleted", "True", "TornDown").await?;
    let emptied = tenant.until_secret(SOON, "").await?;
    ensure!(emptied.get("kubeAdminPassword").is_some_and(String::is_empty), "the password is still there");
    nothing_left(tenant, hosted).await
}

async fn nothing_left(tenant: &Tenant<'_>, hosted: &Hosted) -> anyhow::Result<()> {
    tenant.engine.hub.cluster().until_gone(&hosted.at(), GONE).await?;
    tenant.engine.hub.cluster().until_gone(&hosted.published(), GONE).await?;
    let left = hosted.left().await?;
    ensure!(left.is_empty(), "left on the hub: {left:?}");
    Ok(())
}

async fn deleted(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let composite = tenant.composite_at().await?;
    tenant.konflux().delete(&tenant.claim()).await?;
    tenant.konflux().until_gone(&tenant.claim(), SOON).await?;
    tenant.konflux().until_gone(&composite, GONE).await
}
