//! `ClusterPool`, `hive.openshift.io/v1`. Source: openshift/hive, `apis/hive/v1/clusterpool_types.go`.

use serde::Deserialize;
use serde_json::Value;

use super::meta::{Lenient, Metadata, ObservedCondition};

/// apiVersion.
pub const API_VERSION: &str = "hive.openshift.io/v1";
/// Kind.
pub const KIND: &str = "ClusterPool";
/// The ClusterRole that Hive hands on into the namespaces of a pool's clusters.
pub const ADMIN_ROLE: &str = "hive-cluster-pool-admin";

/// The fields of a ClusterPool that we read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClusterPool {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec, as it stands.
    pub spec: Value,
    /// Status, as Hive wrote it.
    pub status: Lenient<Status>,
}

/// Parts of `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Clusters that nobody has claimed, broken and installing ones included.
    pub size: i64,
    /// Unclaimed clusters that are installed and not running.
    pub standby: i64,
    /// Unclaimed clusters that are installed and running.
    pub ready: i64,
    /// See [`conditions`].
    pub conditions: Vec<ObservedCondition>,
}

/// Condition types.
pub mod conditions {
    /// True: something that it needs to install clusters is missing. Only looked at when one is to be installed.
    pub const MISSING_DEPENDENCIES: &str = "MissingDependencies";
    /// False: as many clusters as it may have. Normal for a full pool.
    pub const CAPACITY_AVAILABLE: &str = "CapacityAvailable";
    /// Whether the clusters that nobody has claimed are what the pool says now.
    pub const ALL_CLUSTERS_CURRENT: &str = "AllClustersCurrent";
    /// False: entries of the inventory are missing or broken.
    pub const INVENTORY_VALID: &str = "InventoryValid";
    /// Only on a pool that is being deleted. False: the clusters named in the message block it.
    pub const DELETION_POSSIBLE: &str = "DeletionPossible";
}
