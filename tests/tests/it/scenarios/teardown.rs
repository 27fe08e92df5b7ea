//! The end, asked for by `tearDownCluster`.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, has},
    tenant::Tenant,
};

use super::cut_off;

pub async fn teardown_before_anything_exists(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.ask(&json!({ "tearDownCluster": true })).await?;
    tenant.until_phase("Deprovisioned").await?;
    tenant.until_condition("ProwJobCompleted", "True", "NothingToTearDown").await?;
    ensure!(tenant.remotes_made() == 0, "a cluster was asked for all the same");
    Ok(())
}

/// The Object is there, and the hub never heard of it: nor does it later.
pub async fn teardown_before_the_hub_is_asked(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    cut_off::ask(tenant).await?;
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    tenant.until_phase("Deprovisioned").await?;
    tenant.until_condition("ProwJobCompleted", "True", "NothingToTearDown").await?;
    cut_off::connect(tenant).await?;
    let looked = |writer: &Value| has(writer, "Synced", "True", "");
    tenant.konflux().until_is(&tenant.writer().await?, cut_off::BACK, "looked for", looked).await?;
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

pub async fn teardown_when_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    let claim = tenant.until_phase("Deprovisioning").await?;
    ensure!(!has(&claim, "ProwJobCompleted", "True", ""), "over before the hub said so: {claim}");
    controller.until_told_to_end(SOON).await?;
    controller.deprovisioned().await?;
    tenant.until_phase("Deprovisioned").await?;
    tenant.until_secret(SOON, "").await.map(|_| ())
}

/// Nothing is left of it, so there is nothing to tear down.
pub async fn teardown_after_the_job_failed(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    controller.fail().await?;
    tenant.until_phase("Failed").await?;
    // Core writes the phase first and the conditions after it.
    tenant.until_condition("ProwJobCompleted", "True", "ProwJobFailure").await?;
    tenant.change_and_pass(&json!({ "tearDownCluster": true })).await?;
    // core may for a moment copy an older state to the claim than before: the composite is decisive.
    let composite = tenant.konflux().get(&tenant.composite_at().await?).await?.context("no composite")?;
    ensure!(has(&composite, "ProwJobCompleted", "True", "ProwJobFailure"), "{composite}");
    tenant.until_phase("Failed").await?;
    tenant.until_condition("ProwJobCompleted", "True", "ProwJobFailure").await.map(|_| ())
}
