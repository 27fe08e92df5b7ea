//! The hub as far as ClusterClaims go: a client for each kind.

use kube::{Api, Client};

use super::object::{ClusterClaim, ClusterDeployment, ClusterPool};
use crate::credentials::publish::CredentialsNamespace;

/// The hub, and where credentials are published on it.
#[derive(Clone)]
pub struct ClaimHub {
    client: Client,
    vault: CredentialsNamespace,
}

impl ClaimHub {
    /// Pools, their claims and their clusters are in any namespace, published credentials in one.
    pub fn new(client: Client, credentials_namespace: &str) -> Self {
        Self { vault: CredentialsNamespace::new(client.clone(), credentials_namespace), client }
    }

    /// Where their credentials are published.
    pub fn credentials_namespace(&self) -> &CredentialsNamespace {
        &self.vault
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
}
