//! Lifetime, and memory.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, has},
    hub,
    patience::longer,
    promise,
    tenant::{KUBECONFIG, Tenant},
};

/// From the end of a lifetime to the hub.
const WAY: Duration = Duration::from_secs(20);

pub async fn lifetime_reached(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({ "lifetime": "1m" })).await?;
    let claim = tenant.until(SOON, "with an end", |claim| claim["status"]["expiresAt"].is_string()).await?;
    ensure!(claim["status"]["readyAt"].is_string(), "{claim}");
    let begun = Instant::now();
    controller.until_told_to_end(SOON).await?;
    promise::due(begun, Duration::from_mins(1), WAY)?;
    let claim = tenant.until_phase("Deprovisioning").await?;
    ensure!(claim["spec"]["tearDownCluster"].is_null(), "the claim was changed: {claim}");
    controller.deprovision().await?;
    controller.deprovisioned().await?;
    tenant.until_phase("Deprovisioned").await?;
    tenant.until_secret(SOON, "").await.map(|_| ())
}

pub async fn lifetime_extended(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let credential = hub::issue(&engine.hub, hub::IDENTITY, "extended").await?;
    tenant.own("extended", &credential, &json!({ "maxima": { "lifetime": "4h" } })).await?;
    let lifetime = format!("{}s", longer(Duration::from_mins(1)).as_secs());
    let ours = json!({ "lifetime": lifetime, "compositionRef": { "name": "extended" } });
    let controller = tenant.ask_and_get(&ours).await?;
    let claim = tenant.until(SOON, "with an end", |claim| claim["status"]["expiresAt"].is_string()).await?;
    let first = claim["status"]["expiresAt"].clone();
    tenant.change(&json!({ "lifetime": "1h" })).await?;
    let later = |claim: &Value| claim["status"]["expiresAt"].as_str() > first.as_str();
    tenant.until(SOON, "with a later end", later).await?;
    let told =
        |ec: &Value| ec["metadata"]["annotations"]["testplatform.ci.openshift.org/lifetime"] == "1h0m0s";
    tenant.engine.hub.cluster().until_is(&controller.at(), SOON, "told of the longer lifetime", told).await?;
    Ok(())
}

/// Its Object is gone, and what it carried is not: the one that is made anew looks, and not only in the round in which
/// provider-kubernetes sets its finalizer and forgets what it saw.
pub async fn writer_lost(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    let before = controller.get().await?.context("no EphemeralCluster")?;
    lose_writer(tenant, &before).await?;
    ensure!(!tenant.phases().contains(&"Failed".to_owned()), "{:?}", tenant.phases());
    let after = controller.get().await?.context("it is gone")?;
    ensure!(after["metadata"]["uid"] == before["metadata"]["uid"], "it was replaced");
    Ok(())
}

/// Its writer is lost, and is back when it has found the remote object as it was before. Meanwhile nobody looks: a pass in between would put
/// the finalizers back that hold it for its nodes, and see it on its way out, which is how a cluster is ended.
pub async fn lose_writer(tenant: &Tenant<'_>, before: &Value) -> anyhow::Result<()> {
    let (konflux, writer) = (tenant.konflux(), tenant.writer().await?);
    let composite = tenant.composite_at().await?;
    let lost = konflux.get(&writer).await?.context("no Object")?;
    let pause =
        |paused: Option<&str>| json!({ "metadata": { "annotations": { "crossplane.io/paused": paused } } });
    let rests = |object: &Value| has(object, "Synced", "False", "ReconcilePaused");
    for at in [&composite, &writer] {
        konflux.merge(at, &pause(Some("true"))).await?;
        konflux.until_is(at, SOON, "paused", rests).await?;
    }
    konflux.merge(&writer, &json!({ "metadata": { "finalizers": null } })).await?;
    konflux.delete(&writer).await?;
    konflux.until_gone(&writer, SOON).await?;
    konflux.merge(&composite, &pause(None)).await?;
    let found = |object: &Value| {
        object["metadata"]["uid"] != lost["metadata"]["uid"]
            && object["spec"]["managementPolicies"] == json!(["*"])
            && object["status"]["atProvider"]["manifest"]["metadata"]["uid"] == before["metadata"]["uid"]
    };
    tenant.konflux().until_is(&writer, 2 * SOON, "found again", found).await?;
    tenant.until_phase("Ready").await.map(|_| ())
}

/// As after a restore: spec and objects are there, status is not.
pub async fn status_dropped(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    let before = controller.get().await?.context("no EphemeralCluster")?;
    let composite = tenant.composite_at().await?;
    let claim = tenant.konflux().get(&tenant.claim()).await?.context("no claim")?;
    let started = claim["status"]["startedAt"].clone();
    tenant.konflux().merge_status(&tenant.claim(), &Value::Null).await?;
    tenant.konflux().merge_status(&composite, &Value::Null).await?;
    tenant.nudge("after a restore").await?;
    let whole = |claim: &Value| claim["status"]["phase"] == "Ready" && has(claim, "ClusterReady", "True", "");
    let claim = tenant.until(SOON, "as before", whole).await?;
    ensure!(claim["status"]["startedAt"] == started, "{claim}");
    ensure!(claim["status"]["backend"]["uid"] == before["metadata"]["uid"], "{claim}");
    tenant.until_secret(SOON, KUBECONFIG).await?;
    let after = controller.get().await?.context("it is gone")?;
    ensure!(after["metadata"]["uid"] == before["metadata"]["uid"], "it was replaced");
    Ok(())
}
