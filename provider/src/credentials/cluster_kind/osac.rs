//! `ClusterOrder`, `osac.openshift.io`. It becomes a HostedCluster in its own namespace, which has the credentials; conditions that it reports
//! itself are never withdrawn.

use testplatform_apis::{
    foreign::osac::conditions::{CLUSTER_AVAILABLE, CONTROL_PLANE_AVAILABLE},
    template::Backend,
};

use super::{ClusterKind, CredentialsHolder, CredentialsLocation};
use crate::{
    credentials::cluster_object::Cluster,
    rights::{Grant, RbacScope},
};

/// Makes the clusters of orders.
const UNDERLYING: Backend = Backend::Osac.credentials_backend();

/// OSAC has a namespace for each cluster, and opens its Secrets to an account of its choice.
pub(super) const CREDENTIALS_GRANT: Grant = {
    let kind = UNDERLYING.cluster_kind();
    Grant {
        place: RbacScope::ClustersWatched(Backend::Osac),
        group: kind.group,
        resource: kind.plural,
        names: &[],
        verbs: &["get"],
        proxy: true,
        why: "Cluster of a ClusterOrder, in a namespace of its own. OSAC grants access to its Secrets.",
    }
};

/// The table.
pub(super) struct ClusterOrder;

impl ClusterKind for ClusterOrder {
    fn backend(&self) -> Backend {
        Backend::Osac
    }

    fn secret_names(&self) -> [&'static str; 2] {
        ["clusterorder-secrets", "clusterorder-orphans"]
    }

    /// Not trusted: but a transition triggers a read of the HostedCluster, which is not watched.
    fn conditions(&self) -> &'static [&'static str] {
        &[CONTROL_PLANE_AVAILABLE, CLUSTER_AVAILABLE]
    }

    fn holder<'a>(&self, object: &'a Cluster) -> CredentialsHolder<'a> {
        let named = object.status.value.cluster_reference.as_ref();
        match named.filter(|of| !of.namespace.is_empty() && !of.hosted_cluster_name.is_empty()) {
            Some(of) => CredentialsHolder::Underlying {
                backend: UNDERLYING,
                namespace: &of.namespace,
                name: &of.hosted_cluster_name,
            },
            None => CredentialsHolder::NotNamed("the ClusterOrder does not name its HostedCluster yet"),
        }
    }

    fn runs(&self, holder: &Cluster) -> Result<(), &'static str> {
        super::of(UNDERLYING).runs(holder)
    }

    fn place<'a>(&self, holder: &'a Cluster) -> Result<CredentialsLocation<'a>, &'static str> {
        super::of(UNDERLYING).place(holder)
    }
}
