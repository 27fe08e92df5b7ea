//! Kinds of the objects that are a claim's cluster on a hub.

use kube::core::{ApiResource, GroupVersionKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::{
    foreign::{cluster_claim, ephemeral_cluster},
    template::Backend,
};

/// A kind of remote objects, of which each cluster has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RemoteKind {
    /// Of claims with `ciOperator`.
    EphemeralCluster,
    /// Of claims with `clusterClaim`.
    ClusterClaim,
    /// Of templates of HyperShift.
    HostedCluster,
    /// Of templates of Cluster API.
    Cluster,
    /// Of templates of CaaS.
    ClusterTemplateInstance,
    /// Of templates of OSAC.
    ClusterOrder,
}

/// The request by which a remote object ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeardownMethod {
    /// `spec.tearDownCluster` is set to true; the object is deleted once its cluster is deleted.
    SetField,
    /// The object is deleted; its finalizers end the cluster.
    DeleteObject,
}

impl RemoteKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::EphemeralCluster,
        Self::ClusterClaim,
        Self::HostedCluster,
        Self::Cluster,
        Self::ClusterTemplateInstance,
        Self::ClusterOrder,
    ];

    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EphemeralCluster => "EphemeralCluster",
            Self::ClusterClaim => "ClusterClaim",
            Self::HostedCluster => "HostedCluster",
            Self::Cluster => "Cluster",
            Self::ClusterTemplateInstance => "ClusterTemplateInstance",
            Self::ClusterOrder => "ClusterOrder",
        }
    }

    /// The kind that a manifest of this group and kind asks for.
    pub fn parse(group: &str, kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == kind && known.resource().group == group)
    }

    /// How an API server knows the kind.
    pub fn resource(self) -> ApiResource {
        let (api_version, plural) = match self {
            Self::EphemeralCluster => (ephemeral_cluster::API_VERSION.to_owned(), "ephemeralclusters"),
            Self::ClusterClaim => (cluster_claim::API_VERSION.to_owned(), "clusterclaims"),
            Self::HostedCluster => of_backend(Backend::HyperShift),
            Self::Cluster => of_backend(Backend::ClusterApi),
            Self::ClusterTemplateInstance => of_backend(Backend::Caas),
            Self::ClusterOrder => of_backend(Backend::Osac),
        };
        let (group, version) = api_version.split_once('/').unwrap_or_default();
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, self.as_str()), plural)
    }

    /// How objects of the kind end.
    pub const fn teardown_method(self) -> TeardownMethod {
        match self {
            Self::EphemeralCluster => TeardownMethod::SetField,
            Self::ClusterClaim
            | Self::HostedCluster
            | Self::Cluster
            | Self::ClusterTemplateInstance
            | Self::ClusterOrder => TeardownMethod::DeleteObject,
        }
    }
}

fn of_backend(backend: Backend) -> (String, &'static str) {
    let kind = backend.cluster_kind();
    let version = kind.versions.first().copied().unwrap_or_default();
    (format!("{}/{version}", kind.group), kind.plural)
}
