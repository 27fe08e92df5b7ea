//! provider-kubernetes `ProviderConfig`, `kubernetes.crossplane.io/v1alpha1` (cluster-scoped).

use serde::Deserialize;

use super::meta::Metadata;
use crate::lenient::lenient_integer;

/// apiVersion.
pub const API_VERSION: &str = "kubernetes.crossplane.io/v1alpha1";
/// Kind.
pub const KIND: &str = "ProviderConfig";

/// What is read of it. Never its credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProviderConfig {
    /// Its metadata: labels and annotations describe the hub.
    pub metadata: Metadata,
    /// What provider-kubernetes counts.
    pub status: ProviderConfigStatus,
}

/// Parts of `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProviderConfigStatus {
    /// How many Objects go by it.
    #[serde(deserialize_with = "lenient_integer")]
    pub users: Option<i64>,
}
