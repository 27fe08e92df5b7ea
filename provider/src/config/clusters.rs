//! Section `clusters` of the configuration.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::{byoc::NAMESPACE_PREFIX, duration::GoDuration, template::Backend};

use super::Switch;

/// What is done about the clusters that claims with `template` have become.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Clusters {
    /// The backends whose clusters' credentials are published, by their words. None: of no cluster are they, and no right to do so is
    /// needed.
    pub backends: BTreeMap<Backend, ClustersOf>,
    /// The namespace in which credentials are published. Not one of clusters, in which other secrets live. Only clusters that name this
    /// one are served.
    pub credentials_namespace: String,
    /// How often the credentials of each cluster are read again although nothing happened: nobody lets us watch them.
    pub poll: GoDuration,
    /// Whether bundles of templates are applied in these clusters once their credentials are published, and before they are deleted.
    pub bundles: Switch,
}

/// The clusters of a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClustersOf {
    /// The namespaces in which the function makes their objects. Secrets are read nowhere else, but for OSAC, which has a namespace for
    /// each cluster and opens it to an account of its choice: that has to be the provider's.
    pub namespaces: BTreeSet<String>,
    /// Whether those are served too that bring their own credentials, each in a namespace of its claim. Only with hypershift. There, Secrets can
    /// be read where the function lets us in.
    #[serde(default)]
    pub byoc: Switch,
}

impl ClustersOf {
    /// Whether clusters in a namespace are served.
    pub fn serves(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace) || (self.brings() && namespace.starts_with(NAMESPACE_PREFIX))
    }

    /// Whether those in namespaces of claims are.
    pub fn brings(&self) -> bool {
        self.byoc == Switch::On
    }
}

impl Clusters {
    /// Whether any credentials are published.
    pub fn is_on(&self) -> bool {
        !self.backends.is_empty()
    }

    /// Whether bundles are applied.
    pub fn applies_bundles(&self) -> bool {
        self.bundles == Switch::On
    }
}

impl Default for Clusters {
    fn default() -> Self {
        Self {
            backends: BTreeMap::new(),
            credentials_namespace: "testplatform-credentials".into(),
            poll: GoDuration::from_mins(10),
            bundles: Switch::Off,
        }
    }
}
