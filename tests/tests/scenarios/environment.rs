//! The EnvironmentConfig comes and goes.

use anyhow::{Context as _, ensure};
use serde_json::json;
use testplatform_tests::{
    cluster::{SOON, at_root},
    kinds::ENVIRONMENT_CONFIG,
    manifests,
    tenant::Tenant,
};

/// Nothing of a live cluster is dropped, and a new claim waits.
pub async fn environment_config_deleted_while_live(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    let before = controller.get().await?.context("no EphemeralCluster")?;
    tenant.konflux().delete(&at_root(ENVIRONMENT_CONFIG, "envcfg")).await?;
    tenant.nudge("without").await?;
    let late = Tenant::new(tenant.engine, "environment-late").await?;
    late.ask(&json!({})).await?;
    late.until_condition("RequestAccepted", "False", "EnvironmentConfigMissing").await?;
    late.until_phase("Pending").await?;
    tenant.until_phase("Ready").await?;
    let after = controller.get().await?.context("the EphemeralCluster is gone")?;
    ensure!(after["metadata"]["uid"] == before["metadata"]["uid"], "it was replaced");
    ensure!(after["metadata"]["deletionTimestamp"].is_null(), "it is being deleted");
    ensure!(after["metadata"]["annotations"] == before["metadata"]["annotations"], "it was changed: {after}");

    tenant.konflux().apply_all(&manifests::package("konflux/environment-config.yaml")?).await?;
    late.nudge("with").await?;
    late.controller().await?.until_asked(SOON).await?;
    late.until_condition("RequestAccepted", "True", "").await?;
    tenant.until_phase("Ready").await.map(|_| ())
}
