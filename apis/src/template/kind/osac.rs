//! Entries for OSAC: a ClusterOrder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Kind, word};
use crate::template::Backend;

/// What is the same for all ClusterOrders of an entry.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Osac {
    /// The template of OSAC's, such as `osac.templates.ocp_4_17_small`.
    #[serde(rename = "templateID")]
    pub template_id: String,
    /// Whether OSAC can change version and parameters of a cluster that is there. If not set, not.
    #[serde(default)]
    pub upgradeable: bool,
}

/// A class of nodes.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Host {
    /// OSAC's resource class, such as fc430.
    pub resource_class: String,
}

/// A member of `templateParameters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobParameter(pub String);

impl Kind for Osac {
    const BACKEND: Backend = Backend::Osac;
    type Machine = Host;
    type Target = JobParameter;

    fn flaws(&self) -> Vec<(String, String)> {
        let id = &self.template_id;
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let first = id.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let wrong = !first || !id.chars().all(legal);
        wrong
            .then(|| ("templateID".into(), "is no name of letters, digits, _ and dots".into()))
            .into_iter()
            .collect()
    }

    fn machine_flaw(&self, machine: &Host) -> Option<String> {
        machine.resource_class.is_empty().then(|| "has no resourceClass".into())
    }

    fn target(&self, words: &str) -> Result<JobParameter, String> {
        word(words).map(JobParameter)
    }

    fn node_target(&self, _: &str) -> Result<JobParameter, String> {
        Err("has nowhere to go: a node group of OSAC's is a class and a number".into())
    }

    fn may_become(&self, old: &Host, new: &Host) -> bool {
        old == new
    }

    fn upgrades(&self) -> bool {
        self.upgradeable
    }

    fn tunable(&self) -> bool {
        self.upgradeable
    }

    fn needs_image(&self) -> bool {
        true
    }
}
