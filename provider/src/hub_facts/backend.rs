//! How far a cluster of a backend is, by the object that stands for it.

use serde::Deserialize;
use serde_json::Value;
use testplatform_apis::{
    foreign::meta::{ObservedCondition, condition},
    template::Backend,
};

/// Fields that are read of any backend's status.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: String,
    conditions: Vec<ObservedCondition>,
    version: Version,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    history: Vec<Entry>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    state: String,
}

/// Whether a cluster never became ready, by its object's status. An unreadable status counts as never ready.
pub fn in_the_making(backend: Backend, status: &Value) -> bool {
    let status = Status::deserialize(status).unwrap_or_default();
    let is_true = |type_| condition(&status.conditions, type_).is_some_and(ObservedCondition::is_true);
    let ever_ready = match backend {
        // Without workers no version is ever completed.
        Backend::HyperShift => {
            status.version.history.iter().any(|entry| entry.state == "Completed") || is_true("Available")
        }
        // Stays, whatever becomes of the cluster.
        Backend::ClusterApi => is_true("ControlPlaneInitialized"),
        Backend::Caas | Backend::Osac => status.phase == "Ready",
    };
    !ever_ready
}
