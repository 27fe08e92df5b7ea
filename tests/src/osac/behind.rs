//! Continuation after OSAC's jobs: HyperShift in the namespaces of orders.

use serde_json::{Value, json};

use super::{COURSE, JOB, Played, behind, hosted_cluster};
use crate::{
    cluster::{at, has},
    hive::objects::text,
    hypershift::{objects as hosted, roll_out},
    kinds::NODE_POOL,
    player::{Said, told},
};

impl Played {
    /// Starts the cluster of an order, and follows the order's changes from then on. `well`: its control plane is not out of order.
    pub(super) async fn serve(&mut self, order: &Value, name: &str, well: bool) -> anyhow::Result<()> {
        let place = hosted_cluster(name);
        let Some(cluster) = self.hub.get(&place).await? else { return Ok(()) };
        let said = [hosted::infrastructure(), hosted::available(well)].concat();
        if let Some(status) = told(&cluster, hosted::endpoint(name), &said) {
            self.hub.merge_status(&place, &status).await?;
        }
        let nodes = self.staff(name, &cluster).await?;
        roll_out(&self.hub, &mut self.since, &cluster, &place, nodes, JOB).await?;
        // OSAC never takes back this condition.
        if !has(order, "ControlPlaneAvailable", "True", "") {
            return self.say(order, json!({}), &COURSE).await;
        }
        let installed = cluster["status"]["version"]["history"][0]["state"] == "Completed";
        if installed && !has(order, "ClusterAvailable", "True", "") {
            return self.say(order, json!({}), &["ClusterAvailable"]).await;
        }
        Ok(())
    }

    /// The nodes are there. They get another release once the control plane has it. Whether there are any.
    async fn staff(&self, name: &str, cluster: &Value) -> anyhow::Result<bool> {
        let newest = &cluster["status"]["version"]["history"][0];
        let mut any = false;
        for pool in self.pools(name).await? {
            let image = text(&pool, "/spec/release/image");
            let old = &pool["status"]["version"];
            let may = old.is_null() || (newest["state"] == "Completed" && newest["image"] == image);
            let version = if may { hosted::version(image).into() } else { old.clone() };
            let there = json!({ "replicas": pool["spec"]["replicas"], "version": version });
            any |= there["replicas"].as_i64().is_some_and(|nodes| nodes > 0);
            let ready: [Said; 1] = [("Ready", "True", "AsExpected", String::new())];
            if let Some(status) = told(&pool, there, &ready) {
                let place = at(NODE_POOL, &behind(name), text(&pool, "/metadata/name"));
                self.hub.merge_status(&place, &status).await?;
            }
        }
        Ok(any)
    }

    /// The NodePools of an order.
    pub(super) async fn pools(&self, name: &str) -> anyhow::Result<Vec<Value>> {
        let mut pools = self.hub.list(NODE_POOL).await?;
        pools.retain(|pool| text(pool, "/metadata/namespace") == behind(name));
        Ok(pools)
    }
}
