//! Lives without trouble.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};
use testplatform_tests::{
    cluster::{SOON, condition, has},
    kinds::EVENT,
    promise,
    tenant::{KUBECONFIG, PASSWORD, Tenant},
};

/// From the hub's word to the Secret in the tenant's namespace.
const PROMISED: Duration = Duration::from_secs(2);

pub async fn happy_path(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let claimed = Instant::now();
    let controller = tenant.ask_and_arrive(&json!({})).await?;
    let there = claimed.elapsed();
    let asked = controller.until_asked(SOON).await?;
    ensure!(asked["spec"]["ciOperator"]["test"]["workflow"] == "ipi-aws", "{asked}");
    let notes = &asked["metadata"]["annotations"];
    ensure!(notes["ephemeralcluster.ci.openshift.io/konflux-tenant"] == tenant.namespace.as_str(), "{notes}");
    ensure!(notes["ephemeralcluster.ci.openshift.io/konflux-cluster"] == "dev-cluster", "{notes}");

    controller.provision().await?;
    tenant.until_phase("Provisioning").await?;
    tenant.until_condition("ClusterReady", "False", "").await?;

    controller.ready(KUBECONFIG, PASSWORD).await?;
    let published = Instant::now();
    let secret = tenant.until_secret(SOON, KUBECONFIG).await?;
    let took = published.elapsed();
    eprintln!("Secret in the tenant's namespace after {} ms", took.as_millis());
    ensure!(secret.get("kubeAdminPassword").is_some_and(|p| p == PASSWORD), "the password is missing");
    promise::kept(PROMISED, there, took)?;
    tenant.until_phase("Ready").await?;
    tenant.until_condition("ClusterReady", "True", "Ready").await?;
    told(tenant, "Normal", "ClusterReady").await?;
    let writes = tenant.engine.recorder.writes(&tenant.composite().await?);
    eprintln!("the two Objects were written {writes} times until Ready");

    tenant.change(&json!({ "tearDownCluster": true })).await?;
    controller.until_told_to_end(SOON).await?;
    controller.deprovision().await?;
    tenant.until_phase("Deprovisioning").await?;
    controller.deprovisioned().await?;
    tenant.until_phase("Deprovisioned").await?;
    tenant.until_condition("ProwJobCompleted", "True", "").await?;
    let emptied = tenant.until_secret(SOON, "").await?;
    ensure!(emptied.get("kubeAdminPassword").is_some_and(String::is_empty), "the password is still there");

    controller.release().await?;
    tenant.konflux().delete(&tenant.claim()).await?;
    tenant.engine.hub.cluster().until_gone(&controller.at(), SOON).await?;
    tenant.konflux().until_gone(&tenant.claim(), SOON).await
}

/// The function's results become events of the tenant's object. Only in scenarios that are alone: core writes the events of all claims one
/// after the other, and with ten scenarios at a time they come minutes late, or core drops them. The examples hold which transitions
/// have events.
pub async fn told(tenant: &Tenant<'_>, type_: &str, reason: &str) -> anyhow::Result<()> {
    let kind = tenant.flavour.kind().kind;
    let is = |event: &Value| {
        let about = &event["involvedObject"];
        about["kind"] == kind
            && about["name"] == tenant.name.as_str()
            && event["type"] == type_
            && event["reason"] == reason
    };
    tenant.konflux().until_some(EVENT, &tenant.namespace, SOON, reason, is).await.map(|_| ())
}

/// Does exactly what the Konflux tasks do: watch the claim, read four conditions, use the Secret at once.
pub async fn consumer_contract(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let actor = async {
        let controller = tenant.controller().await?;
        controller.fulfil(KUBECONFIG, Duration::from_millis(300)).await
    };
    let task = async {
        tenant.ask(&json!({})).await?;
        let mut url = String::new();
        let mut failed = false;
        let ready = tenant.until(SOON, "ready, as the provision task sees it", |claim| {
            let message =
                |type_: &str| condition(claim, type_).and_then(|c| c["message"].as_str()).unwrap_or_default();
            message("_ProwJobURL").clone_into(&mut url);
            failed |= message("_EphemeralClusterPhase") == "Failed";
            failed || has(claim, "ClusterReady", "True", "")
        });
        ready.await?;
        ensure!(!failed, "the task would have given up");
        ensure!(url.starts_with("https://prow.example/"), "no URL to print: {url:?}");
        // The next task reads it at once.
        let secret = tenant.konflux().get(&tenant.secret()).await?;
        let secret = secret.as_ref().map(testplatform_tests::tenant::decoded).unwrap_or_default();
        ensure!(
            secret.get("kubeconfig").is_some_and(|k| k == KUBECONFIG),
            "ClusterReady without the kubeconfig"
        );
        tenant.change(&json!({ "tearDownCluster": true })).await?;
        let done = |claim: &Value| has(claim, "ProwJobCompleted", "True", "");
        tenant.until(SOON, "over, as the deprovision task sees it", done).await.map(|_| ())
    };
    tokio::try_join!(actor, task).map(|_| ())
}

pub async fn two_claims_of_one_name(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let mut other = tenant.another("other").await?;
    other.name.clone_from(&tenant.name);
    let plain = json!({});
    let (one, two) = tokio::try_join!(tenant.ask_and_get(&plain), other.ask_and_arrive(&plain))?;
    ensure!(one.secret() != two.secret(), "both have {}", one.secret());
    let waiting = tenant.konflux().get(&other.secret()).await?;
    let waiting = waiting.as_ref().map(testplatform_tests::tenant::decoded).unwrap_or_default();
    ensure!(
        waiting.get("kubeconfig").is_none_or(|k| k != KUBECONFIG),
        "one claim's kubeconfig is in the other's Secret"
    );
    Ok(())
}

pub async fn long_names(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let mut long = tenant.another("long").await?;
    // With five random characters and a dash that is a composite of 63.
    long.name = format!("a{}", "-very-long-indeed".repeat(4)).chars().take(57).collect();
    long.ask_and_get(&json!({})).await.map(|_| ())
}
