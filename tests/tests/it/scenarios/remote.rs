//! The hub's object goes another way than ours.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Controller,
    cluster::{SOON, has},
    tenant::{KUBECONFIG, PASSWORD, Tenant},
};

/// For 30 s after it made an object provider-kubernetes takes its absence for slowness, and it looks at growing distances.
const BELIEVED: Duration = Duration::from_secs(90);

/// Nobody had begun to work on it: it is asked for once more, and that one lives as any other.
pub async fn deleted_before_it_is_bound(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    let first = pinned(tenant).await?;
    vanish(tenant, &controller).await?;
    let again = |ec: &Value| ec["metadata"]["uid"] != first;
    tenant.engine.hub.cluster().until_is(&controller.at(), BELIEVED, "asked for again", again).await?;
    tenant.until(SOON, "the second try", |claim| claim["status"]["backend"]["attempt"] == 2).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    tenant.until_phase("Ready").await?;
    tenant.until_secret(SOON, KUBECONFIG).await?;
    ensure!(tenant.remotes_made() == 2, "{} remote objects", tenant.remotes_made());
    Ok(())
}

/// A cluster that was paid for once is not asked for again.
pub async fn deleted_behind_our_back(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    vanish(tenant, &controller).await?;
    tenant.until(BELIEVED, "Failed", |claim| claim["status"]["phase"] == "Failed").await?;
    tenant.until_condition("RemoteConsistent", "False", "RemoteDeleted").await?;
    tenant.until_condition("ClusterReady", "False", "Failed").await?;
    tenant.until_condition("ProwJobCompleted", "True", "").await?;
    // Once provider-kubernetes may only look, it says so by being content with what is not there.
    let content = |writer: &Value| {
        writer["spec"]["managementPolicies"] == json!(["Observe", "Delete"])
            && has(writer, "Synced", "True", "")
    };
    tenant.konflux().until_is(&tenant.writer().await?, BELIEVED, "content", content).await?;
    ensure!(controller.get().await?.is_none(), "it was made again");
    // It opens nothing any more.
    tenant.until_secret(SOON, "").await.map(|_| ())
}

/// The uid in the writer's manifest.
fn pin(writer: &Value) -> &Value {
    &writer["spec"]["forProvider"]["manifest"]["metadata"]["uid"]
}

/// Waits until the writer names the remote object's uid, and returns it.
async fn pinned(tenant: &Tenant<'_>) -> anyhow::Result<Value> {
    let writer = tenant.writer().await?;
    let writer = tenant.konflux().until_is(&writer, SOON, "pinned", |w| pin(w).is_string()).await?;
    Ok(pin(&writer).clone())
}

/// Somebody on the hub deletes it.
async fn vanish(tenant: &Tenant<'_>, controller: &Controller) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let gone = controller.until_asked(SOON).await?["metadata"]["uid"].clone();
    hub.delete(&controller.at()).await?;
    controller.release().await?;
    let is_gone = |ec: Option<&Value>| ec.is_none_or(|ec| ec["metadata"]["uid"] != gone);
    hub.until(&controller.at(), SOON, "gone", is_gone).await.map(|_| ())
}

/// Somebody on the hub deletes it and makes another one of its name. That one is not ours: it is neither written to nor
/// deleted.
pub async fn replaced_behind_our_back(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    let (konflux, hub) = (tenant.konflux(), tenant.engine.hub.cluster());
    let writer = tenant.writer().await?;
    let mut other = controller.until_asked(SOON).await?;
    other["metadata"] =
        json!({ "name": other["metadata"]["name"], "namespace": other["metadata"]["namespace"] });
    other["spec"]["tearDownCluster"] = false.into();

    // It does not look in between: then it was deleted first, which is another story.
    let pause = |paused: Value| json!({ "metadata": { "annotations": { "crossplane.io/paused": paused } } });
    konflux.merge(&writer, &pause("true".into())).await?;
    let paused = |writer: &Value| has(writer, "Synced", "False", "ReconcilePaused");
    konflux.until_is(&writer, SOON, "paused", paused).await?;
    vanish(tenant, &controller).await?;
    let other = hub.create(&other).await?;
    konflux.merge(&writer, &pause(Value::Null)).await?;

    tenant.until_phase("Failed").await?;
    tenant.until_condition("RemoteConsistent", "False", "RemoteReplaced").await?;
    tenant.until_condition("ClusterReady", "False", "Failed").await?;
    let hands_off = |writer: &Value| writer["spec"]["managementPolicies"] == json!(["Observe"]);
    konflux.until_is(&writer, SOON, "only watching", hands_off).await?;
    konflux.delete(&tenant.claim()).await?;
    konflux.until_gone(&writer, SOON).await?;
    let stays = hub.get(&controller.at()).await?.context("the other one was deleted")?;
    ensure!(stays["metadata"] == other["metadata"], "the other one was touched: {stays}");
    ensure!(stays["spec"] == other["spec"], "the other one was changed: {stays}");
    Ok(())
}
