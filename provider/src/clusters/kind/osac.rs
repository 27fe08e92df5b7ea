//! `ClusterOrder`, `osac.openshift.io`. It becomes a HostedCluster in a namespace of its own, which has the credentials; what it says of
//! that itself is never taken back.

use testplatform_apis::{
    foreign::osac::conditions::{CLUSTER_AVAILABLE, CONTROL_PLANE_AVAILABLE},
    template::Backend,
};

use super::{Holder, Kind, Place, hypershift::HostedCluster};
use crate::clusters::object::Cluster;

/// The table.
pub(super) struct ClusterOrder;

impl Kind for ClusterOrder {
    fn backend(&self) -> Backend {
        Backend::Osac
    }

    /// Not believed: but when they turn, what is behind the order, which is not watched, is worth a look.
    fn conditions(&self) -> &'static [&'static str] {
        &[CONTROL_PLANE_AVAILABLE, CLUSTER_AVAILABLE]
    }

    fn holder<'a>(&self, object: &'a Cluster) -> Holder<'a> {
        let named = object.status.value.cluster_reference.as_ref();
        match named.filter(|of| !of.namespace.is_empty() && !of.hosted_cluster_name.is_empty()) {
            Some(of) => Holder::HostedCluster { namespace: &of.namespace, name: &of.hosted_cluster_name },
            None => Holder::NotNamed("the ClusterOrder does not name its HostedCluster yet"),
        }
    }

    fn runs(&self, holder: &Cluster) -> Result<(), &'static str> {
        HostedCluster.runs(holder)
    }

    fn place<'a>(&self, holder: &'a Cluster) -> Result<Place<'a>, &'static str> {
        HostedCluster.place(holder)
    }
}
