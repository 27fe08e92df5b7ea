//! The hub's object goes another way than ours.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, has},
    tenant::Tenant,
};

/// For 30 s after it made an object provider-kubernetes takes its absence for slowness, and it looks at growing distances.
const BELIEVED: Duration = Duration::from_secs(90);

pub async fn deleted_behind_our_back(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    controller.release().await?;
    tenant.engine.hub.cluster().delete(&controller.at()).await?;
    tenant.until(BELIEVED, "Failed", |claim| claim["status"]["phase"] == "Failed").await?;
    tenant.until_condition("RemoteConsistent", "False", "RemoteDeleted").await?;
    tenant.until_condition("ProwJobCompleted", "True", "").await?;
    // What was paid for once is not asked for again.
    tenant.nudge("once more").await?;
    ensure!(controller.get().await?.is_none(), "it was made again");
    Ok(())
}

pub async fn replaced_behind_our_back(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    let hub = tenant.engine.hub.cluster();
    let mut other = controller.until_asked(SOON).await?;
    let ours = other["metadata"]["uid"].clone();
    other["metadata"] =
        json!({ "name": other["metadata"]["name"], "namespace": other["metadata"]["namespace"] });
    controller.release().await?;
    hub.delete(&controller.at()).await?;
    // provider-kubernetes may look in between; either way it must not be ours again.
    hub.until_gone(&controller.at(), SOON).await?;
    hub.create(&other).await?;
    tenant.until_phase("Failed").await?;
    let told = |claim: &Value| {
        ["RemoteReplaced", "RemoteDeleted"]
            .iter()
            .any(|reason| has(claim, "RemoteConsistent", "False", reason))
    };
    let claim = tenant.until(SOON, "told what happened", told).await?;
    tenant.konflux().delete(&tenant.claim()).await?;
    tenant.konflux().until_gone(&tenant.writer_at(&claim), SOON).await?;
    let stays = hub.until_is(&controller.at(), SOON, "there", |_| true).await?;
    ensure!(stays["metadata"]["uid"] != ours && stays["metadata"]["deletionTimestamp"].is_null(), "{stays}");
    Ok(())
}
