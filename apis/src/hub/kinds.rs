//! Kubernetes kinds of each backend's clusters on a hub: written, counted and required there.

use crate::template::Backend;

/// A kind on a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceKind {
    /// API group.
    pub group: &'static str,
    /// The versions that we can work with, the best first. A hub has to serve one of them.
    pub versions: &'static [&'static str],
    /// Kind.
    pub kind: &'static str,
    /// Resource.
    pub plural: &'static str,
}

const HYPERSHIFT: &str = "hypershift.openshift.io";

impl Backend {
    /// The kind of which each cluster has exactly one object, and so the one that is counted.
    pub const fn cluster_kind(self) -> ResourceKind {
        match self {
            Self::HyperShift => ResourceKind {
                group: HYPERSHIFT,
                versions: &["v1beta1"],
                kind: "HostedCluster",
                plural: "hostedclusters",
            },
            Self::ClusterApi => ResourceKind {
                group: "cluster.x-k8s.io",
                // The request uses the fields of v1beta2; v1beta1 has others.
                versions: &["v1beta2"],
                kind: "Cluster",
                plural: "clusters",
            },
            Self::Caas => ResourceKind {
                group: "clustertemplate.openshift.io",
                versions: &["v1alpha1"],
                kind: "ClusterTemplateInstance",
                plural: "clustertemplateinstances",
            },
            Self::Osac => ResourceKind {
                group: "osac.openshift.io",
                versions: &["v1alpha1"],
                kind: "ClusterOrder",
                plural: "clusterorders",
            },
        }
    }

    /// Every kind that is written for a cluster; the one above first.
    pub fn written_kinds(self) -> Vec<ResourceKind> {
        match self {
            Self::HyperShift => hypershift_kinds(),
            Self::ClusterApi | Self::Caas | Self::Osac => vec![self.cluster_kind()],
        }
    }

    /// The kinds that are only watched beside those, in whichever namespace they are made: they tell what a cluster does.
    pub fn watched_kinds(self) -> Vec<ResourceKind> {
        match self {
            Self::Osac => hypershift_kinds(),
            Self::HyperShift | Self::ClusterApi | Self::Caas => vec![],
        }
    }
}

/// Kinds of which a HyperShift cluster consists.
fn hypershift_kinds() -> Vec<ResourceKind> {
    let cluster = Backend::HyperShift.cluster_kind();
    vec![cluster, ResourceKind { kind: "NodePool", plural: "nodepools", ..cluster }]
}
