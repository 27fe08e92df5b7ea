//! Pools that are kept in Git: from an XTestPlatformClusterPool to a ClusterPool on the hub, with real Crossplane in between.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testplatform_tests::{
    actors::{Fulfilled, now},
    cluster::{At, Cluster, SOON, at, at_root, brief},
    hive::{claimed::kubeconfig, objects::text, offer::POOLS},
    kinds::{CLUSTER_POOL, OBJECT, POOL},
    patience::longer,
    tenant::Tenant,
};

use super::hive::{GONE, ended, got};

/// Until the clock has passed a full minute: what is good until then is asked for again at nine tenths of the rest, and core adds to that.
const MINUTE: Duration = Duration::from_mins(3);

/// A pool in Git, and its ClusterPool.
struct Kept<'t> {
    konflux: &'t Cluster,
    hub: &'t Cluster,
    name: String,
}

impl<'t> Kept<'t> {
    /// Asks for a pool of one running cluster, with more fields of the spec.
    async fn ask(tenant: &'t Tenant<'_>, more: &Value) -> anyhow::Result<Self> {
        tenant.engine.keep_pools().await?;
        let name = tenant.pool().to_owned();
        let mut pool = json!({
            "apiVersion": POOL.api_version, "kind": POOL.kind, "metadata": { "name": name },
            "spec": {
                "namespace": POOLS, "providerConfig": "testplatform-kubernetes-provider-config",
                "size": 1, "runningCount": 1, "maxSize": 3, "baseDomain": "ci.example.com",
                "imageSetRef": { "name": "ocp-4.20" }, "credentialsRef": { "name": "aws-1" },
                "platform": { "aws": { "region": "us-east-1" } },
            },
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            pool["spec"][key] = value.clone();
        }
        let kept = Self { konflux: tenant.konflux(), hub: tenant.engine.hub.cluster(), name };
        kept.konflux.create(&pool).await.context("the pool is refused")?;
        Ok(kept)
    }

    fn composite(&self) -> At {
        at_root(POOL, &self.name)
    }

    fn writer(&self) -> At {
        at_root(OBJECT, &format!("managed-{}", self.name))
    }

    fn remote(&self) -> At {
        at(CLUSTER_POOL, POOLS, &self.name)
    }

    async fn change(&self, spec: &Value) -> anyhow::Result<()> {
        Ok(self.konflux.merge(&self.composite(), &json!({ "spec": spec })).await?)
    }

    /// Waits for something that the definition's status says.
    async fn until(&self, what: &str, is: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let seen = self.konflux.until_is(&self.composite(), GONE, what, |pool| is(&pool["status"])).await;
        self.told(seen).await
    }

    /// Waits for something that the ClusterPool asks of Hive.
    async fn until_asked(&self, within: Duration, field: &str, value: i64) -> anyhow::Result<Value> {
        let what = format!("with {field} {value}");
        let seen =
            self.hub.until_is(&self.remote(), within, &what, |pool| pool["spec"][field] == value).await;
        self.told(seen).await
    }

    /// With how everything of the pool stands, if it is an error.
    async fn told<T>(&self, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
        let Err(error) = outcome else { return outcome };
        let mut story = Vec::new();
        for (cluster, at) in
            [(self.konflux, self.composite()), (self.konflux, self.writer()), (self.hub, self.remote())]
        {
            story.push(format!("--- {at}: {}", brief(cluster.get(&at).await.ok().flatten().as_ref())));
        }
        Err(error.context(story.join("\n")))
    }

    /// Takes the definition away, and waits until nothing is left.
    async fn end(&self) -> anyhow::Result<()> {
        self.konflux.delete(&self.composite()).await?;
        for at in [self.composite(), self.writer()] {
            self.konflux.until_gone(&at, GONE).await?;
        }
        ensure!(self.hub.get(&self.remote()).await?.is_none(), "the ClusterPool is left");
        Ok(())
    }
}

/// Made, used, changed and drained. A cluster that somebody has holds the pool, and lives on.
pub async fn hive_pool_from_git(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.engine.offer.list(tenant.pool(), &tenant.namespace).await?;
    let pool = Kept::ask(tenant, &json!({})).await?;
    pool.until_asked(SOON, "size", 1).await?;
    // The provider on the hub counts claimed clusters.
    let full = |s: &Value| s["phase"] == "Ready" && s["size"] == 1 && s["ready"] == 1 && s["claimed"] == 0;
    pool.until("full", full).await?;

    let user = tenant.also("user", Fulfilled::ByHive).await?;
    let (claimed, cluster) = got(&user).await?;
    ensure!(cluster.starts_with(tenant.pool()), "{cluster} is another pool's");
    pool.until("used", |s| s["claimed"] == 1 && s["ready"] == 1).await?;
    pool.change(&json!({ "size": 0, "runningCount": 0, "maxConcurrent": 4 })).await?;
    pool.until_asked(SOON, "maxConcurrent", 4).await?;
    pool.until_asked(SOON, "size", 0).await?;

    pool.change(&json!({ "drain": true })).await?;
    let held = |s: &Value| s["phase"] == "Draining" && s["claimedClusters"] == json!([cluster]);
    let seen = pool.until("held by that cluster", held).await?;
    ensure!(text(&seen, "/status/message").contains(&cluster), "{seen}");
    let remote = pool.hub.get(&pool.remote()).await?.context("the pool went before its cluster")?;
    ensure!(remote["metadata"]["deletionTimestamp"].is_string(), "{remote}");
    // It is held for as long as it is used, and not called gone meanwhile.
    tokio::time::sleep(Duration::from_secs(5)).await;
    pool.until("still held", held).await?;
    user.until_phase("Ready").await?;
    user.until_secret(SOON, &kubeconfig(&cluster)).await?;
    ended(&user, &claimed, &cluster).await?;
    pool.hub.until_gone(&pool.remote(), SOON).await?;
    let drained = |pool: &Value| pool["status"]["phase"] == "Drained";
    pool.konflux.until_is(&pool.composite(), GONE, "drained", drained).await?;
    pool.end().await
}

/// Deleted while a cluster of it is used: the Object stays until Hive is done, and the cluster lives on.
pub async fn hive_pool_in_git_deleted(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.engine.offer.list(tenant.pool(), &tenant.namespace).await?;
    let pool = Kept::ask(tenant, &json!({})).await?;
    let user = tenant.also("user", Fulfilled::ByHive).await?;
    let (claimed, cluster) = got(&user).await?;
    pool.konflux.delete(&pool.composite()).await?;
    let goes = |pool: &Value| pool["metadata"]["deletionTimestamp"].is_string();
    pool.hub.until_is(&pool.remote(), GONE, "deleted", goes).await?;
    let late = user.another("late").await?;
    late.ask(&json!({})).await?;
    late.until_condition("RequestAccepted", "False", "PoolDeleting").await?;
    ensure!(pool.konflux.get(&pool.writer()).await?.is_some(), "the Object went before the pool");
    user.until_phase("Ready").await?;
    user.until_secret(SOON, &kubeconfig(&cluster)).await?;
    ended(&user, &claimed, &cluster).await?;
    pool.hub.until_gone(&pool.remote(), SOON).await?;
    pool.konflux.until_gone(&pool.writer(), GONE).await?;
    late.until_condition("RequestAccepted", "False", "PoolNotFound").await.map(|_| ())
}

/// Its size changes when the clock passes the end of a window, and nobody has to do anything.
pub async fn hive_pool_by_the_clock(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.engine.offer.start().await;
    // The first start of the pools' controllers takes a while.
    tenant.engine.keep_pools().await?;
    // The end of this minute or, where that is too near, of the next; where that is another day, so is the window's.
    let text = |at: jiff::Timestamp, format: &str| at.strftime(format).to_string();
    let (begins, ends) = loop {
        let begins = now();
        let ends = begins + longer(Duration::from_secs(100));
        if text(begins, "%a") == text(ends, "%a") {
            break (begins, ends);
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    };
    let window = json!({
        "name": "now", "days": [text(begins, "%a")], "start": "00:00", "end": text(ends, "%H:%M"),
        "size": 2, "runningCount": 1,
    });
    let schedule = json!({ "timeZone": "UTC", "default": { "size": 1 }, "windows": [window] });
    let pool = Kept::ask(tenant, &json!({ "schedule": schedule })).await?;
    pool.until_asked(SOON, "size", 2).await?;
    let inside =
        |s: &Value| s["schedule"]["activeWindow"] == "now" && s["schedule"]["nextTransition"].is_string();
    pool.until("in the window", inside).await?;
    pool.until_asked(MINUTE, "size", 1).await?;
    pool.until("outside", |s| s["schedule"]["activeWindow"].is_null()).await?;
    pool.end().await
}

/// Somebody on the hub scales: real provider-kubernetes writes the size no more, and every other change still arrives.
pub async fn hive_pool_scaled_by_others(tenant: &Tenant<'_>) -> anyhow::Result<()> {
    tenant.engine.offer.start().await;
    let pool = Kept::ask(tenant, &json!({ "scalingMode": "External" })).await?;
    pool.until_asked(SOON, "size", 1).await?;
    let owners = |remote: &Value| {
        let fields = remote["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let own = fields.into_iter().filter(|f| f["fieldsV1"]["f:spec"]["f:size"].is_object());
        own.map(|f| text(&f, "/manager").to_owned()).collect::<Vec<_>>()
    };
    let size = format!("provider-kubernetes/size-{}", pool.name);
    let handed = |remote: &Value| owners(remote) == [size.as_str()];
    pool.hub.until_is(&pool.remote(), GONE, "handed over", handed).await?;
    // Whoever scales before the second owner only watches is undone, and is told to wait by this.
    let accepted = |s: &Value| {
        let conditions = s["conditions"].as_array();
        conditions.is_some_and(|all| {
            all.iter().any(|c| c["type"] == "RequestAccepted" && c["reason"] == "Accepted")
        })
    };
    pool.until("no longer being handed over", accepted).await?;
    pool.hub.merge(&pool.remote(), &json!({ "spec": { "size": 3 } })).await?;
    // A change in Git, and the size there, which is that of the beginning.
    pool.change(&json!({ "maxConcurrent": 2, "size": 2 })).await?;
    let changed = pool.until_asked(SOON, "maxConcurrent", 2).await?;
    ensure!(changed["spec"]["size"] == 3, "the size was overwritten: {changed}");
    // Both Objects are looked at again, and leave it as it is.
    for object in ["managed", "size"] {
        let object = at_root(OBJECT, &format!("{object}-{}", pool.name));
        pool.konflux
            .merge(&object, &json!({ "metadata": { "annotations": { "testbed/nudge": "1" } } }))
            .await?;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    pool.hub.merge(&pool.remote(), &json!({ "spec": { "size": 0 } })).await?;
    pool.change(&json!({ "maxConcurrent": 3 })).await?;
    let changed = pool.until_asked(SOON, "maxConcurrent", 3).await?;
    ensure!(changed["spec"]["size"] == 0, "the size was overwritten: {changed}");
    pool.until("as it stands on the hub", |s| text(s, "/message").contains("of 0 clusters")).await?;
    pool.end().await
}
