//! What the clusters of a backend are on a hub: what is written there, counted there, and has to be known there.

use crate::template::Backend;

/// A kind on a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
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
    pub const fn cluster_kind(self) -> Kind {
        match self {
            Self::HyperShift => Kind {
                group: HYPERSHIFT,
                versions: &["v1beta1"],
                kind: "HostedCluster",
                plural: "hostedclusters",
            },
            Self::ClusterApi => Kind {
                group: "cluster.x-k8s.io",
                // What is asked for is in its words; v1beta1 has others.
                versions: &["v1beta2"],
                kind: "Cluster",
                plural: "clusters",
            },
            Self::Caas => Kind {
                group: "clustertemplate.openshift.io",
                versions: &["v1alpha1"],
                kind: "ClusterTemplateInstance",
                plural: "clustertemplateinstances",
            },
            Self::Osac => Kind {
                group: "osac.openshift.io",
                versions: &["v1alpha1"],
                kind: "ClusterOrder",
                plural: "clusterorders",
            },
        }
    }

    /// Every kind that is written for a cluster; the one above first.
    pub fn kinds(self) -> Vec<Kind> {
        match self {
            Self::HyperShift => hosted(),
            Self::ClusterApi | Self::Caas | Self::Osac => vec![self.cluster_kind()],
        }
    }

    /// The kinds that are only watched beside those, in whichever namespace they are made: they tell what a cluster does.
    pub fn watched_kinds(self) -> Vec<Kind> {
        match self {
            Self::Osac => hosted(),
            Self::HyperShift | Self::ClusterApi | Self::Caas => vec![],
        }
    }
}

/// What HyperShift makes a cluster of.
fn hosted() -> Vec<Kind> {
    let cluster = Backend::HyperShift.cluster_kind();
    vec![cluster, Kind { kind: "NodePool", plural: "nodepools", ..cluster }]
}
