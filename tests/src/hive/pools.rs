//! Hive's controller of pools.

use serde_json::{Value, json};

use super::{
    FINALIZERS, Played, Seen, deployment,
    objects::{self, cluster_deployment, text},
};
use crate::{cluster::at, kinds::CLUSTER_POOL};

impl Played {
    /// Assigns, wakes, makes and counts.
    pub(super) async fn look_at_pool(&mut self, pool: &Value, seen: &Seen) -> anyhow::Result<()> {
        let (namespace, name) = (text(pool, "/metadata/namespace"), text(pool, "/metadata/name"));
        let mut clusters = seen.clusters_of(namespace, name);
        if pool["metadata"]["deletionTimestamp"].is_string() {
            return self.empty_pool(pool, &clusters).await;
        }
        let here = at(CLUSTER_POOL, namespace, name);
        if pool["metadata"]["finalizers"].is_null() {
            let held = json!({ "metadata": { "finalizers": [FINALIZERS[2]] } });
            self.hub.merge(&here, &held).await?;
        }
        clusters.retain(|cluster| cluster["metadata"]["deletionTimestamp"].is_null());
        let total = clusters.len();
        // A cluster that a claim names belongs to that claim, even if the cluster does not name the claim yet.
        let named = |cluster: &&Value| {
            seen.claims.iter().any(|claim| claim["spec"]["namespace"] == cluster["metadata"]["name"])
        };
        clusters.retain(|c| text(c, "/spec/clusterPoolRef/claimName").is_empty() && !named(c));
        let waiting = seen.waiting(namespace, name);
        let running = |c: &Value| c["spec"]["installed"] == true && c["status"]["powerState"] == "Running";
        let (ready, others): (Vec<&Value>, Vec<&Value>) = clusters.iter().partition(|c| running(c));
        let standby: Vec<&Value> = others.into_iter().filter(|c| c["spec"]["installed"] == true).collect();
        let counts = json!({ "size": clusters.len(), "ready": ready.len(), "standby": standby.len() });
        if objects::differs(&pool["status"], &counts) {
            self.hub.merge_status(&here, &counts).await?;
        }
        self.assign(name, &waiting, &ready).await?;
        let left = waiting.len().saturating_sub(ready.len());
        let wanted = usize::try_from(pool["spec"]["runningCount"].as_u64().unwrap_or_default())? + left;
        for cluster in standby.iter().take(wanted) {
            if cluster["spec"]["powerState"] != "Running" {
                let awake = json!({ "spec": { "powerState": "Running" } });
                self.hub.merge(&deployment(text(cluster, "/metadata/name")), &awake).await?;
            }
        }
        let size = usize::try_from(pool["spec"]["size"].as_u64().unwrap_or_default())?;
        let most = pool["spec"]["maxSize"].as_u64().map_or(Ok(usize::MAX), usize::try_from)?;
        if clusters.len() < size + waiting.len() && total < most {
            self.made += 1;
            let made = cluster_deployment(namespace, name, &format!("{name}-{}", self.made));
            self.hub.apply_all(&made).await?;
        }
        Ok(())
    }

    /// A pool that goes: what nobody has goes first, and what somebody has holds it.
    async fn empty_pool(&self, pool: &Value, clusters: &[&Value]) -> anyhow::Result<()> {
        let here = at(CLUSTER_POOL, text(pool, "/metadata/namespace"), text(pool, "/metadata/name"));
        if clusters.is_empty() {
            return Ok(self.hub.merge(&here, &json!({ "metadata": { "finalizers": null } })).await?);
        }
        let unclaimed = |c: &&&Value| text(c, "/spec/clusterPoolRef/claimName").is_empty();
        for cluster in clusters.iter().filter(unclaimed) {
            self.hub.delete(&deployment(text(cluster, "/metadata/name"))).await?;
        }
        let held = objects::held(clusters);
        if pool["status"]["conditions"] == held["conditions"] {
            return Ok(());
        }
        Ok(self.hub.merge_status(&here, &held).await?)
    }
}
