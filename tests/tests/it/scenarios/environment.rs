//! The EnvironmentConfig comes and goes.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, at_root},
    kinds::ENVIRONMENT_CONFIG,
    manifests,
    tenant::Tenant,
};

/// The annotation under which the hub finds the Konflux cluster.
const NAMED: &str = "ephemeralcluster.ci.openshift.io/konflux-cluster";

/// Nothing of a live cluster is dropped, and a new claim waits.
pub async fn environment_config_deleted_while_live(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    let before = controller.get().await?.context("no EphemeralCluster")?;
    tenant.konflux().delete(&at_root(ENVIRONMENT_CONFIG, "envcfg")).await?;
    tenant.nudge("without").await?;
    let late = tenant.another("late").await?;
    late.ask(&json!({})).await?;
    late.until_condition("RequestAccepted", "False", "EnvironmentConfigMissing").await?;
    late.until_phase("Pending").await?;
    tenant.until_phase("Ready").await?;
    let after = controller.get().await?.context("the EphemeralCluster is gone")?;
    ensure!(after["metadata"]["uid"] == before["metadata"]["uid"], "it was replaced");
    ensure!(after["metadata"]["deletionTimestamp"].is_null(), "it is being deleted");
    ensure!(after["metadata"]["annotations"] == before["metadata"]["annotations"], "it was changed: {after}");

    tenant
        .konflux()
        .apply_all(&manifests::package("install/overlays/development/environment-config.yaml")?)
        .await?;
    late.nudge("with").await?;
    late.controller().await?.until_asked(SOON).await?;
    late.until_condition("RequestAccepted", "True", "").await?;
    tenant.until_phase("Ready").await.map(|_| ())
}

/// The hub knows a live cluster under the name that it was made with, for life. New claims go under the new one.
pub async fn environment_config_changed_while_live(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = tenant.ask_and_get(&json!({})).await?;
    let before = controller.get().await?.context("no EphemeralCluster")?;
    ensure!(before["metadata"]["annotations"][NAMED] == "dev-cluster", "{before}");
    let mut config = manifests::package_one("install/overlays/development/environment-config.yaml")?;
    config["data"]["clusterName"] = "another-cluster".into();
    tenant.konflux().apply(&config).await?;
    let late = tenant.another("late").await?;
    let outcome = async {
        let asked = late.ask_and_arrive(&json!({})).await?.until_asked(SOON).await?;
        ensure!(asked["metadata"]["annotations"][NAMED] == "another-cluster", "{asked}");
        // Something else has to be told to the hub, and takes nothing with it.
        tenant.change(&json!({ "lifetime": "1h" })).await?;
        let told =
            |ec: &Value| ec["metadata"]["annotations"]["testplatform.ci.openshift.org/lifetime"] == "1h0m0s";
        let hub = tenant.engine.hub.cluster();
        let after = hub.until_is(&controller.at(), SOON, "told of the lifetime", told).await?;
        ensure!(after["metadata"]["annotations"][NAMED] == "dev-cluster", "it was renamed: {after}");
        ensure!(after["metadata"]["uid"] == before["metadata"]["uid"], "it was replaced");
        ensure!(after["spec"] == before["spec"], "it was changed: {after}");
        tenant.until_phase("Ready").await.map(|_| ())
    };
    let outcome = outcome.await;
    tenant
        .konflux()
        .apply_all(&manifests::package("install/overlays/development/environment-config.yaml")?)
        .await?;
    outcome
}
