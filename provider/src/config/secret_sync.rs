//! Section `carry` of the configuration.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::{
    claim::{COMPOSITE_KIND, COMPOSITE_PLURAL},
    duration::GoDuration,
    test_cluster,
};

use super::Switch;

/// Settings for claims that bring their own credentials. This runs next to the claims, on a Konflux cluster, and not on a hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Carry {
    /// Whether their Secrets are carried to the hubs.
    pub mode: Switch,
    /// Of which claims: claims for those of the kind `TestPlatformCluster`, testClusters for composites of the kind `TestCluster`.
    pub flavours: Vec<Carried>,
    /// The hubs, by the names of the ProviderConfigs that lead to them.
    pub hubs: BTreeMap<String, CarryHub>,
    /// Poll interval of each Secret, 10s or more: a tenant's change arrives on the hub within this time.
    pub poll: GoDuration,
}

/// A hub to which Secrets are carried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CarryHub {
    /// File with the kubeconfig of the carrier's identity on that hub; read again when it changes.
    pub kubeconfig: PathBuf,
}

/// A flavour of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Carried {
    /// Claims, by their composites.
    Claims,
    /// Composites in the namespaces of tenants.
    TestClusters,
}

impl Carried {
    /// Kind and plural of its composites.
    pub const fn kind(self) -> (&'static str, &'static str) {
        match self {
            Self::Claims => (COMPOSITE_KIND, COMPOSITE_PLURAL),
            Self::TestClusters => (test_cluster::KIND, test_cluster::PLURAL),
        }
    }
}

impl Carry {
    /// Whether anything is carried.
    pub fn is_on(&self) -> bool {
        self.mode == Switch::On
    }
}

impl Default for Carry {
    fn default() -> Self {
        Self {
            mode: Switch::Off,
            flavours: vec![Carried::Claims],
            hubs: BTreeMap::new(),
            poll: GoDuration::from_mins(1),
        }
    }
}
