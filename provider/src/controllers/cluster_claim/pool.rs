//! Fields that are read of a ClusterPool.

use serde::{Deserialize, de::IgnoredAny};
use testplatform_apis::foreign::meta::ObservedCondition;

/// Parts of `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// How many clusters there may be, those that are given away included. None: any number.
    pub max_size: Option<i64>,
    /// One entry for each cluster that can be made. None: any number.
    pub inventory: Vec<InventoryEntry>,
}

/// An entry of the inventory, of which only that it is there matters.
#[derive(Clone, Copy, Debug, Default)]
pub struct InventoryEntry;

impl<'de> Deserialize<'de> for InventoryEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// Parts of `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// Unclaimed clusters that run.
    pub ready: i64,
    /// Unclaimed clusters that are installed and do not run.
    pub standby: i64,
    /// Conditions of the object.
    pub conditions: Vec<ObservedCondition>,
}

/// Condition types.
pub mod conditions {
    /// True: it lacks something to install clusters with. Judged only when it tries to.
    pub const MISSING_DEPENDENCIES: &str = "MissingDependencies";
    /// False: it is as large as it may be.
    pub const CAPACITY_AVAILABLE: &str = "CapacityAvailable";
    /// False: entries of its inventory cannot be used.
    pub const INVENTORY_VALID: &str = "InventoryValid";
}
