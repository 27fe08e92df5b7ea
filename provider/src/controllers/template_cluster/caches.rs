//! Caches of the clusters of one kind, and of published Secrets.

use kube::{
    core::ApiResource,
    runtime::reflector::{self, ObjectRef, Store, store::Writer},
};
use testplatform_apis::template::Backend;

use crate::credentials::{Published, cluster_kind::owner, cluster_object::Cluster, secret::SecretMeta};

/// What is cached.
pub struct ClusterCaches {
    /// The objects in those namespaces that are served; those of others too.
    pub clusters: Store<Cluster>,
    /// Secrets in the namespace of published credentials that have the name of one.
    pub secrets: Store<SecretMeta>,
    backend: Backend,
    credentials_namespace: String,
}

/// Fill the caches.
pub(super) struct ClusterWriters {
    pub clusters: Writer<Cluster>,
    pub secrets: Writer<SecretMeta>,
}

impl ClusterCaches {
    /// Empty ones, and what fills them.
    pub(super) fn new(
        backend: Backend,
        resource: ApiResource,
        credentials_namespace: &str,
    ) -> (Self, ClusterWriters) {
        let writer = Writer::new(resource);
        let clusters = writer.as_reader();
        let (secrets, secret_writer) = reflector::store();
        let credentials_namespace = credentials_namespace.to_owned();
        let writers = ClusterWriters { clusters: writer, secrets: secret_writer };
        (Self { clusters, secrets, backend, credentials_namespace }, writers)
    }

    /// `<cluster>-credentials`, as far as the cache knows.
    pub(super) fn published(&self, object: &Cluster) -> Published {
        let owner = owner(self.backend, object);
        let name = owner.secret_name();
        let secret = self.secrets.get(&ObjectRef::new(&name).within(&self.credentials_namespace));
        owner.published_state(secret.as_deref().map(|secret| &secret.metadata))
    }
}
