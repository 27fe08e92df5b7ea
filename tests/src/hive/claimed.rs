//! The hand on one ClusterClaim and on the cluster that Hive gives for it.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use super::{
    deployment,
    objects::{self, text},
    offer::{CREDENTIALS, POOLS},
};
use crate::{
    cluster::{At, Cluster, at, has},
    kinds::{CLUSTER_CLAIM, SECRET},
};

/// The ClusterClaim of a composite.
pub struct Claimed {
    hub: Cluster,
    name: String,
}

impl Claimed {
    /// By the composite's name, which is its own.
    pub fn new(hub: &Cluster, composite: &str) -> Self {
        Self { hub: hub.clone(), name: composite.to_owned() }
    }

    /// The ClusterClaim.
    pub fn at(&self) -> At {
        at(CLUSTER_CLAIM, POOLS, &self.name)
    }

    /// The Secret that the provider publishes for it.
    pub fn published(&self) -> At {
        at(SECRET, CREDENTIALS, &format!("{}-credentials", self.name))
    }

    /// It, as it is.
    pub async fn get(&self) -> anyhow::Result<Option<Value>> {
        self.hub.get(&self.at()).await
    }

    /// Waits until Hive is asked.
    pub async fn until_asked(&self, within: Duration) -> anyhow::Result<Value> {
        self.hub.until_is(&self.at(), within, "there", |_| true).await
    }

    /// Waits until its cluster runs, and returns that cluster's name.
    pub async fn until_running(&self, within: Duration) -> anyhow::Result<String> {
        let running = |claim: &Value| has(claim, "ClusterRunning", "True", "Running");
        let claim = self.hub.until_is(&self.at(), within, "running", running).await?;
        Ok(text(&claim, "/spec/namespace").to_owned())
    }

    /// Waits until its end is asked for: it is deleted, or gone.
    pub async fn until_released(&self, within: Duration) -> anyhow::Result<()> {
        let released =
            |claim: Option<&Value>| claim.is_none_or(|c| c["metadata"]["deletionTimestamp"].is_string());
        self.hub.until(&self.at(), within, "deleted", released).await.map(|_| ())
    }

    /// Name of its cluster.
    pub async fn cluster(&self) -> anyhow::Result<String> {
        let claim = self.get().await?.with_context(|| format!("{} is gone", self.at()))?;
        Ok(text(&claim, "/spec/namespace").to_owned())
    }

    /// Remaining objects on the hub: the claim, its cluster, its credentials.
    pub async fn left(&self, cluster: &str) -> anyhow::Result<Vec<String>> {
        let mut left = Vec::new();
        for at in [self.at(), deployment(cluster), self.published()] {
            if self.hub.get(&at).await?.is_some() {
                left.push(at.to_string());
            }
        }
        Ok(left)
    }
}

/// The kubeconfig that Hive has of a cluster since its installation.
pub fn kubeconfig(cluster: &str) -> String {
    objects::kubeconfig(cluster, &objects::token(cluster))
}
