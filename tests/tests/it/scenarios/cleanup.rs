//! Clusters that nobody needs any more: the run that owns the claim is over, and who looks at runs sets `tearDownCluster`.

use anyhow::{Context as _, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_tests::{
    cleaner::{owned_by, run_status},
    cluster::{SOON, at},
    kinds::PIPELINE_RUN,
    tenant::{KUBECONFIG, PASSWORD, Tenant},
};

fn note(object: &Value) -> &str {
    object["metadata"]["annotations"][ours::CLEANUP_SINCE].as_str().unwrap_or_default()
}

/// From the run that goes on to the cluster that is gone, through the claim's note, the composite's copy of it and what the function makes of it.
pub async fn cleanup_after_owner_completes(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.engine.clean_up().await?;
    let konflux = tenant.konflux();
    let run = at(PIPELINE_RUN, &tenant.namespace, &tenant.name);
    let metadata = json!({ "name": tenant.name, "namespace": tenant.namespace });
    let made = konflux
        .create(&json!({
            "apiVersion": PIPELINE_RUN.api_version, "kind": PIPELINE_RUN.kind, "metadata": metadata, "spec": {},
        }))
        .await?;
    konflux.merge_status(&run, &run_status(None)).await?;
    let cleanup = json!({ "onOwnerCompletion": true, "keepForDebug": "1h" });
    let mut claim = tenant.manifest(&json!({ "lifetime": "4h", "cleanup": cleanup }));
    claim["metadata"]["ownerReferences"] = json!([owned_by(&made)]);
    konflux.create(&claim).await.context("the claim is refused")?;

    let controller = tenant.controller().await?;
    controller.until_asked(SOON).await?;
    controller.provision().await?;
    controller.ready(KUBECONFIG, PASSWORD).await?;
    let claim = tenant.until_phase("Ready").await?;
    let ready: Timestamp = claim["status"]["readyAt"].as_str().unwrap_or_default().parse()?;
    let wanted =
        format!("PipelineRun/{}/{}", tenant.name, made["metadata"]["uid"].as_str().unwrap_or_default());
    tenant.until(SOON, "noted as that run's", |claim| note(claim) == wanted).await?;

    konflux.merge_status(&run, &run_status(Some(&ready.to_string()))).await?;
    let end = ready.checked_add(SignedDuration::from_hours(1))?.to_string();
    let planned = |claim: &Value| {
        let message = claim["status"]["message"].as_str().unwrap_or_default();
        claim["status"]["expiresAt"] == end && message.contains("the runs that own it have finished")
    };
    let claim = tenant.until(SOON, "planned to end", planned).await?;
    ensure!(claim["spec"]["tearDownCluster"].is_null() && claim["status"]["phase"] == "Ready", "{claim}");
    ensure!(note(&claim) == ready.to_string(), "{claim}");

    tenant.change(&json!({ "cleanup": { "keepForDebug": "0s" } })).await?;
    let told = |claim: &Value| claim["spec"]["tearDownCluster"] == true;
    tenant.until(SOON, "told to end", told).await?;
    controller.until_told_to_end(SOON).await?;
    tenant.until_phase("Deprovisioning").await?;
    controller.deprovisioned().await?;
    let claim = tenant.until_phase("Deprovisioned").await?;
    ensure!(claim["metadata"]["deletionTimestamp"].is_null(), "the claim goes: {claim}");
    tenant.until_secret(SOON, "").await.map(|_| ())
}
