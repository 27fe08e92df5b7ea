//! The end, asked for by deleting the claim.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Controller,
    cluster::{At, SOON},
    tenant::Tenant,
};

use super::cut_off;

/// provider-kubernetes makes sure of an end on its next look, which may take half a minute.
const GONE: Duration = Duration::from_secs(75);

/// The hub never heard of it, and does not when it can be reached again.
pub async fn claim_deleted_before_the_hub_is_asked(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    cut_off::ask(tenant).await?;
    let left = left(tenant).await?;
    tenant.konflux().delete(&tenant.claim()).await?;
    tenant.konflux().until_gone(&tenant.claim(), SOON).await?;
    // The Object is deleted after the claim is gone, and until then it is as good as any.
    let deleted =
        |writer: Option<&Value>| writer.is_none_or(|w| w["metadata"]["deletionTimestamp"].is_string());
    tenant.konflux().until(&left[1], SOON, "deleted", deleted).await?;
    cut_off::connect(tenant).await?;
    for at in left {
        tenant.konflux().until_gone(&at, cut_off::BACK).await?;
    }
    ensure!(tenant.remotes_made() == 0, "a cluster was asked for all the same");
    Ok(())
}

pub async fn claim_deleted_when_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    ended(tenant, &controller).await
}

pub async fn claim_deleted_when_deprovisioned(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    controller.until_told_to_end(SOON).await?;
    controller.deprovisioned().await?;
    tenant.until_phase("Deprovisioned").await?;
    tenant.until_secret(SOON, "").await?;
    ended(tenant, &controller).await
}

/// Deletes the claim, lets the hub's controller finish, and waits until nothing is left.
async fn ended(tenant: &Tenant<'_>, controller: &Controller) -> anyhow::Result<()> {
    let left = left(tenant).await?;
    tenant.konflux().delete(&tenant.claim()).await?;
    // One whose job has ended goes at once.
    let deleted = |ec: Option<&Value>| ec.is_none_or(|ec| ec["metadata"]["deletionTimestamp"].is_string());
    tenant.engine.hub.cluster().until(&controller.at(), SOON, "deleted", deleted).await?;
    controller.deprovisioned().await?;
    controller.release().await?;
    nothing(tenant, controller, &left).await
}

/// Objects of the claim, without the claim itself.
async fn left(tenant: &Tenant<'_>) -> anyhow::Result<[At; 3]> {
    Ok([tenant.composite_at().await?, tenant.object("managed").await?, tenant.object("credentials").await?])
}

async fn nothing(tenant: &Tenant<'_>, controller: &Controller, left: &[At]) -> anyhow::Result<()> {
    tenant.engine.hub.cluster().until_gone(&controller.at(), GONE).await?;
    for at in left.iter().chain([&tenant.claim(), &tenant.secret()]) {
        tenant.konflux().until_gone(at, GONE).await?;
    }
    Ok(())
}
