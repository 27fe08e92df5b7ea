//! Scenarios on the definition of EphemeralClusters that we ship, which keeps what upstream's prunes.
//!
//! A hub has one definition at a time, so they are alone: ours is put over upstream's, as an administrator would, and
//! afterwards upstream's is there again.

use anyhow::ensure;
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{Cluster, SOON},
    hub, manifests,
    patience::longer,
    tenant::{KUBECONFIG, Tenant},
};

use super::{happy, job, teardown};

const DEFINITION: &str = "ephemeralclusters.ci.openshift.io";

pub async fn happy_path_on_our_definition(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    on_ours(
        tenant,
        Box::pin(async {
            // Only our definition keeps these fields, in a life beside the other.
            let more = tenant.another("kept").await?;
            let controller = more.ask_and_get(&json!({ "lifetime": "1h" })).await?;
            let kept = |ec: &Value| {
                ec["status"]["expiresAt"].is_string()
                    && ec["status"]["observedGeneration"] == ec["metadata"]["generation"]
            };
            tenant
                .engine
                .hub
                .cluster()
                .until_is(&controller.at(), SOON, "with what ours keeps", kept)
                .await?;
            rests(tenant.engine.hub.cluster(), &controller.at()).await?;
            more.until_secret(SOON, KUBECONFIG).await?;
            happy::happy_path(tenant).await
        }),
    )
    .await
}

pub async fn teardown_on_our_definition(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    on_ours(
        tenant,
        Box::pin(async {
            let other = tenant.another("early").await?;
            tokio::try_join!(
                teardown::teardown_when_ready(tenant),
                teardown::teardown_while_provisioning(&other)
            )
            .map(|_| ())
        }),
    )
    .await
}

pub async fn failure_on_our_definition(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    on_ours(
        tenant,
        Box::pin(async {
            job::job_fails_after_ready(tenant).await?;
            let noted = |claim: &Value| claim["status"]["diagnostics"].is_string();
            let claim = tenant.until(SOON, "with diagnostics", noted).await?;
            let diagnostics: Value =
                serde_json::from_str(claim["status"]["diagnostics"].as_str().unwrap_or_default())?;
            ensure!(diagnostics["reason"] == "EndedWithoutSignal", "{diagnostics:#}");
            ensure!(diagnostics["conditions"].as_array().is_some_and(|c| c.len() > 3), "{diagnostics:#}");
            Ok(())
        }),
    )
    .await
}

/// Something with our definition in place of upstream's.
async fn on_ours(tenant: &Tenant<'_>, run: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let hub = tenant.engine.hub.cluster();
    let ours = manifests::package_one(&format!("crds/{DEFINITION}.yaml"))?;
    hub::define(hub, &ours).await?;
    let outcome = run.await;
    hub::define(hub, &manifests::foreign_crd(DEFINITION)?).await?;
    outcome
}

/// Nothing is written where nothing happens.
async fn rests(hub: &Cluster, at: &testplatform_tests::cluster::At) -> anyhow::Result<()> {
    let version = async || {
        let object = hub.get(at).await?.unwrap_or_default();
        anyhow::Ok(object["metadata"]["resourceVersion"].clone())
    };
    // The last event has been looked at by then.
    tokio::time::sleep(longer(std::time::Duration::from_secs(2))).await;
    let before = version().await?;
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    ensure!(before.is_string() && version().await? == before, "something was written at rest");
    Ok(())
}
