//! The job ends badly.

use anyhow::ensure;
use serde_json::json;
use testplatform_tests::{cluster::SOON, tenant::Tenant};

pub async fn job_fails_before_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    controller.fail().await?;
    tenant.until_phase("Failed").await?;
    tenant.until_condition("ProwJobCompleted", "True", "ProwJobFailure").await?;
    tenant.until_condition("ClusterReady", "False", "Failed").await?;
    Ok(())
}

/// The owner is told, and holds no credentials of a cluster that is not there.
pub async fn job_fails_after_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    controller.fail().await?;
    tenant.until_phase("Failed").await?;
    // The provider tells apart what upstream does not.
    tenant.until_condition("ProwJobCompleted", "True", "EndedWithoutSignal").await?;
    tenant.until_condition("ClusterReady", "False", "Failed").await?;
    tenant.until_condition("CredentialsPublished", "False", "").await?;
    let emptied = tenant.until_secret(SOON, "").await?;
    ensure!(emptied.get("kubeAdminPassword").is_some_and(String::is_empty), "the password is still there");
    Ok(())
}
