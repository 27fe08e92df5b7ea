//! Clusters out of pools: the claim becomes a ClusterClaim on the hub, Hive gives a cluster, and its kubeconfig comes back.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Fulfilled,
    cluster::{SOON, condition, has},
    hive::{
        claimed::{Claimed, kubeconfig},
        deployment, objects,
    },
    promise,
    tenant::{KUBECONFIG, Tenant, decoded},
    witness::Witness,
};

/// From Hive's word to the Secret in the tenant's namespace.
const PROMISED: Duration = Duration::from_secs(3);
/// provider-kubernetes believes for half a minute after it made something that it has to be there, and looks at growing distances, a
/// minute at most. Clusters that live longer than here end within seconds.
pub const GONE: Duration = Duration::from_mins(4);
/// How long the destruction of a cluster lasts.
const DESTROYING: Duration = Duration::from_secs(10);

pub async fn hive_happy_path(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let begun = Instant::now();
    tenant.ask(&json!({})).await?;
    let claimed = tenant.claimed().await?;
    let asked = claimed.until_asked(SOON).await?;
    let there = begun.elapsed();
    ensure!(asked["spec"]["clusterPoolName"] == tenant.pool(), "{asked}");
    let notes = &asked["metadata"]["annotations"];
    ensure!(notes["ephemeralcluster.ci.openshift.io/konflux-tenant"] == tenant.namespace.as_str(), "{notes}");
    let running = async {
        let cluster = claimed.until_running(SOON).await?;
        anyhow::Ok((cluster, Instant::now()))
    };
    let delivered = async {
        let filled = |secret: &Value| decoded(secret).get("kubeconfig").is_some_and(|k| !k.is_empty());
        let secret = tenant.konflux().until_is(&tenant.secret(), SOON, "filled", filled).await?;
        anyhow::Ok((decoded(&secret), Instant::now()))
    };
    let ((cluster, ran), (secret, came)) = tokio::try_join!(running, delivered)?;
    let took = came.saturating_duration_since(ran);
    eprintln!("Secret in the tenant's namespace {} ms after Hive's ClusterRunning", took.as_millis());
    ensure!(secret.get("kubeconfig").is_some_and(|k| *k == kubeconfig(&cluster)), "another's kubeconfig");
    ensure!(
        secret.get("kubeAdminPassword").is_some_and(|p| *p == objects::password(&cluster)),
        "another's password"
    );
    promise::kept(PROMISED, there, took)?;
    let claim = tenant.until_phase("Ready").await?;
    ensure!(claim["status"]["backend"]["pool"] == tenant.pool(), "{claim}");
    tenant.until_condition("ClusterReady", "True", "Ready").await?;
    tenant.until_condition("ClusterAssigned", "True", "Claimed").await?;
    let addressed = |claim: &Value| {
        let url = |field: &str| claim["status"][field].as_str().is_some_and(|u| u.contains(&cluster));
        claim["status"]["version"] == "4.20.3" && url("apiServerURL") && url("consoleURL")
    };
    tenant.until(SOON, "with version and addresses", addressed).await.map(|_| ())
}

/// It is over when Hive has destroyed the cluster, and not when it was told to.
pub async fn hive_torn_down(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (claimed, cluster) = got(tenant).await?;
    let konflux = tenant.konflux();
    tenant.hive()?.hold(&cluster);
    let asked = Instant::now();
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    claimed.until_released(GONE).await?;
    eprintln!("Hive was told {:.1} s after tearDownCluster", asked.elapsed().as_secs_f32());
    tenant.until_phase("Deprovisioning").await?;
    let lasts = |claim: Option<&Value>| {
        claim.is_some_and(|claim| {
            claim["status"]["phase"] == "Deprovisioning" && !has(claim, "ProwJobCompleted", "True", "")
        })
    };
    let claim = Witness::of(konflux, &tenant.claim(), lasts).await?;
    let kept = kubeconfig(&cluster);
    let keeps = move |secret: Option<&Value>| {
        secret.is_some_and(|secret| decoded(secret).get("kubeconfig").is_some_and(|k| *k == kept))
    };
    let secret = Witness::of(konflux, &tenant.secret(), keeps).await?;
    tokio::time::sleep(DESTROYING).await;
    // There is no way back.
    tenant.change_and_pass(&json!({ "tearDownCluster": false })).await?;
    claim.verdict().await?;
    secret.verdict().await?;
    let dying = tenant.engine.hub.cluster().get(&deployment(&cluster)).await?.context("it is destroyed")?;
    ensure!(dying["metadata"]["deletionTimestamp"].is_string(), "it is not being destroyed: {dying}");
    drop((claim, secret));

    tenant.hive()?.let_go(&cluster);
    let gone = Instant::now();
    over(tenant, &claimed, &cluster, "TornDown").await?;
    eprintln!("Deprovisioned {:.1} s after Hive let the cluster go", gone.elapsed().as_secs_f32());

    let composite = tenant.composite_at().await?;
    tenant.konflux().delete(&tenant.claim()).await?;
    tenant.konflux().until_gone(&tenant.claim(), SOON).await?;
    tenant.konflux().until_gone(&composite, GONE).await
}

