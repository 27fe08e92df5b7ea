//! Caches of pools, their claims and their clusters.

use std::sync::{Arc, Mutex};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::reflector::{self, ObjectRef, Store, store::Writer};
use testplatform_runtime::{
    metrics::RuntimeMetrics,
    watch::Health,
    workqueue::{RequestQueue, Settings, WORKERS},
};

use super::object::{ClusterClaim, ClusterDeployment, ClusterPool};
use crate::credentials::{Published, publish::PublishedSecrets, secret::PREFIX};

const SETTINGS: Settings = Settings { measures_wait: true, ..Settings::cached("clusterclaims", WORKERS) };

/// Caches, and the queues of their objects.
pub struct ClaimCaches {
    /// ClusterClaims, including those of others: they wait in the same queues.
    pub claims: Store<ClusterClaim>,
    /// ClusterPools.
    pub pools: Store<ClusterPool>,
    /// ClusterDeployments.
    pub deployments: Store<ClusterDeployment>,
    /// Published Secrets.
    pub secrets: PublishedSecrets,
    /// Keys of claims.
    pub queue: RequestQueue<String>,
    /// Of the watches: claims, pools, deployments and Secrets.
    pub health: [Health; 4],
    pub(super) writers: Mutex<Option<ClaimWriters>>,
}

/// Fill the caches.
pub(super) struct ClaimWriters {
    pub claims: Writer<ClusterClaim>,
    pub pools: Writer<ClusterPool>,
    pub deployments: Writer<ClusterDeployment>,
}

impl ClaimCaches {
    /// Empty caches.
    pub fn new(credentials_namespace: &str, metrics: &RuntimeMetrics) -> Self {
        let (claims, claim_writer) = reflector::store();
        let (pools, pool_writer) = reflector::store();
        let (deployments, deployment_writer) = reflector::store();
        let writers =
            ClaimWriters { claims: claim_writer, pools: pool_writer, deployments: deployment_writer };
        let health = ["clusterclaims", "clusterpools", "clusterdeployments", "clusterclaim-secrets"];
        Self {
            claims,
            pools,
            deployments,
            secrets: PublishedSecrets::new("clusterclaim-orphans", credentials_namespace, metrics),
            queue: RequestQueue::new(SETTINGS, metrics),
            health: health.map(Health::new),
            writers: Mutex::new(Some(writers)),
        }
    }

    /// Whether every cache is filled.
    pub fn are_filled(&self) -> bool {
        self.health.iter().all(Health::listed)
    }

    /// A claim by its key.
    pub fn claim(&self, key: &str) -> Option<Arc<ClusterClaim>> {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        self.claims.get(&ObjectRef::new(name).within(namespace))
    }

    /// The pool of a claim.
    pub fn pool_of(&self, claim: &ClusterClaim) -> Option<Arc<ClusterPool>> {
        self.pools.get(&ObjectRef::new(claim.pool()).within(claim.namespace()))
    }

    /// The claims of a pool.
    pub fn claims_of(&self, namespace: &str, pool: &str) -> Vec<Arc<ClusterClaim>> {
        let of_it = |claim: &Arc<ClusterClaim>| claim.namespace() == namespace && claim.pool() == pool;
        self.claims.state().into_iter().filter(of_it).collect()
    }

    /// Unclaimed clusters of a pool.
    pub fn unclaimed_of(&self, namespace: &str, pool: &str) -> Vec<Arc<ClusterDeployment>> {
        let of_it = |deployment: &Arc<ClusterDeployment>| {
            deployment.is_of(namespace, pool) && deployment.is_unclaimed()
        };
        self.deployments.state().into_iter().filter(of_it).collect()
    }

    /// `<claim>-credentials`, as far as the cache knows.
    pub fn published(&self, claim: &ClusterClaim) -> Published {
        self.secrets.state_for(&claim.owner())
    }
}

/// Key of a claim in the queue.
pub(super) fn claim_key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// Keeps only our own annotations of a claim: somebody else's can be as long as a spec.
pub fn slim_claim(metadata: &mut ObjectMeta) {
    metadata.labels = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.retain(|key, _| key.starts_with(PREFIX));
    }
}
