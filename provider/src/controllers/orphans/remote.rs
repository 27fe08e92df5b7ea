//! Remote objects on a hub: their kinds, their identity, and the annotations that name the Konflux cluster.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, GroupVersionKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::{
    foreign::{cluster_claim, ephemeral_cluster},
    names::{
        ephemeral_cluster::{KONFLUX_CLUSTER, KONFLUX_TENANT},
        ours,
    },
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

/// Identity of a remote object. The uid distinguishes successive objects of a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteRef {
    /// Name of the ProviderConfig that leads to the hub.
    pub hub: String,
    /// Kind.
    pub kind: RemoteKind,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
}

/// The metadata of a remote object, as far as ownership depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteObject {
    /// Identity.
    pub identity: RemoteRef,
    /// Namespace of the claim, by annotation.
    pub tenant: Option<String>,
    /// Creation.
    pub created: Option<Timestamp>,
    /// Start of its deletion.
    pub deleted: Option<Timestamp>,
    /// Name of the Konflux cluster, by annotation.
    pub konflux_cluster: Option<String>,
    /// Uid of the Konflux cluster whose composite was found to own it, by annotation.
    pub konflux_cluster_uid: Option<String>,
    /// Whether another object on the hub owns it. The function's objects have no owner there.
    pub dependent: bool,
}

impl RemoteObject {
    /// Reads the metadata of an object on a hub. None: it has no name or uid.
    pub fn read(hub: &str, kind: RemoteKind, metadata: &ObjectMeta) -> Option<Self> {
        let annotation = |key: &str| metadata.annotations.as_ref()?.get(key).cloned();
        Some(Self {
            identity: RemoteRef {
                hub: hub.to_owned(),
                kind,
                namespace: metadata.namespace.clone().unwrap_or_default(),
                name: metadata.name.clone()?,
                uid: metadata.uid.clone()?,
            },
            tenant: annotation(KONFLUX_TENANT),
            created: metadata.creation_timestamp.as_ref().map(|time| time.0),
            deleted: metadata.deletion_timestamp.as_ref().map(|time| time.0),
            konflux_cluster: annotation(KONFLUX_CLUSTER),
            konflux_cluster_uid: annotation(ours::KONFLUX_CLUSTER_UID),
            dependent: metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty()),
        })
    }

    /// Whether the function of this Konflux cluster requested it.
    pub fn is_of(&self, konflux_cluster: &str) -> bool {
        !self.dependent && self.konflux_cluster.as_deref() == Some(konflux_cluster)
    }
}
