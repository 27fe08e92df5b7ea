//! Failures of clusters out of pools, and the way back to ci-operator's own.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Fulfilled,
    cluster::SOON,
    hive::{claimed::kubeconfig, objects::text},
    hub::own::KNOWN,
    patience::longer,
    tenant::{KUBECONFIG, Tenant, decoded},
    witness::Witness,
};

use super::{
    hive::{GONE, ended, got},
    hive_queue::queued,
};

/// Secret that Hive quotes in its messages and nobody may read.
const SECRET_WORD: &str = "hunter2";

/// Hive gives one cluster to two claims. The one that it does not belong to gets nothing of it, is told so, and waits again.
pub async fn hive_assignment_conflict(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (pool, hive) = (tenant.pool(), tenant.hive()?);
    let claimed = queued(tenant).await?;
    // Hive serves by age, in whole seconds.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let other = tenant.another("other").await?;
    other.ask(&json!({})).await?;
    let second = |claim: &Value| claim["status"]["queue"]["position"] == 2;
    other.until(SOON, "behind it", second).await?;
    let theirs = other.claimed().await?;
    let hub = tenant.engine.hub.cluster();
    let nothing = Witness::of(hub, &theirs.published(), |secret| secret.is_none()).await?;
    hive.behave(|b| {
        b.conflicts.insert(pool.to_owned());
    });
    tenant.engine.offer.change(pool, &json!({ "maxSize": 1 })).await?;

    other.until_condition("ClusterAssigned", "False", "OwnershipMismatch").await?;
    other.until_condition("CredentialsPublished", "False", "OwnershipMismatch").await?;
    let cluster = claimed.until_running(SOON).await?;
    ensure!(theirs.cluster().await? == cluster, "there is no conflict");
    let claim = other.until_condition("ClusterReady", "False", "").await?;
    let message = text(&claim, "/status/message");
    ensure!(message.contains("belongs to another claim"), "{message}");
    tenant.until_phase("Ready").await?;
    tenant.until_secret(SOON, &kubeconfig(&cluster)).await?;

    hive.behave(|b| {
        b.conflicts.remove(pool);
    });
    other.until(SOON, "in the queue again", |claim| claim["status"]["queue"]["position"] == 1).await?;
    other.until_phase("Pending").await?;
    nothing.verdict().await?;
    drop(nothing);
    ended(tenant, &claimed, &cluster).await?;
    other.until(GONE, "served", |claim| claim["status"]["phase"] == "Ready").await?;
    let own = theirs.cluster().await?;
    ensure!(own != cluster, "a cluster was given twice");
    other.until_secret(SOON, &kubeconfig(&own)).await.map(|_| ())
}

/// The pool's next cluster cannot be installed. The tenant is told why, without secrets, and gets the one after it.
pub async fn hive_broken_installs(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (pool, hive) = (tenant.pool(), tenant.hive()?);
    let claimed = queued(tenant).await?;
    hive.behave(|b| {
        b.breaks.insert(pool.to_owned());
    });
    tenant.engine.offer.change(pool, &json!({ "maxSize": 1 })).await?;
    let told = |claim: &Value| {
        let diagnostics = text(claim, "/status/diagnostics");
        diagnostics.contains("InsufficientQuota") && diagnostics.contains(pool)
    };
    let claim = tenant.until(SOON, "told why", told).await?;
    ensure!(claim["status"]["phase"] == "Pending", "{claim}");
    let remote = claimed.get().await?.context("the ClusterClaim is gone")?;
    let noted = text(&remote, "/metadata/annotations/testplatform.ci.openshift.org~1status");
    let status: Value = serde_json::from_str(noted)?;
    let failure = &status["provisionFailure"];
    ensure!(text(failure, "/message").contains("the limit of vCPUs is reached"), "{status}");
    let broken = text(failure, "/clusterDeployment").to_owned();
    let writer = tenant.konflux().get(&tenant.writer().await?).await?.context("the Object is gone")?;
    for object in [&claim, &remote, &writer] {
        ensure!(!object.to_string().contains(SECRET_WORD), "a secret was passed on: {object}");
    }

    hive.behave(|b| {
        b.breaks.remove(pool);
    });
    tenant.until(GONE, "served", |claim| claim["status"]["phase"] == "Ready").await?;
    let cluster = claimed.cluster().await?;
    ensure!(!broken.is_empty() && cluster != broken, "{cluster} was broken");
    tenant.until_secret(SOON, &kubeconfig(&cluster)).await?;
    ended(tenant, &claimed, &cluster).await
}

