//! The life of clusters by Cluster API, on the real controllers or on their fake: nothing here holds them at a step.

use anyhow::{Context as _, ensure};
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Fulfilled,
    cluster::{SOON, at},
    cluster_api::topology,
    hive::objects::{kubeconfig, text, token},
    hypershift::CLUSTERS,
    kinds::{KUBEADM_CONTROL_PLANE, SECRET},
    prow::encoded,
    tenant::{Tenant, decoded},
    witness::Witness,
};

use super::{
    cluster_api::{delivered, got, nothing_left, published},
    hive::GONE,
    hypershift::stays_ready,
};

/// Whether the claim's status says nothing that cannot be true yet. Of fields alone: core writes them before the conditions.
fn is_honest(claim: &Value) -> bool {
    let status = &claim["status"];
    let (nodes, step) = (&status["nodes"], text(claim, "/status/progress/step"));
    let begins = ["Pending", "Provisioning"].contains(&text(claim, "/status/phase"));
    let (ready, desired) = (nodes["ready"].as_i64(), nodes["desired"].as_i64());
    let has_version = !status["version"].is_null();
    let before_its_api = ["", "Requested", "Infrastructure"].contains(&step);
    let too_early = begins && ((has_version && before_its_api) || (step == "Running" && ready != desired));
    let is_healthy = status["phase"] != "Ready" || status["lastError"].is_null();
    !too_early && is_healthy && (desired.is_none() || ready <= desired)
}

/// Watches the claim from before it exists.
async fn watch_claim(tenant: &Tenant<'_>) -> anyhow::Result<Witness> {
    Witness::of(tenant.konflux(), &tenant.claim(), |claim| claim.is_none_or(is_honest)).await
}

/// From the claim to a cluster that works, and back.
pub async fn cluster_api_life(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let honest = watch_claim(tenant).await?;
    tenant.ask(&json!({})).await?;
    let name = tenant.composite().await?;
    tenant.until_phase("Provisioning").await?;
    tenant.until_phase("Ready").await?;
    let data = delivered(tenant).await?;
    ensure!(data.get("kubeAdminPassword").is_some_and(String::is_empty), "there is no password");
    for (type_, reason) in [
        ("ClusterReady", "Ready"),
        ("InfrastructureReady", "Available"),
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
    ensure!(text(&claim, "/status/apiServerURL").starts_with("https://"), "{status}");

    tenant.change(&json!({ "tearDownCluster": true })).await?;
    tenant.until(GONE, "over", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    tenant.until_condition("TearDownComplete", "True", "TornDown").await?;
    tenant.until_secret(SOON, "").await?;
    nothing_left(tenant, &name).await?;
    ensure!(tenant.remotes_made() == 1, "a second Cluster was asked for");
    honest.verdict().await
}

/// Another kubeconfig on the hub reaches the tenant, and the claim is Ready all the time.
pub async fn cluster_api_kubeconfig_renewed(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let name = got(tenant, &json!({})).await?;
    let hub = tenant.engine.hub.cluster();
    let before = delivered(tenant).await?;
    let ready = stays_ready(tenant).await?;
    let own = at(SECRET, CLUSTERS, &format!("{name}-kubeconfig"));
    if tenant.engine.cluster_api().await?.is_real() {
        hub.delete(&own).await?;
        // Its controller does not watch the Secret, and would make it again within ten minutes.
        let cluster = hub.get(&topology(&name)).await?.context("no Cluster")?;
        let control_plane = at(KUBEADM_CONTROL_PLANE, CLUSTERS, text(&cluster, "/spec/controlPlaneRef/name"));
        hub.merge(&control_plane, &json!({ "metadata": { "annotations": { "testbed/nudge": "1" } } }))
            .await?;
    } else {
        let other = encoded(&kubeconfig(&name, &token("another")));
        hub.merge(&own, &json!({ "data": { "value": other } })).await?;
    }
    let old = before.get("kubeconfig").cloned();
    let other = |secret: &Value| {
        decoded(secret).get("kubeconfig").is_some_and(|new| !new.is_empty() && Some(new) != old.as_ref())
    };
    tenant.konflux().until_is(&tenant.secret(), SOON, "with another kubeconfig", other).await?;
    if tenant.engine.cluster_api().await?.is_real() {
        delivered(tenant).await?;
    }
    ready.verdict().await
}

/// Claims that are deleted while their clusters are being made, or are ready: each cluster ends, and nothing of it stays.
pub async fn cluster_api_deleted_at_each_phase(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let phases = ["asked", "infrastructure", "control-plane", "ready"];
    let ends = phases.into_iter().map(async |phase| {
        let one = tenant.another(phase).await?;
        one.ask(&json!({})).await?;
        let name = one.composite().await?;
        let hub = tenant.engine.hub.cluster();
        match phase {
            "asked" => hub.until_is(&topology(&name), SOON, "asked for", |_| true).await.map(|_| ())?,
            "infrastructure" => one.until_condition("InfrastructureReady", "True", "").await.map(|_| ())?,
            "control-plane" => one.until_condition("ControlPlaneAvailable", "True", "").await.map(|_| ())?,
            _ => one.until_phase("Ready").await.map(|_| ())?,
        }
        one.konflux().delete(&one.claim()).await?;
        one.konflux()
            .until_gone(&one.claim(), GONE)
            .await
            .with_context(|| format!("deleted when {phase}"))?;
        nothing_left(&one, &name).await.with_context(|| format!("deleted when {phase}"))?;
        ensure!(one.remotes_made() == 1, "deleted when {phase}: a second Cluster was asked for");
        anyhow::Ok(())
    });
    try_join_all(ends).await.map(|_| ())
}

/// Somebody deletes the Cluster of a claim that is ready: the claim has failed, and no other Cluster takes its place.
pub async fn cluster_api_deleted_behind_our_back(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let name = got(tenant, &json!({})).await?;
    tenant.engine.hub.cluster().delete(&topology(&name)).await?;
    tenant.until(GONE, "Failed", |claim| claim["status"]["phase"] == "Failed").await?;
    tenant.until_condition("RemoteConsistent", "False", "RemoteDeleted").await?;
    let emptied = |secret: &Value| decoded(secret).get("kubeconfig").is_some_and(String::is_empty);
    tenant.konflux().until_is(&tenant.secret(), GONE, "emptied", emptied).await?;
    tenant.nudge("lost").await?;
    nothing_left(tenant, &name).await?;
    ensure!(tenant.remotes_made() == 1, "a second Cluster was asked for");
    Ok(())
}

/// Two claims of one tenant at the same time have each a cluster of its own.
pub async fn cluster_api_two_claims(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let other = tenant.also("other", Fulfilled::ByClusterApi).await?;
    let both = [tenant, &other].map(async |one| {
        let name = got(one, &json!({})).await?;
        let kubeconfig = delivered(one).await?.get("kubeconfig").cloned();
        anyhow::Ok((name, kubeconfig))
    });
    let both = try_join_all(both).await?;
    ensure!(both[0].0 != both[1].0, "one Cluster for two claims");
    ensure!(both[0].1 != both[1].1, "one kubeconfig for two clusters");
    for (one, (name, _)) in [tenant, &other].into_iter().zip(&both) {
        one.konflux().delete(&one.claim()).await?;
        one.konflux().until_gone(&one.claim(), GONE).await?;
        nothing_left(one, name).await?;
    }
    let left = tenant.engine.hub.cluster().get(&published(&both[0].0)).await?;
    ensure!(left.is_none(), "its credentials are left");
    Ok(())
}
