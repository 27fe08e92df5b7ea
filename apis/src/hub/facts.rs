//! What the provider on a hub tells of it, in ConfigMap [`CONFIG_MAP`] there: `data` of the ConfigMap in types.
//!
//! One type for both ends, which need not be of one version: a field that is not known is passed over, one that is missing or
//! cannot be read counts as unknown. Nothing in it is secret. Equal facts are equal text.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    lenient::{lenient, lenient_integer, lenient_list, lenient_map},
    template::Backend,
};

/// Name of the ConfigMap.
pub const CONFIG_MAP: &str = "testplatform-hub";
/// Key in it, with all facts as JSON.
pub const KEY: &str = "facts";

/// What is known of a hub. Whatever is absent is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// When this was written, by the hub's clock.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub written_at: Option<Timestamp>,
    /// Whether the hub is well.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Each backend that the provider counts, by its word.
    #[serde(deserialize_with = "lenient_map", skip_serializing_if = "BTreeMap::is_empty")]
    pub backends: BTreeMap<String, BackendFacts>,
    /// Classes of nodes that there are.
    #[serde(deserialize_with = "lenient_map", skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, ClassFacts>,
    /// The newest version of Cluster API's own API that the hub serves, such as `v1beta2`.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub capi_version: Option<String>,
}

/// Whether something is well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// Whether it is.
    pub ready: bool,
    /// Since when.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// What is wrong.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What is known of one backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BackendFacts {
    /// How many of its clusters there are, whoever made them.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub clusters: Option<i64>,
    /// How many of them never were ready.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub provisioning: Option<i64>,
    /// Versions that it can make, where it says so.
    #[serde(deserialize_with = "lenient_list", skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// Why nothing can be made with it.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What is known of one class of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClassFacts {
    /// How many nodes of it nobody uses. Absent: they are made as they are needed, or were not counted.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub free: Option<i64>,
}

impl Facts {
    /// Reads the text under [`KEY`].
    ///
    /// # Errors
    /// If it is no JSON object.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        crate::json::read_text(text)
    }

    /// The text under [`KEY`].
    ///
    /// # Errors
    /// None that is known: every field has a form in JSON.
    pub fn write(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// What is known of a backend.
    pub fn backend(&self, backend: Backend) -> Option<&BackendFacts> {
        self.backends.get(backend.as_str())
    }

    /// How many clusters the hub holds. None: they were not all counted.
    pub fn load(&self) -> Option<i64> {
        self.sum(|backend| backend.clusters)
    }

    /// How many of them are in the making. None: they were not all counted.
    pub fn provisioning(&self) -> Option<i64> {
        self.sum(|backend| backend.provisioning)
    }

    fn sum(&self, of: impl Fn(&BackendFacts) -> Option<i64>) -> Option<i64> {
        let mut counts = self.backends.values().map(of).peekable();
        counts.peek()?;
        counts.try_fold(0_i64, |sum, count| Some(sum.saturating_add(count?.max(0))))
    }
}
