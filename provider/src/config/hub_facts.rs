//! Section `hubFacts` of the configuration.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use testplatform_apis::{duration::GoDuration, template::Backend};

use super::Switch;

/// What this hub tells of itself to whoever chooses among hubs for claims with `template`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct HubFacts {
    /// Whether it does.
    pub mode: Switch,
    /// Namespace of ConfigMap `testplatform-hub`, in which it does.
    pub namespace: String,
    /// The backends whose clusters are counted. Where one makes objects of another (CaaS and OSAC make HostedClusters), a cluster
    /// counts for both: name the one that is asked for.
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
    /// The hosts that its nodes are taken from. If not set, nodes are made as they are needed and not counted.
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
    /// Whether it tells anything.
    pub fn is_on(&self) -> bool {
        self.mode == Switch::On
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
