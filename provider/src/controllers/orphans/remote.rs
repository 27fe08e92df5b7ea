//! Remote objects on a hub: their identity, and the annotations that name the Konflux cluster.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use testplatform_apis::names::{
    ephemeral_cluster::{KONFLUX_CLUSTER, KONFLUX_TENANT},
    ours,
};

use crate::config::RemoteKind;

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
