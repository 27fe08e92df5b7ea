//! Where there are not enough clusters for all: queues of pools, quotas, and pools that go.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use testplatform_tests::{
    actors::Fulfilled,
    cluster::{SOON, at},
    crossplane::BEHIND,
    hive::{
        claimed::{Claimed, kubeconfig},
        objects::{cluster_pool, text},
        offer::{Elsewhere, POOLS},
    },
    hub::{another::WEST, own::OwnHubs},
    kinds::CLUSTER_POOL,
    tenant::{Tenant, decoded},
    witness::Witness,
};

use super::hive::{GONE, ended, got};

/// One waits for the other, and knows how long the queue is.
pub async fn hive_two_tenants_of_one_pool(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.engine.offer.change(tenant.pool(), &json!({ "maxSize": 1 })).await?;
    let (claimed, cluster) = got(tenant).await?;
    let other = tenant.another("other").await?;
    let others = kubeconfig(&cluster);
    let own = move |secret: Option<&Value>| {
        secret.is_none_or(|secret| decoded(secret).get("kubeconfig").is_none_or(|k| *k != others))
    };
    let secret = Witness::of(other.konflux(), &other.secret(), own).await?;
    other.ask(&json!({})).await?;
    let queued = |claim: &Value| claim["status"]["queue"]["position"] == 1;
    let claim = other.until(SOON, "in the queue", queued).await?;
    ensure!(claim["status"]["phase"] == "Pending", "{claim}");
    other.until_condition("ClusterReady", "False", "").await?;
    let last = other.another("last").await?;
    last.ask(&json!({})).await?;
    let behind = |claim: &Value| {
        claim["status"]["queue"]["position"].as_u64() >= Some(1) && claim["status"]["queue"]["depth"] == 2
    };
    last.until(SOON, "behind it", behind).await?;
    last.konflux().delete(&last.claim()).await?;
    last.konflux().until_gone(&last.claim(), GONE).await?;

    ended(tenant, &claimed, &cluster).await?;
    let ready = |claim: &Value| claim["status"]["phase"] == "Ready";
    let claim = other.until(GONE, "served", ready).await?;
    ensure!(claim["status"]["queue"].is_null(), "{claim}");
    let mine = other.claimed().await?.cluster().await?;
    ensure!(mine != cluster, "a cluster was given twice");
    other.until_secret(SOON, &kubeconfig(&mine)).await?;
    secret.verdict().await
}

/// More than the tenant may have at once waits until something is given back.
pub async fn hive_quota_reached(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.engine.offer.limit(&tenant.namespace, 1).await?;
    let (claimed, cluster) = got(tenant).await?;
    let second = tenant.also("second", Fulfilled::ByHive).await?;
    second.ask(&json!({})).await?;
    second.until_condition("RequestAccepted", "False", "QuotaExceeded").await?;
    second.until_phase("Pending").await?;
    ensure!(tenant.remotes_made() == 1, "more than the quota was asked for");
    ended(tenant, &claimed, &cluster).await?;
    second.until(GONE, "served", |claim| claim["status"]["phase"] == "Ready").await?;
    let own = second.claimed().await?.cluster().await?;
    second.until_secret(SOON, &kubeconfig(&own)).await.map(|_| ())
}

/// Nothing was given yet, so nothing has to be destroyed.
pub async fn hive_torn_down_in_the_queue(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let claimed = queued(tenant).await?;
    tenant.change(&json!({ "tearDownCluster": true })).await?;
    tenant.until(GONE, "Deprovisioned", |claim| claim["status"]["phase"] == "Deprovisioned").await?;
    ensure!(claimed.get().await?.is_none(), "Deprovisioned, and it still waits for a cluster");
    tenant.until_condition("ProwJobCompleted", "True", "").await?;
    tenant.engine.offer.change(tenant.pool(), &json!({ "maxSize": 3 })).await?;
    tenant.nudge("torn down").await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    ensure!(tenant.remotes_made() == 1, "a cluster was asked for all the same");
    Ok(())
}

