//! Section `clusterPool` of the configuration.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done about ClusterPools that Git asks for: refresh, rotation of credentials, and what Hive forgets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClusterPools {
    /// The namespaces of the pools that are looked after. None: no pool is, and no right to do so is needed.
    pub namespaces: BTreeSet<String>,
}

impl ClusterPools {
    /// Whether any pool is looked after.
    pub fn is_on(&self) -> bool {
        !self.namespaces.is_empty()
    }
}
