//! Konflux's newest tasks, step by step: they poll the claim, and read less and more strictly than those before them.
//!
//! The provision task writes run names as annotations and leaves empty fields out. It takes a cluster for ready when `ClusterReady` and `Ready`
//! are True, and names the Secret after its TaskRun. The deprovision task succeeds if `ProwJobCompleted` is True with exactly that reason.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use testplatform_apis::names::ephemeral_cluster::{PIPELINE_RUN_NAME, TASK_RUN_NAME};
use testplatform_tests::{
    actors::Controller,
    cluster::{At, SOON, at, condition, has},
    kinds::SECRET,
    patience,
    tenant::{KUBECONFIG, PASSWORD, Tenant, decoded},
};

/// Pause between two polls. The tasks poll each minute.
const POLL: Duration = Duration::from_millis(500);
/// Name of the PipelineRun.
const RUN: &str = "on-push-x7k2p";

/// Result of the provision task.
enum Provisioned {
    /// The cluster is ready.
    Ready,
    /// The claim is Failed.
    Failed,
}

/// Creates the claim as the provision task does. Its name is that of the TaskRun.
async fn create(tenant: &Tenant<'_>) -> anyhow::Result<Controller> {
    let mut claim = tenant.manifest(&json!({ "writeConnectionSecretToRef": { "name": tenant.name } }));
    claim["metadata"]["annotations"] = json!({ PIPELINE_RUN_NAME: RUN, TASK_RUN_NAME: tenant.name });
    tenant.konflux().create(&claim).await.context("the claim is refused")?;
    let controller = tenant.controller().await?;
    let remote = controller.until_asked(SOON).await?;
    let annotations = &remote["metadata"]["annotations"];
    ensure!(annotations[PIPELINE_RUN_NAME] == RUN && annotations[TASK_RUN_NAME] == tenant.name.as_str());
    let job = controller.job().await?;
    let job = tenant.engine.hub.cluster().get(&job.at()).await?.context("no ProwJob")?;
    let name = job["spec"]["job"].as_str().unwrap_or_default();
    ensure!(name.starts_with(&format!("ephemeralcluster-ci-{RUN}")), "the run does not name the job: {name}");
    Ok(controller)
}

fn secret(tenant: &Tenant<'_>) -> At {
    at(SECRET, &tenant.namespace, &tenant.name)
}

/// Polls the claim until it is as wanted.
async fn poll(tenant: &Tenant<'_>, what: &str, is: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
    let polled = async {
        loop {
            let claim = tenant.konflux().get(&tenant.claim()).await?.context("the claim is gone")?;
            if is(&claim) {
                return anyhow::Ok(claim);
            }
            tokio::time::sleep(POLL).await;
        }
    };
    patience::timeout(SOON, polled).await.with_context(|| format!("the claim is not {what} in time"))?
}

/// Polls as the provision task does.
async fn provision(tenant: &Tenant<'_>) -> anyhow::Result<Provisioned> {
    let failed = |claim: &Value| {
        condition(claim, "_EphemeralClusterPhase").is_some_and(|phase| phase["message"] == "Failed")
    };
    let ready = |claim: &Value| has(claim, "ClusterReady", "True", "") && has(claim, "Ready", "True", "");
    let claim = poll(tenant, "Ready or Failed", |claim| failed(claim) || ready(claim)).await?;
    if failed(&claim) {
        return Ok(Provisioned::Failed);
    }
    let url = condition(&claim, "_ProwJobURL").and_then(|url| url["message"].as_str()).unwrap_or_default();
    ensure!(url.starts_with("https://prow.example/"), "no URL to print: {url:?}");
    // The next task mounts it at once.
    let secret = tenant.konflux().get(&secret(tenant)).await?.context("ready without a Secret")?;
    let data = decoded(&secret);
    ensure!(data.get("kubeconfig").is_some_and(|text| text == KUBECONFIG), "ready without the kubeconfig");
    ensure!(data.contains_key("kubeAdminPassword"), "ready without the key of the password");
    Ok(Provisioned::Ready)
}

/// Requests the end and polls as the deprovision task does. Whether the task succeeds.
async fn deprovision(tenant: &Tenant<'_>) -> anyhow::Result<bool> {
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    let completed = |claim: &Value| has(claim, "ProwJobCompleted", "True", "");
    let claim = poll(tenant, "over", completed).await?;
    let reason = &condition(&claim, "ProwJobCompleted").context("no condition")?["reason"];
    Ok(reason == "ProwJobCompleted")
}

/// A cluster that is ready.
async fn ready(tenant: &Tenant<'_>) -> anyhow::Result<Controller> {
    let controller = create(tenant).await?;
    controller.provision().await?;
    let hub = controller.ready(KUBECONFIG, PASSWORD);
    let ((), provisioned) = tokio::try_join!(hub, provision(tenant))?;
    match provisioned {
        Provisioned::Ready => Ok(controller),
        Provisioned::Failed => bail!("the provision task gives up"),
    }
}

pub async fn newest_tasks_end_well(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = ready(tenant).await?;
    let hub = async {
        controller.until_told_to_end(SOON).await?;
        controller.deprovision().await?;
        controller.deprovisioned().await
    };
    let ((), is_well) = tokio::try_join!(hub, deprovision(tenant))?;
    ensure!(is_well, "the deprovision task fails after a teardown that is well");
    // A finally task requests it once more.
    ensure!(deprovision(tenant).await?, "the deprovision task fails when it is run again");
    let emptied = |secret: &Value| decoded(secret).get("kubeconfig").is_some_and(String::is_empty);
    tenant.konflux().until_is(&secret(tenant), SOON, "emptied", emptied).await.map(|_| ())
}

/// Nothing was built that would have to be torn down.
pub async fn newest_tasks_end_before_a_cluster(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = create(tenant).await?;
    let hub = async {
        controller.until_told_to_end(SOON).await?;
        controller.deprovisioned().await
    };
    let ((), is_well) = tokio::try_join!(hub, deprovision(tenant))?;
    ensure!(is_well, "the deprovision task fails although nothing was built");
    Ok(())
}

pub async fn newest_tasks_fail_to_provision(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = create(tenant).await?;
    controller.provision().await?;
    let ((), provisioned) = tokio::try_join!(controller.fail(), provision(tenant))?;
    ensure!(matches!(provisioned, Provisioned::Failed), "the provision task succeeds without a cluster");
    ensure!(!deprovision(tenant).await?, "the deprovision task succeeds after a failure");
    Ok(())
}

/// Something may be left of the cluster.
pub async fn newest_tasks_fail_to_deprovision(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let controller = ready(tenant).await?;
    let hub = async {
        controller.until_told_to_end(SOON).await?;
        controller.deprovision().await?;
        controller.fail().await
    };
    let ((), is_well) = tokio::try_join!(hub, deprovision(tenant))?;
    ensure!(!is_well, "the deprovision task succeeds although the teardown failed");
    Ok(())
}
