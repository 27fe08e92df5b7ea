//! Section `clusterPool` of the configuration.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings for ClusterPools that Git defines: refresh, rotation of credentials, and details that Hive does not record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClusterPools {
    /// Namespaces of the managed pools. If empty, no pool is managed, and no permission for pools is needed.
    pub namespaces: BTreeSet<String>,
}

impl ClusterPools {
    /// Whether any pool is managed.
    pub fn is_on(&self) -> bool {
        !self.namespaces.is_empty()
    }
}