/// The cloud refuses to destroy the cluster: it is not called gone, and the claim says why.
pub async fn hive_deprovision_fails(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (claimed, cluster) = got(tenant).await?;
    let hive = tenant.hive()?;
    hive.refuse(&cluster, true);
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    claimed.until_released(GONE).await?;
    let says = |claim: &Value| {
        let message = text(claim, "/status/message");
        claim["status"]["phase"] == "Deprovisioning" && message.contains("AuthenticationFailed")
    };
    // As often as provider-kubernetes looks at what it deletes: at growing distances, a minute at most.
    let claim = tenant.until(GONE, "told why it stays", says).await?;
    ensure!(!claim.to_string().contains(SECRET_WORD), "a secret was passed on: {claim}");
    let claim = tenant.until_condition("ProwJobCompleted", "False", "TearingDown").await?;
    ensure!(claim["status"]["phase"] == "Deprovisioning", "{claim}");
    ensure!(claimed.get().await?.is_some(), "the ClusterClaim went before its cluster");
    hive.refuse(&cluster, false);
    super::hive::over(tenant, &claimed, &cluster, "TornDown").await
}

/// Pools are given up: what lives goes on, what comes new is told, and ci-operator's own way serves it.
pub async fn hive_back_to_ci_operator(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let late = tenant.also("late", Fulfilled::ByHive).await?;
    let after = tenant.also("after", Fulfilled::ByProvider).await?;
    let (claimed, cluster) = got(tenant).await?;
    let kept = kubeconfig(&cluster);
    let keeps = move |secret: Option<&Value>| {
        secret.is_some_and(|secret| decoded(secret).get("kubeconfig").is_some_and(|k| *k == kept))
    };
    let secret = Witness::of(tenant.konflux(), &tenant.secret(), keeps).await?;
    let ready = |claim: Option<&Value>| claim.is_some_and(|claim| claim["status"]["phase"] == "Ready");
    let claim = Witness::of(tenant.konflux(), &tenant.claim(), ready).await?;
    tenant.engine.offer.retire(tenant.pool()).await?;
    // Core reads the catalogue from its cache, which may be behind: who comes at once may be served by the old one.
    tokio::time::sleep(longer(KNOWN)).await;
    late.ask(&json!({})).await?;
    late.until_condition("RequestAccepted", "False", "PoolNotFound").await?;
    late.until_phase("Pending").await?;
    let pool = json!({ "product": "ocp", "version": "4.20", "cloud": "aws", "owner": tenant.pool() });
    let through = json!({ "ciOperator": { "test": { "clusterClaim": pool, "workflow": "generic-claim" } } });
    let controller = after.ask_and_get(&through).await?;
    ensure!(controller.job().await?.takes_from_hive(), "the job does not know where Hive is");
    let served = after.until_phase("Ready").await?;
    ensure!(served["status"]["backend"]["kind"] == "EphemeralCluster", "{served}");
    // Whoever waits has nothing to give back, and can ask the other way.
    late.change(&json!({ "tearDownCluster": true })).await?;
    late.until_condition("ProwJobCompleted", "True", "NothingToTearDown").await?;

    tenant.nudge("retired").await?;
    secret.verdict().await?;
    claim.verdict().await?;
    drop((secret, claim));
    ended(tenant, &claimed, &cluster).await?;
    let served = after.until_phase("Ready").await?;
    ensure!(served["status"]["credentials"]["state"] == "Published", "{served}");
    after.until_secret(SOON, KUBECONFIG).await.map(|_| ())
}
