//! Section `hubFacts` of the configuration.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::{duration::GoDuration, template::Backend};

use super::Switch;

/// Facts that this hub publishes for the hub selection of claims with `template`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct HubFacts {
    /// Whether it does.
    pub mode: Switch,
    /// Namespace of ConfigMap `testplatform-hub`, in which it does.
    pub namespace: String,
    /// Backends whose clusters are counted. If one backend creates objects of another (CaaS and OSAC create HostedClusters), a cluster counts
    /// for both: name the requested one.
    pub backends: BTreeSet<Backend>,
    /// How often they are counted, 10s to 2m.
    pub period: GoDuration,
    /// Namespace in which HyperShift keeps ConfigMap `supported-versions`.
    pub hypershift_namespace: String,
    /// Classes of nodes that this hub has, by their names. None: any.
    pub classes: BTreeMap<String, NodeClass>,
}

/// A class of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeClass {
    /// Hosts that supply its nodes. If not set, nodes are created on demand and not counted.
    pub agents: Option<Agents>,
}

/// Hosts of an inventory, as the assisted installer registers them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Agents {
    /// Namespace of the Agents.
    pub namespace: String,
    /// Labels that those of the class have. Empty: all of the namespace.
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
}

impl HubFacts {
    /// Whether facts are published.
    pub fn is_on(&self) -> bool {
        self.mode == Switch::On
    }

    /// Namespace and name of the ConfigMap in which a backend lists the versions that it supports. None: it does not say.
    pub fn supported_versions(&self, backend: Backend) -> Option<(&str, &'static str)> {
        let name = backend.descriptor().supported_versions?;
        Some((&self.hypershift_namespace, name))
    }

    /// Each namespace of this section that is always there, with its field.
    pub fn fixed_namespaces(&self) -> [(&'static str, &str); 2] {
        [
            ("hubFacts.namespace", &self.namespace),
            ("hubFacts.hypershiftNamespace", &self.hypershift_namespace),
        ]
    }

    /// Each namespace of Agents, once.
    pub fn agent_namespaces(&self) -> BTreeSet<&str> {
        let agents = self.classes.values().filter_map(|class| class.agents.as_ref());
        agents.map(|agents| agents.namespace.as_str()).collect()
    }
}

impl Default for HubFacts {
    fn default() -> Self {
        Self {
            mode: Switch::Off,
            namespace: "provider-testplatform".into(),
            backends: BTreeSet::new(),
            period: GoDuration::from_mins(1),
            hypershift_namespace: "hypershift".into(),
            classes: BTreeMap::new(),
        }
    }
}