/// A pool that goes takes no claim any more, and its claims keep what they have. Hive keeps it as long as one has a cluster of it.
pub async fn hive_pool_deleted(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.engine.offer.change(tenant.pool(), &json!({ "maxSize": 1 })).await?;
    let (claimed, cluster) = got(tenant).await?;
    let waiting = tenant.another("waiting").await?;
    waiting.ask(&json!({})).await?;
    waiting.until(SOON, "in the queue", |claim| claim["status"]["queue"]["position"] == 1).await?;
    let pool = at(CLUSTER_POOL, POOLS, tenant.pool());
    let hub = tenant.engine.hub.cluster();
    hub.delete(&pool).await?;
    let late = tenant.another("late").await?;
    late.ask(&json!({})).await?;
    for who in [&waiting, &late] {
        who.until_condition("RequestAccepted", "False", "PoolDeleting").await?;
        who.until_condition("ClusterAssigned", "False", "PoolDeleting").await?;
        who.until_phase("Pending").await?;
    }
    tenant.until_phase("Ready").await?;
    tenant.until_secret(SOON, &kubeconfig(&cluster)).await?;
    ensure!(hub.get(&pool).await?.is_some(), "the pool went before its cluster");
    ended(tenant, &claimed, &cluster).await?;
    hub.until_gone(&pool, SOON).await?;
    late.until_condition("RequestAccepted", "False", "PoolNotFound").await?;
    late.until_phase("Pending").await.map(|_| ())
}

/// Asks of a pool that may have no cluster, and waits until the claim is in its queue.
pub async fn queued(tenant: &Tenant<'_>) -> anyhow::Result<Claimed> {
    tenant.engine.offer.empty(tenant.pool()).await?;
    tenant.ask(&json!({})).await?;
    let claimed = tenant.claimed().await?;
    claimed.until_asked(SOON).await?;
    tenant.until(SOON, "in the queue", |claim| claim["status"]["queue"]["position"] == 1).await?;
    Ok(claimed)
}

/// Pools on two hubs that may hold one cluster each: a full hub is passed over, and who finds all of them full waits for the first that
/// is not any more.
pub async fn hive_full_hub_passed_over(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    let engine = tenant.engine;
    let (here, there) = (engine.hub.cluster(), engine.another_hub().await?);
    there.hive().await;
    let hubs = OwnHubs::of(tenant, &[]);
    let (none, owner) = (json!({}), format!("{}-anywhere", tenant.pool()));
    let mut pools = Vec::new();
    for (name, secret, plane) in [("east", BEHIND, here), ("west", WEST, there.cluster())] {
        hubs.add(name, secret, &none, &none).await?;
        let pool = Elsewhere { hub: hubs.name(name), most: 1, pool: hubs.name(name), owner: owner.clone() };
        plane.apply(&cluster_pool(POOLS, &pool.pool, 1, 1, 3)).await?;
        pools.push(pool);
    }
    engine.offer.list_elsewhere(&pools).await?;
    hubs.settled().await?;
    let block = json!({ "clusterClaim": { "version": "4.20", "cloud": "aws", "owner": owner } });
    let ask = async |name: &str| {
        let claim = tenant.also(name, Fulfilled::ByHive).await?;
        claim.ask(&block).await?;
        anyhow::Ok(claim)
    };
    let on = |claim: &Value| text(claim, "/status/hub/name").to_owned();
    let mut taken = Vec::new();
    for name in ["first", "second"] {
        let claim = ask(name).await?;
        let ready = claim.until(SOON, "Ready", |claim| claim["status"]["phase"] == "Ready").await?;
        taken.push((on(&ready), claim));
    }
    let [(one, first), (other, second)] = taken.as_slice() else { anyhow::bail!("not two") };
    ensure!(one != other, "both are on {one}, which may hold one");
    for (hub, claim) in [(one, first), (other, second)] {
        let plane = if *hub == hubs.name("east") { here } else { there.cluster() };
        let cluster = Claimed::new(plane, &claim.composite().await?).cluster().await?;
        claim.until_secret(SOON, &kubeconfig(&cluster)).await?;
    }
    let third = ask("third").await?;
    third.until_condition("RequestAccepted", "False", "HubFull").await?;
    let claim = third.until_phase("Pending").await?;
    ensure!(claim["status"]["hub"]["reason"] == "HubFull", "{}", claim["status"]["hub"]);
    second.konflux().delete(&second.claim()).await?;
    second.konflux().until_gone(&second.claim(), SOON).await?;
    let served = third.until(GONE, "served", |claim| claim["status"]["phase"] == "Ready").await?;
    ensure!(on(&served) == *other, "{} was free, and it is on {}", other, on(&served));
    Ok(())
}
