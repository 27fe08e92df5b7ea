//! HyperShift's controller of NodePools.

use serde_json::{Value, json};

use super::{FINALIZER, Played, objects::version};
use crate::{
    cluster::{At, at, has},
    hive::objects::text,
    kinds::NODE_POOL,
    player::told,
};

impl Played {
    /// A NodePool, and the HostedCluster that it belongs to, if that is there.
    pub(super) async fn look_at_pool(&mut self, pool: &Value, cluster: Option<&Value>) -> anyhow::Result<()> {
        let name = text(pool, "/metadata/name");
        let behaviour = self.behaviour();
        if pool["metadata"]["deletionTimestamp"].is_string() {
            if self.since.over("ending pool", name, behaviour.ending) {
                self.hub.merge(&place(pool), &json!({ "metadata": { "finalizers": null } })).await?;
                self.since.forget(name);
            }
            return Ok(());
        }
        if pool["metadata"]["finalizers"].is_null() {
            self.hub.merge(&place(pool), &json!({ "metadata": { "finalizers": [FINALIZER] } })).await?;
        }
        if !cluster.is_some_and(|cluster| has(cluster, "Available", "True", "")) {
            return Ok(());
        }
        let spec = &pool["spec"];
        let wanted = spec["replicas"].as_i64().or_else(|| spec["autoScaling"]["min"].as_i64()).unwrap_or(0);
        let release = version(text(pool, "/spec/release/image"));
        let there = json!({ "replicas": wanted, "version": release });
        let is = |key: &str| pool["status"][key] == there[key];
        if is("replicas") && is("version") {
            self.since.ended("changing pool", name);
            return Ok(());
        }
        let yes = |type_| (type_, "True", "AsExpected", String::new());
        let no = |type_| (type_, "False", "AsExpected", String::new());
        let status = if self.since.over("changing pool", name, behaviour.changing) {
            told(pool, there, &[yes("Ready"), yes("AllNodesHealthy"), no("UpdatingVersion")])
        } else if is("version") || pool["status"]["version"].is_null() {
            None
        } else {
            told(pool, json!({}), &[yes("UpdatingVersion")])
        };
        match status {
            Some(status) => Ok(self.hub.merge_status(&place(pool), &status).await?),
            None => Ok(()),
        }
    }
}

pub(super) fn place(pool: &Value) -> At {
    at(NODE_POOL, text(pool, "/metadata/namespace"), text(pool, "/metadata/name"))
}
