//! Caches of pools, their claims and their clusters.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::reflector::{self, ObjectRef, Store, store::Writer};

use super::object::{ClusterClaim, ClusterDeployment, ClusterPool};
use crate::credentials::{
    Published,
    secret::{PREFIX, SecretMeta},
};

/// What is cached.
pub struct ClaimCaches {
    /// ClusterClaims, including those of others: they wait in the same queues.
    pub claims: Store<ClusterClaim>,
    /// ClusterPools.
    pub pools: Store<ClusterPool>,
    /// ClusterDeployments.
    pub deployments: Store<ClusterDeployment>,
    /// Secrets in the namespace of published credentials that have the name of one.
    pub secrets: Store<SecretMeta>,
    credentials_namespace: String,
}

/// Fill the caches.
pub struct ClaimWriters {
    pub(super) claims: Writer<ClusterClaim>,
    pub(super) pools: Writer<ClusterPool>,
    pub(super) deployments: Writer<ClusterDeployment>,
    pub(super) secrets: Writer<SecretMeta>,
}

impl ClaimCaches {
    /// Empty ones, and what fills them.
    pub fn new(credentials_namespace: &str) -> (Self, ClaimWriters) {
        let (claims, claim_writer) = reflector::store();
        let (pools, pool_writer) = reflector::store();
        let (deployments, deployment_writer) = reflector::store();
        let (secrets, secret_writer) = reflector::store();
        let writers = ClaimWriters {
            claims: claim_writer,
            pools: pool_writer,
            deployments: deployment_writer,
            secrets: secret_writer,
        };
        let credentials_namespace = credentials_namespace.to_owned();
        (Self { claims, pools, deployments, secrets, credentials_namespace }, writers)
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
        let owner = claim.owner();
        let name = owner.secret_name();
        let secret = self.secrets.get(&ObjectRef::new(&name).within(&self.credentials_namespace));
        owner.published_state(secret.as_deref().map(|secret| &secret.metadata))
    }
}

/// Keeps only our own annotations of a claim: somebody else's can be as long as a spec.
pub fn slim_claim(metadata: &mut ObjectMeta) {
    metadata.labels = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.retain(|key, _| key.starts_with(PREFIX));
    }
}
