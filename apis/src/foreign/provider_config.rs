//! provider-kubernetes `ProviderConfig`, `kubernetes.crossplane.io/v1alpha1`, and `ClusterProviderConfig`, by which namespaced Objects
//! go, `kubernetes.m.crossplane.io/v1alpha1`. Both are cluster-scoped and read alike.

use serde::Deserialize;

use super::meta::Metadata;
use crate::lenient_serde::lenient_integer;

/// apiVersion.
pub const API_VERSION: &str = "kubernetes.crossplane.io/v1alpha1";
/// Kind.
pub const KIND: &str = "ProviderConfig";
/// Kind of those by which Objects in any namespace go; its apiVersion is [theirs](super::object::NAMESPACED_API_VERSION).
pub const CLUSTER_KIND: &str = "ClusterProviderConfig";

/// The fields of it that we read. Never its credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProviderConfig {
    /// Its metadata: labels and annotations describe the hub.
    pub metadata: Metadata,
    /// Status, with the number of users.
    pub status: ProviderConfigStatus,
}

/// Parts of `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProviderConfigStatus {
    /// Number of Objects that use it.
    #[serde(deserialize_with = "lenient_integer")]
    pub users: Option<i64>,
}
