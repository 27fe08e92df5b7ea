//! The hub: where the objects are, and a client for each kind.

use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client,
    api::DynamicObject,
    core::{ApiResource, PartialObjectMeta},
};

use super::{object::EphemeralCluster, prow_job::ProwJob};

/// The hub, and who we are there.
#[derive(Clone)]
pub struct Hub {
    client: Client,
    namespace: String,
    prow_job_namespace: String,
}

impl Hub {
    /// EphemeralClusters and their credentials are in one namespace, ProwJobs in another.
    pub fn new(client: Client, namespace: &str, prow_job_namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned(), prow_job_namespace: prow_job_namespace.to_owned() }
    }

    /// Its client.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Namespace of the EphemeralClusters.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Namespace of the ProwJobs.
    pub fn prow_job_namespace(&self) -> &str {
        &self.prow_job_namespace
    }

    /// EphemeralClusters, as far as every pass needs them.
    pub fn ephemeral_clusters(&self) -> Api<EphemeralCluster> {
        Api::namespaced(self.client(), &self.namespace)
    }

    /// EphemeralClusters, whole.
    pub fn dynamic_ephemeral_clusters(&self) -> Api<DynamicObject> {
        let resource = ApiResource::erase::<EphemeralCluster>(&());
        Api::namespaced_with(self.client(), &self.namespace, &resource)
    }

    /// ProwJobs, as far as every pass needs them.
    pub fn prow_jobs(&self) -> Api<ProwJob> {
        Api::namespaced(self.client(), &self.prow_job_namespace)
    }

    /// ProwJobs, whole.
    pub fn dynamic_prow_jobs(&self) -> Api<DynamicObject> {
        let resource = ApiResource::erase::<ProwJob>(&());
        Api::namespaced_with(self.client(), &self.prow_job_namespace, &resource)
    }

    /// Published credentials.
    pub fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client(), &self.namespace)
    }

    /// Published credentials without what is in them.
    pub fn secrets_metadata(&self) -> Api<PartialObjectMeta<Secret>> {
        Api::namespaced(self.client(), &self.namespace)
    }
}
