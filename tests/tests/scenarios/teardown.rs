//! The end, asked for in every way and at every time.

use anyhow::ensure;
use serde_json::json;
use testplatform_tests::{cluster::SOON, tenant::Tenant};

pub async fn teardown_before_anything_exists(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.ask(&json!({ "tearDownCluster": true })).await?;
    tenant.until_phase("Deprovisioned").await?;
    tenant.until_condition("ProwJobCompleted", "True", "NothingToTearDown").await?;
    ensure!(tenant.remotes_made() == 0, "a cluster was asked for all the same");
    Ok(())
}

pub async fn teardown_while_provisioning(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    controller.until_told_to_end(SOON).await?;
    tenant.until_phase("Deprovisioning").await?;
    // There is no way back.
    tenant.change(&json!({ "tearDownCluster": false })).await?;
    controller.deprovision().await?;
    controller.deprovisioned().await?;
    tenant.until_phase("Deprovisioned").await?;
    tenant.until_condition("ClusterReady", "False", "Deprovisioned").await?;
    tenant.until_condition("ProwJobCompleted", "True", "").await?;
    Ok(())
}

pub async fn claim_deleted_while_provisioning(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    tenant.konflux().delete(&tenant.claim()).await?;
    controller.until_told_to_end(SOON).await?;
    controller.deprovisioned().await?;
    controller.release().await?;
    tenant.engine.hub.cluster().until_gone(&controller.at(), SOON).await
}

pub async fn claim_deleted_when_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    tenant.konflux().delete(&tenant.claim()).await?;
    controller.until_told_to_end(SOON).await?;
    controller.deprovisioned().await?;
    controller.release().await?;
    tenant.engine.hub.cluster().until_gone(&controller.at(), SOON).await?;
    tenant.konflux().until_gone(&tenant.secret(), SOON).await
}

pub async fn job_fails_before_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    controller.fail().await?;
    tenant.until_phase("Failed").await?;
    tenant.until_condition("ProwJobCompleted", "True", "").await?;
    tenant.until_condition("ClusterReady", "False", "Failed").await?;
    Ok(())
}
