//! Observed state of the hub.

use std::collections::BTreeMap;

use testplatform_apis::template::Backend;

/// Observed state of the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubState {
    /// Problem of its API server, if any.
    pub trouble: Option<String>,
    /// Each configured backend.
    pub backends: BTreeMap<Backend, BackendState>,
    /// Each class of nodes, with how many are free. None: they are not counted, or could not be.
    pub classes: BTreeMap<String, Option<i64>>,
    /// The best version of its API that the hub serves, of the backend for which hubs report it.
    pub api_version: Option<String>,
}

/// Observed state of one backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendState {
    /// Its clusters were counted.
    Counted {
        /// How many there are.
        clusters: i64,
        /// How many of them never were ready.
        provisioning: i64,
        /// Versions that it supports.
        versions: Vec<String>,
        /// Classes of clusters that there are. None: it has no such thing, or they could not be listed.
        cluster_classes: Option<Vec<String>>,
    },
    /// The hub does not know its kind: what is missing, as a sentence.
    NotServed(String),
    /// They could not be counted now.
    Unknown,
}
