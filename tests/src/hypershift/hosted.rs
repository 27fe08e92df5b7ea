//! The hand on one HostedCluster.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{CLUSTERS, hosted_cluster, node_pools, pools};
use crate::{
    cluster::{At, Cluster, at, has},
    hive::{
        objects::{kubeconfig, token},
        offer::CREDENTIALS,
    },
    kinds::{NODE_POOL, SECRET},
};

/// The HostedCluster of a composite.
pub struct Hosted {
    hub: Cluster,
    name: String,
}

impl Hosted {
    /// By the composite's name, which is its own.
    pub fn new(hub: &Cluster, composite: &str) -> Self {
        Self { hub: hub.clone(), name: composite.to_owned() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The HostedCluster.
    pub fn at(&self) -> At {
        hosted_cluster(&self.name)
    }

    /// The NodePool of a group.
    pub fn pool(&self, group: &str) -> At {
        at(NODE_POOL, CLUSTERS, &format!("{}-{group}", self.name))
    }

    /// The Secret that the provider publishes for it.
    pub fn published(&self) -> At {
        at(SECRET, CREDENTIALS, &format!("{}-credentials", self.name))
    }

    /// The kubeconfig that it is made with.
    pub fn kubeconfig(&self) -> String {
        kubeconfig(&self.name, &token(&self.name))
    }

    /// Waits until HyperShift is asked.
    pub async fn until_asked(&self, within: Duration) -> anyhow::Result<Value> {
        self.hub.until_is(&self.at(), within, "there", |_| true).await
    }

    /// Waits until its API server answers.
    pub async fn until_available(&self, within: Duration) -> anyhow::Result<Value> {
        let available = |cluster: &Value| has(cluster, "Available", "True", "");
        self.hub.until_is(&self.at(), within, "available", available).await
    }

    /// Waits until its end is asked for: it is deleted, or gone.
    pub async fn until_released(&self, within: Duration) -> anyhow::Result<()> {
        let released =
            |cluster: Option<&Value>| cluster.is_none_or(|c| c["metadata"]["deletionTimestamp"].is_string());
        self.hub.until(&self.at(), within, "deleted", released).await.map(|_| ())
    }

    /// Somebody takes it away underneath its claim, and it is gone at once, whoever was the quicker: HyperShift lets it go too.
    pub async fn lose(&self) -> anyhow::Result<()> {
        self.hub.delete(&self.at()).await?;
        let free = json!({ "metadata": { "finalizers": null } });
        match self.hub.merge(&self.at(), &free).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other.context("it cannot be lost"),
        }
    }

    /// Waits until its nodes are gone.
    pub async fn until_no_nodes(&self, within: Duration) -> anyhow::Result<()> {
        for pool in node_pools(&self.hub, &self.name).await? {
            self.hub.until_gone(&pools::place(&pool), within).await?;
        }
        Ok(())
    }

    /// Remaining objects on the hub: itself, its nodes, its credentials.
    pub async fn left(&self) -> anyhow::Result<Vec<String>> {
        let mut left: Vec<String> = Vec::new();
        for pool in node_pools(&self.hub, &self.name).await? {
            left.push(format!("NodePool {}", pool["metadata"]["name"]));
        }
        for at in [self.at(), self.published()] {
            if self.hub.get(&at).await?.is_some() {
                left.push(at.to_string());
            }
        }
        Ok(left)
    }
}
