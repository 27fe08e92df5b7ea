//! Hive's controller of claims.

use anyhow::Context as _;
use serde_json::{Value, json};
use testplatform_apis::duration::GoDuration;

use super::{
    FINALIZERS, Played, Seen, deployment,
    objects::{self, text},
};
use crate::{
    actors::now,
    cluster::{At, at, condition, has},
    kinds::{CLUSTER_CLAIM, ROLE, ROLE_BINDING},
};

/// Name of the role in a cluster's namespace, and of its binding.
const OWNER: &str = "hive-claim-owner";

impl Played {
    /// Gives the oldest running clusters to the oldest claims: the claim is written first.
    pub(super) async fn assign(
        &self,
        pool: &str,
        waiting: &[&Value],
        ready: &[&Value],
    ) -> anyhow::Result<()> {
        let conflicts = self.behaviour().conflicts.contains(pool);
        for (n, claim) in waiting.iter().enumerate() {
            let given = ready.get(n).or_else(|| ready.last().filter(|_| conflicts));
            let Some(cluster) = given else {
                self.say(claim, "Pending", "True", "NoClusters").await?;
                continue;
            };
            let name = text(cluster, "/metadata/name");
            self.hub.merge(&place(claim), &json!({ "spec": { "namespace": name } })).await?;
            self.say(claim, "Pending", "True", "ClusterAssigned").await?;
            if n < ready.len() {
                self.take(claim, name).await?;
            }
        }
        Ok(())
    }

    /// Makes a cluster that of a claim.
    async fn take(&self, claim: &Value, cluster: &str) -> anyhow::Result<()> {
        let claimed = json!({ "spec": { "powerState": "Running", "clusterPoolRef": {
            "claimName": claim["metadata"]["name"], "claimedTimestamp": objects::seconds(),
        } } });
        Ok(self.hub.merge(&deployment(cluster), &claimed).await?)
    }

    pub(super) async fn look_at_claim(&mut self, claim: &Value, seen: &Seen) -> anyhow::Result<()> {
        if claim["metadata"]["deletionTimestamp"].is_string() {
            return self.release(claim, seen).await;
        }
        if condition(claim, "Pending").is_none() {
            self.say(claim, "Pending", "Unknown", "Initialized").await?;
            return self.say(claim, "ClusterRunning", "Unknown", "Initialized").await;
        }
        if claim["metadata"]["finalizers"].is_null() {
            let held = json!({ "metadata": { "finalizers": [FINALIZERS[0]] } });
            self.hub.merge(&place(claim), &held).await?;
        }
        let name = text(claim, "/spec/namespace");
        if name.is_empty() {
            return Ok(());
        }
        let Some(cluster) = seen.cluster(name) else {
            return self.say(claim, "ClusterRunning", "False", "ClusterDeleted").await;
        };
        let owner = text(cluster, "/spec/clusterPoolRef/claimName");
        // Between the two writes of an assignment the hub was away.
        if owner.is_empty() {
            return self.take(claim, name).await;
        }
        if owner != text(claim, "/metadata/name") {
            if self.behaviour().conflicts.contains(text(claim, "/spec/clusterPoolName")) {
                return Ok(());
            }
            // Its reason never becomes visible.
            return Ok(self.hub.merge(&place(claim), &json!({ "spec": { "namespace": null } })).await?);
        }
        if cluster["metadata"]["deletionTimestamp"].is_string() {
            return self.say(claim, "ClusterRunning", "False", "ClusterDeleting").await;
        }
        if !has(claim, "Pending", "False", "ClusterClaimed") {
            if !self.let_in(claim, cluster).await? {
                return Ok(());
            }
            self.say(claim, "Pending", "False", "ClusterClaimed").await?;
        }
        match text(cluster, "/status/powerState") {
            "Running" => self.say(claim, "ClusterRunning", "True", "Running").await?,
            _ => self.say(claim, "ClusterRunning", "False", "Resuming").await?,
        }
        self.expire(claim, seen.pool_of(claim)).await
    }