/// Everything goes, and the cluster first.
pub async fn hive_claim_deleted_when_ready(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (claimed, cluster) = got(tenant).await?;
    let composite = tenant.composite_at().await?;
    let writer = tenant.writer().await?;
    tenant.hive()?.hold(&cluster);
    tenant.konflux().delete(&tenant.claim()).await?;
    claimed.until_released(GONE).await?;
    tokio::time::sleep(DESTROYING / 2).await;
    ensure!(
        tenant.konflux().get(&writer).await?.is_some(),
        "the Object went before the cluster that it stands for"
    );
    tenant.hive()?.let_go(&cluster);
    for at in [&tenant.claim(), &tenant.secret(), &composite, &writer] {
        tenant.konflux().until_gone(at, GONE).await?;
    }
    nothing_left(&claimed, &cluster).await
}

/// Somebody deletes the cluster itself.
pub async fn hive_cluster_deleted_underneath(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (claimed, cluster) = got(tenant).await?;
    tenant.hive()?.lose(&cluster).await?;
    let failed = |claim: &Value| claim["status"]["phase"] == "Failed";
    tenant.until(SOON, "Failed", failed).await?;
    tenant.until_condition("ClusterReady", "False", "").await?;
    let told = |claim: &Value| has(claim, "ProwJobCompleted", "True", "");
    tenant.until(GONE, "over", told).await?;
    let emptied = tenant.until_secret(SOON, "").await?;
    ensure!(emptied.get("kubeAdminPassword").is_some_and(String::is_empty), "the password is still there");
    ensure!(tenant.remotes_made() == 1, "a second cluster was asked for");
    nothing_left(&claimed, &cluster).await
}

/// Asleep it is Degraded, and what the tenant has stays.
pub async fn hive_hibernated_and_resumed(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (claimed, cluster) = got(tenant).await?;
    let kept = kubeconfig(&cluster);
    let keeps = move |secret: Option<&Value>| {
        secret.is_some_and(|secret| decoded(secret).get("kubeconfig").is_some_and(|k| *k == kept))
    };
    let secret = Witness::of(tenant.konflux(), &tenant.secret(), keeps).await?;
    // By the phase: core restates conditions of its cache now and then; what becomes of those, the recorder sees.
    let phases = ["Ready", "Degraded"];
    let ready = move |claim: Option<&Value>| {
        claim.and_then(|claim| claim["status"]["phase"].as_str()).is_some_and(|phase| phases.contains(&phase))
    };
    let claim = Witness::of(tenant.konflux(), &tenant.claim(), ready).await?;
    tenant.hive()?.hold(&cluster);
    tenant.hive()?.hibernate(&cluster).await?;
    tenant.until_phase("Degraded").await?;
    // The provider asks Hive to wake it; what tasks look at does not change meanwhile.
    let woken = |cluster: &Value| cluster["spec"]["powerState"] == "Running";
    tenant.engine.hub.cluster().until_is(&deployment(&cluster), SOON, "told to run", woken).await?;
    let shown = tenant.until_phase("Degraded").await?;
    let phase = condition(&shown, "_EphemeralClusterPhase").unwrap_or(&Value::Null);
    ensure!(phase["message"] == "Ready", "{shown}");
    tenant.hive()?.let_go(&cluster);
    claimed.until_running(SOON).await?;
    tenant.until_phase("Ready").await?;
    tenant.until_condition("ClusterRunning", "True", "Running").await?;
    secret.verdict().await?;
    claim.verdict().await
}

