//! Section `cleanup` of the configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::{
    claim::{CLAIM_KIND, CLAIM_PLURAL},
    duration::GoDuration,
    test_cluster,
};

use super::Switch;

/// Settings for the cleanup of clusters that nobody needs any more. This runs next to the claims, on a Konflux cluster, and not on a hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Cleanups {
    /// Whether claims with `spec.cleanup` are torn down when the runs that own them are over.
    pub mode: Switch,
    /// Of which kind: claims for `TestPlatformCluster`, testClusters for `TestCluster`.
    pub flavours: Vec<Cleaned>,
    /// Poll interval of each run, 10s or more, in addition to its watch.
    pub poll: GoDuration,
}

/// A kind of objects by which tenants ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Cleaned {
    /// Claims.
    Claims,
    /// Composites in the namespaces of tenants.
    TestClusters,
}

impl Cleaned {
    /// Its kind and plural.
    pub const fn kind(self) -> (&'static str, &'static str) {
        match self {
            Self::Claims => (CLAIM_KIND, CLAIM_PLURAL),
            Self::TestClusters => (test_cluster::KIND, test_cluster::PLURAL),
        }
    }
}

impl Cleanups {
    /// Whether anything is cleaned up.
    pub fn is_on(&self) -> bool {
        self.mode == Switch::On
    }
}

impl Default for Cleanups {
    fn default() -> Self {
        Self { mode: Switch::Off, flavours: vec![Cleaned::Claims], poll: GoDuration::from_mins(1) }
    }
}