    /// Lets the claim's subjects into the cluster's namespace, if it is known to which Secrets.
    async fn let_in(&self, claim: &Value, cluster: &Value) -> anyhow::Result<bool> {
        let subjects = &claim["spec"]["subjects"];
        if subjects.as_array().is_none_or(Vec::is_empty) {
            return Ok(true);
        }
        let namespace = text(claim, "/spec/namespace");
        if self.hub.get(&at(ROLE_BINDING, namespace, OWNER)).await?.is_some() {
            return Ok(true);
        }
        let secret =
            |reference: &str| text(cluster, &format!("/spec/clusterMetadata/{reference}/name")).to_owned();
        let secrets =
            ["adminKubeconfigSecretRef", "adminPasswordSecretRef", "metadataJSONSecretRef"].map(secret);
        if secrets[2].is_empty() {
            return Ok(false);
        }
        let api = "rbac.authorization.k8s.io";
        let metadata = json!({ "name": OWNER, "namespace": namespace });
        self.hub
            .apply(
                &json!({ "apiVersion": format!("{api}/v1"), "kind": "Role", "metadata": metadata, "rules": [
                { "apiGroups": ["hive.openshift.io"], "resources": ["*"], "verbs": ["*"] },
                { "apiGroups": [""], "resources": ["secrets"], "resourceNames": secrets, "verbs": ["get"] },
            ] }),
            )
            .await?;
        self.hub
            .apply(&json!({ "apiVersion": format!("{api}/v1"), "kind": "RoleBinding", "metadata": metadata,
                "roleRef": { "apiGroup": api, "kind": "Role", "name": OWNER }, "subjects": subjects }))
            .await?;
        Ok(true)
    }

    /// Deletes a claim at the end of its lifetime, which counts from the assignment.
    async fn expire(&self, claim: &Value, pool: Option<&Value>) -> anyhow::Result<()> {
        let Some(lifetime) = lifetime(claim, pool) else { return Ok(()) };
        let Some(since) = condition(claim, "Pending").filter(|c| c["status"] == "False") else {
            return Ok(());
        };
        if claim["status"]["lifetime"].is_null() {
            let lifetime = json!({ "lifetime": lifetime });
            return Ok(self.hub.merge_status(&place(claim), &lifetime).await?);
        }
        let since: jiff::Timestamp = since["lastTransitionTime"].as_str().context("no time")?.parse()?;
        if since.checked_add(lifetime.as_signed())? <= now() {
            self.hub.delete(&place(claim)).await?;
        }
        Ok(())
    }

    /// Ends its cluster, and lets a deleted claim go when that is gone.
    async fn release(&mut self, claim: &Value, seen: &Seen) -> anyhow::Result<()> {
        let name = text(claim, "/spec/namespace");
        let of =
            |cluster: &&Value| cluster["spec"]["clusterPoolRef"]["claimName"] == claim["metadata"]["name"];
        if let Some(cluster) = seen.cluster(name).filter(of) {
            if cluster["metadata"]["annotations"]["hive.openshift.io/remove-cluster-from-pool"] != "true" {
                let marked = json!({ "metadata": { "annotations": { "hive.openshift.io/remove-cluster-from-pool": "true" } } });
                self.hub.delete(&at(ROLE_BINDING, name, OWNER)).await?;
                self.hub.delete(&at(ROLE, name, OWNER)).await?;
                self.hub.merge(&deployment(name), &marked).await?;
            }
            return Ok(());
        }
        Ok(self.hub.merge(&place(claim), &json!({ "metadata": { "finalizers": null } })).await?)
    }

    /// Sets a condition. Its time moves with its status only.
    async fn say(&self, claim: &Value, type_: &str, status: &str, reason: &str) -> anyhow::Result<()> {
        if has(claim, type_, status, reason) {
            return Ok(());
        }
        // The conditions go in whole, and some may have been said in this very look.
        let Some(claim) = self.hub.get(&place(claim)).await? else { return Ok(()) };
        if has(&claim, type_, status, reason) {
            return Ok(());
        }
        let before = condition(&claim, type_).filter(|c| c["status"] == status);
        let since = before.map_or_else(|| objects::seconds().into(), |c| c["lastTransitionTime"].clone());
        let mut conditions = claim["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.retain(|c| c["type"] != type_);
        conditions.push(json!({
            "type": type_, "status": status, "reason": reason, "message": reason, "lastTransitionTime": since,
        }));
        Ok(self.hub.merge_status(&place(&claim), &json!({ "conditions": conditions })).await?)
    }
}

/// The claim's own or its pool's default, and never more than its pool's maximum.
fn lifetime(claim: &Value, pool: Option<&Value>) -> Option<GoDuration> {
    let read = |object: &Value, pointer: &str| text(object, pointer).parse::<GoDuration>().ok();
    let of_pool = |pointer: &str| pool.and_then(|pool| read(pool, pointer));
    let own = read(claim, "/spec/lifetime").or_else(|| of_pool("/spec/claimLifetime/default"));
    [own, of_pool("/spec/claimLifetime/maximum")].into_iter().flatten().min()
}

fn place(claim: &Value) -> At {
    at(CLUSTER_CLAIM, text(claim, "/metadata/namespace"), text(claim, "/metadata/name"))
}
