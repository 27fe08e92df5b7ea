//! Facts that the provider on a hub reports in ConfigMap [`CONFIG_MAP`] there: `data` of the ConfigMap in types.
//!
//! One type for both ends, which need not be of one version: a field that is not known is passed over, one that is missing or
//! cannot be read counts as unknown. Nothing in it is secret. Equal facts are equal text.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    lenient_serde::{lenient_integer, lenient_list, lenient_map, lenient_option},
    template::Backend,
};

/// Name of the ConfigMap.
pub const CONFIG_MAP: &str = "testplatform-hub";
/// Key in it, with all facts as JSON.
pub const KEY: &str = "facts";

/// Facts about a hub. An absent field is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// When this was written, by the hub's clock.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub written_at: Option<Timestamp>,
    /// Whether the hub is well.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Each backend that the provider counts, by its word.
    #[serde(deserialize_with = "lenient_map", skip_serializing_if = "BTreeMap::is_empty")]
    pub backends: BTreeMap<String, BackendFacts>,
    /// Classes of nodes that there are.
    #[serde(deserialize_with = "lenient_map", skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, ClassFacts>,
    /// The newest version of Cluster API's own API that the hub serves, such as `v1beta2`.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub capi_version: Option<String>,
}

/// Whether something is well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// Whether it is.
    pub ready: bool,
    /// Since when.
    #[serde(default, deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Problem.
    #[serde(default, deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Facts about one backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BackendFacts {
    /// Number of its clusters, of any origin.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub clusters: Option<i64>,
    /// Number of clusters that were never ready.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub provisioning: Option<i64>,
    /// Versions that it can make, where it says so.
    #[serde(deserialize_with = "lenient_list", skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// Classes of clusters that it has, such as `ClusterClass` objects: `namespace/name`, or the name of one without a namespace.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub cluster_classes: Option<Vec<String>>,
    /// Reason why it cannot create clusters.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A class of clusters in [`BackendFacts::cluster_classes`].
pub fn cluster_class_key(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// Facts about one class of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClassFacts {
    /// Number of its unused nodes. Absent: nodes are created on demand, or were not counted.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub free: Option<i64>,
}

impl Facts {
    /// Reads the text under [`KEY`].
    ///
    /// # Errors
    /// If it is no JSON object.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        crate::json::read_text(text)
    }

    /// The text under [`KEY`].
    ///
    /// # Errors
    /// None that is known: every field has a form in JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Facts about a backend.
    pub fn backend_facts(&self, backend: Backend) -> Option<&BackendFacts> {
        self.backends.get(backend.as_str())
    }

    /// Number of clusters on the hub. None: not all were counted.
    pub fn cluster_count(&self) -> Option<i64> {
        self.sum_backends(|backend| backend.clusters)
    }

    /// Number of clusters in provisioning. None: not all were counted.
    pub fn provisioning_count(&self) -> Option<i64> {
        self.sum_backends(|backend| backend.provisioning)
    }

    fn sum_backends(&self, of: impl Fn(&BackendFacts) -> Option<i64>) -> Option<i64> {
        let mut counts = self.backends.values().map(of).peekable();
        counts.peek()?;
        counts.try_fold(0_i64, |sum, count| Some(sum.saturating_add(count?.max(0))))
    }
}
