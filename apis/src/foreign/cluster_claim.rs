//! `ClusterClaim`, `hive.openshift.io/v1`, in the namespace of its pool. Source: openshift/hive, `apis/hive/v1/clusterclaim_types.go`.

use serde::Deserialize;
use serde_json::Value;

use super::meta::{Lenient, Metadata, ObservedCondition};
use crate::duration::GoDuration;

/// apiVersion.
pub const API_VERSION: &str = "hive.openshift.io/v1";
/// Kind.
pub const KIND: &str = "ClusterClaim";

/// The fields of a ClusterClaim that we read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClusterClaim {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec. Hive writes into it.
    pub spec: Lenient<Spec>,
    /// Status, as Hive wrote it.
    pub status: Lenient<Status>,
}

/// Parts of `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// The pool, in the same namespace.
    pub cluster_pool_name: String,
    /// Written by Hive: namespace and name of the ClusterDeployment; from then on the claim is bound. Taken back when two claims were
    /// given the same cluster.
    pub namespace: String,
    /// Requested lifetime.
    pub lifetime: Option<String>,
    /// Subjects with access to the cluster's namespace.
    pub subjects: Value,
}

/// Parts of `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    /// `Pending` and `ClusterRunning`.
    pub conditions: Vec<ObservedCondition>,
    /// Lifetime from the end of `Pending` on, once a cluster is assigned; absent: unlimited.
    pub lifetime: Lenient<Option<GoDuration>>,
}

/// Condition types, and the reasons of them that matter.
pub mod conditions {
    /// False once the cluster is this claim's: the lifetime counts from then on.
    pub const PENDING: &str = "Pending";
    /// Whether the cluster runs; it flaps while the cluster is in use.
    pub const CLUSTER_RUNNING: &str = "ClusterRunning";
    /// Reason of `ClusterRunning=False`: the ClusterDeployment is being deleted.
    pub const CLUSTER_DELETING: &str = "ClusterDeleting";
    /// Reason of `ClusterRunning=False`: the ClusterDeployment is gone, and the claim stays for ever.
    pub const CLUSTER_DELETED: &str = "ClusterDeleted";

    /// Ours, in the place of `Pending`: whether a cluster belongs to the claim.
    pub const CLUSTER_ASSIGNED: &str = "ClusterAssigned";
}
