//! The hub as far as ClusterClaims go: a client for each kind.

use k8s_openapi::api::{core::v1::Secret, events::v1::Event};
use kube::{Api, Client, core::PartialObjectMeta};

use crate::cluster_claim::object::{ClusterClaim, ClusterDeployment, ClusterPool};

/// The hub, and where credentials are published on it.
#[derive(Clone)]
pub struct Hub {
    client: Client,
    credentials_namespace: String,
}

impl Hub {
    /// Pools, their claims and their clusters are in any namespace, published credentials in one.
    pub fn new(client: Client, credentials_namespace: &str) -> Self {
        Self { client, credentials_namespace: credentials_namespace.to_owned() }
    }

    /// Namespace of the published credentials.
    pub fn credentials_namespace(&self) -> &str {
        &self.credentials_namespace
    }

    /// Every ClusterClaim.
    pub fn all_claims(&self) -> Api<ClusterClaim> {
        Api::all(self.client.clone())
    }

    /// ClusterClaims of a pool's namespace.
    pub fn claims(&self, namespace: &str) -> Api<ClusterClaim> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Every ClusterPool.
    pub fn all_pools(&self) -> Api<ClusterPool> {
        Api::all(self.client.clone())
    }

    /// Every ClusterDeployment.
    pub fn all_deployments(&self) -> Api<ClusterDeployment> {
        Api::all(self.client.clone())
    }

    /// The one ClusterDeployment of a namespace, which has its name.
    pub fn deployments(&self, namespace: &str) -> Api<ClusterDeployment> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Secrets of a cluster's own namespace. Hive lets us get three of them, and watch none.
    pub fn secrets_of(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Published credentials.
    pub fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.credentials_namespace)
    }

    /// Published credentials without what is in them.
    pub fn secrets_metadata(&self) -> Api<PartialObjectMeta<Secret>> {
        Api::namespaced(self.client.clone(), &self.credentials_namespace)
    }

    /// Events of a pool's namespace.
    pub fn events(&self, namespace: &str) -> Api<Event> {
        Api::namespaced(self.client.clone(), namespace)
    }
}
