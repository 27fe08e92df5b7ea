//! Observes the cluster of one request, as data: its object, and the credentials that are published for it.

use std::time::Duration;

use kube::Api;
use testplatform_apis::{
    bundle::BundleRequestSpec,
    names::{ObjectName, keys},
    template::Backend,
};
use testplatform_runtime::{
    error::{Error, Reason},
    lookup,
};

use super::plan::ClusterAccess;
use crate::{
    config::Clusters,
    credentials::{
        Published,
        account::{WISH, admin::AdminKubeconfig, fingerprint::TokenFingerprint},
        cluster_kind::{self as kind, CredentialsHolder, owner},
        cluster_lookup::{find, find_with_api},
        cluster_object::Cluster,
        publish::{CredentialsNamespace, Reader},
    },
};

/// Looks.
pub(super) struct RequestObserver {
    /// The Secrets of the hub.
    pub credentials_namespace: CredentialsNamespace,
    /// Of which clusters credentials are published.
    pub config: Clusters,
    /// How long one call may take.
    pub request_timeout: Duration,
}

/// The cluster of a request.
pub(super) struct ObservedCluster {
    /// Access to it.
    pub access: ClusterAccess,
    /// Its object and the API to write it by, if the function created it and it is not being deleted.
    pub object: Option<(Api<Cluster>, Cluster)>,
}

impl ObservedCluster {
    /// Without an object to write on.
    pub const fn without_object(access: ClusterAccess) -> Self {
        Self { access, object: None }
    }
}

impl RequestObserver {
    /// The cluster of a request in this namespace.
    pub async fn observe_cluster(
        &self,
        namespace: &str,
        order: &BundleRequestSpec,
    ) -> Result<ObservedCluster, Error> {
        let named = &order.cluster;
        let Some(backend) = self.config.backend(namespace, &named.group, &named.kind) else {
            return Ok(ObservedCluster::without_object(ClusterAccess::Unknown));
        };
        let found = find_with_api(
            &self.credentials_namespace.client(),
            self.request_timeout,
            backend,
            namespace,
            named.name.as_str(),
        )
        .await?;
        let Some((api, object)) = found else {
            return Ok(ObservedCluster::without_object(ClusterAccess::Gone));
        };
        if object.is_deleted() {
            return Ok(ObservedCluster::without_object(ClusterAccess::Deleting));
        }
        let access = self.observe_access(backend, &object).await?;
        let is_ours = object.is_marked_for(self.credentials_namespace.namespace());
        Ok(ObservedCluster { access, object: is_ours.then_some((api, object)) })
    }

    /// Access to a cluster by its object.
    async fn observe_access(&self, backend: Backend, object: &Cluster) -> Result<ClusterAccess, Error> {
        let holder = match kind::of(backend).holder(object) {
            CredentialsHolder::Itself => None,
            CredentialsHolder::NotNamed(_) => {
                return Ok(ClusterAccess::Unreachable("the cluster's object does not name its cluster yet"));
            }
            CredentialsHolder::Underlying { backend, namespace, name } => {
                match self.find_underlying(backend, namespace, name).await? {
                    None => return Ok(ClusterAccess::Gone),
                    Some(holder) if holder.is_deleted() => return Ok(ClusterAccess::Deleting),
                    Some(holder) => Some(holder),
                }
            }
        };
        self.read_credentials(backend, object, holder.as_ref().unwrap_or(object)).await
    }

    /// Reads the credentials that give access to the cluster: the published kubeconfig, or the admin's where a tenant's own ServiceAccount is
    /// published, which may have fewer rights.
    async fn read_credentials(
        &self,
        backend: Backend,
        object: &Cluster,
        holder: &Cluster,
    ) -> Result<ClusterAccess, Error> {
        const NONE: ClusterAccess =
            ClusterAccess::Unreachable("the credentials of the cluster are not published");
        if !object.is_marked_for(self.credentials_namespace.namespace()) {
            return Ok(NONE);
        }
        let owner = owner(backend, object);
        let reader = Reader { vault: &self.credentials_namespace, patience: self.request_timeout };
        let secret = match reader
            .secret(lookup::get_opt(&self.credentials_namespace.secrets(), &owner.secret_name()))
            .await
        {
            Ok(secret) => secret,
            // Said, because only an administrator can change it; and the end of the cluster is not to wait for that longer than its bundles may take.
            Err(error) if error.reason == Reason::Forbidden => {
                return Ok(ClusterAccess::Unreachable(
                    "the provider has no permission to read what is published",
                ));
            }
            Err(error) => return Err(error),
        };
        let published = owner.published_state(secret.as_ref().map(|secret| &secret.metadata));
        match &published {
            Published::Ours { .. } => {}
            Published::Absent => return Ok(NONE),
            Published::Foreign(_) => {
                return Ok(ClusterAccess::Unreachable(
                    "the Secret of that name was published for another cluster",
                ));
            }
        }
        let uid = object.uid().to_owned();
        if TokenFingerprint::of(&published).is_none() && object.annotation(WISH).is_none() {
            let config = secret.and_then(|secret| secret.data?.remove(keys::KUBECONFIG));
            let Some(config) = config else { return Ok(NONE) };
            return Ok(ClusterAccess::Reachable { uid, admin: AdminKubeconfig::new(config.0) });
        }
        let Ok(place) = kind::of(backend).place(holder) else {
            return Ok(ClusterAccess::Unreachable(
                "the cluster does not name the Secret with its admin's kubeconfig",
            ));
        };
        Ok(match reader.admin(holder.namespace(), &place.kubeconfig).await? {
            Ok((admin, _)) => ClusterAccess::Reachable { uid, admin },
            Err(_) => ClusterAccess::Unreachable("the kubeconfig of the cluster's admin cannot be read"),
        })
    }

    async fn find_underlying(
        &self,
        backend: Backend,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Cluster>, Error> {
        // They become parts of a path.
        if ObjectName::try_from(namespace).is_err() || ObjectName::try_from(name).is_err() {
            return Ok(None);
        }
        find(&self.credentials_namespace.client(), self.request_timeout, backend, namespace, name).await
    }
}
