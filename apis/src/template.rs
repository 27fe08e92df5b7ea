//! Clusters by template: what administrators put into the catalogue, what a claim may say beside `template`, and what is
//! remembered of it.
//!
//! **Invariant:** an entry that cannot be used is left out and named, and hurts no other entry.

pub mod capability;
pub mod companions;
pub mod effective;
pub mod entry;
pub mod group;
pub mod kind;
pub mod parameter;
pub mod version;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Backend of a template's clusters. A catalogue entry fixes it; a claim never names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// A HyperShift HostedCluster with its NodePools.
    #[serde(rename = "hypershift")]
    HyperShift,
    /// A Cluster API Cluster with a managed topology.
    ClusterApi,
    /// A ClusterTemplateInstance of the cluster-templates operator.
    Caas,
    /// An OSAC ClusterOrder.
    Osac,
}

impl Backend {
    /// Every backend.
    pub const ALL: [Self; 4] = [Self::HyperShift, Self::ClusterApi, Self::Caas, Self::Osac];

    /// The word for it in catalogue entries and in labels of hubs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HyperShift => "hypershift",
            Self::ClusterApi => "cluster-api",
            Self::Caas => "caas",
            Self::Osac => "osac",
        }
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