/// ci-operator takes clusters out of pools too. Both ways are open to a tenant, and the one goes on as the other begins.
pub async fn hive_beside_ci_operator(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let before = tenant.also("before", Fulfilled::ByProvider).await?;
    let pool = json!({ "product": "ocp", "version": "4.20", "cloud": "aws", "owner": tenant.pool() });
    let through = json!({ "ciOperator": { "test": { "clusterClaim": pool, "workflow": "generic-claim" } } });
    let controller = before.ask_and_get(&through).await?;
    let steps = controller.job().await?;
    ensure!(steps.takes_from_hive(), "the job does not know where Hive is");
    let (claimed, cluster) = got(tenant).await?;
    before.until_secret(SOON, KUBECONFIG).await?;
    let claim = before.until_phase("Ready").await?;
    ensure!(claim["status"]["backend"]["kind"] == "EphemeralCluster", "{claim}");
    let claim = tenant.until_phase("Ready").await?;
    ensure!(claim["status"]["backend"]["kind"] == "ClusterClaim", "{claim}");

    before.change(&json!({ "tearDownCluster": true })).await?;
    controller.deprovision().await?;
    controller.deprovisioned().await?;
    before.until_phase("Deprovisioned").await?;
    before.until_secret(SOON, "").await?;
    let claim = tenant.until_phase("Ready").await?;
    ensure!(has(&claim, "ClusterReady", "True", ""), "{claim}");
    tenant.until_secret(SOON, &kubeconfig(&cluster)).await?;
    ended(tenant, &claimed, &cluster).await
}

/// Somebody gives the cluster back on the hub: there is no second one.
pub async fn hive_claim_deleted_on_the_hub(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let (claimed, cluster) = got(tenant).await?;
    tenant.engine.hub.cluster().delete(&claimed.at()).await?;
    tenant.until(GONE, "Failed", |claim| claim["status"]["phase"] == "Failed").await?;
    // It is lost from the deletion on; whether it was uninstalled is a later word.
    tenant.until_condition("ProwJobCompleted", "True", "").await?;
    tenant.until_secret(SOON, "").await?;
    tenant.nudge("deleted").await?;
    tokio::time::sleep(DESTROYING).await;
    ensure!(tenant.remotes_made() == 1, "a second cluster was asked for");
    nothing_left(&claimed, &cluster).await
}

/// Asks, and waits until the tenant has the credentials. Returns the hand on the ClusterClaim, and the cluster's name.
pub async fn got(tenant: &Tenant<'_>) -> anyhow::Result<(Claimed, String)> {
    tenant.ask(&json!({})).await?;
    let claimed = tenant.claimed().await?;
    tenant.until_phase("Ready").await?;
    // Core writes the phase first and the conditions after it. Where the lifetime is brief, the reason is Expiring at once.
    tenant.until_condition("ClusterReady", "True", "").await?;
    let cluster = claimed.cluster().await?;
    tenant.until_secret(SOON, &kubeconfig(&cluster)).await?;
    Ok((claimed, cluster))
}

/// Tears down.
pub async fn ended(tenant: &Tenant<'_>, claimed: &Claimed, cluster: &str) -> anyhow::Result<()> {
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    claimed.until_released(GONE).await?;
    over(tenant, claimed, cluster, "TornDown").await
}

/// Waits until the claim says that it is over, and looks whether it is.
pub async fn over(tenant: &Tenant<'_>, claimed: &Claimed, cluster: &str, why: &str) -> anyhow::Result<()> {
    let said = |claim: &Value| claim["status"]["phase"] == "Deprovisioned";
    tenant.until(GONE, "Deprovisioned", said).await?;
    let left = claimed.left(cluster).await?;
    ensure!(left.is_empty(), "Deprovisioned, and there still is {}", left.join(", "));
    let claim = tenant.until_condition("ProwJobCompleted", "True", why).await?;
    let ready = condition(&claim, "ClusterReady").unwrap_or(&Value::Null);
    ensure!(ready["status"] == "False" && ready["reason"] == "Deprovisioned", "{claim}");
    let emptied = tenant.until_secret(SOON, "").await?;
    ensure!(emptied.get("kubeAdminPassword").is_some_and(String::is_empty), "the password is still there");
    // The writer stays as one that only looks, until the claim goes.
    let name = tenant.flavour.composed(&claim).unwrap_or_default();
    tenant.konflux().until_gone(&tenant.flavour.object(&tenant.namespace, "credentials", name), GONE).await
}

async fn nothing_left(claimed: &Claimed, cluster: &str) -> anyhow::Result<()> {
    let left = claimed.left(cluster).await?;
    ensure!(left.is_empty(), "there still is {}", left.join(", "));
    Ok(())
}
