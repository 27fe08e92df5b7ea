//! Progress of a cluster of a backend, by its object.

use serde::Deserialize;
use serde_json::Value;
use testplatform_apis::{
    foreign::meta::{ObservedCondition, find_condition},
    template::{Backend, descriptor::EverReady},
};

/// Fields that are read of any backend's status.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: String,
    conditions: Vec<ObservedCondition>,
    version: VersionStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct VersionStatus {
    history: Vec<HistoryEntry>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct HistoryEntry {
    state: String,
}

/// Whether a cluster never became ready, by its object's status. An unreadable status counts as never ready.
pub fn in_the_making(backend: Backend, status: &Value) -> bool {
    let status = Status::deserialize(status).unwrap_or_default();
    let is_true = |type_| find_condition(&status.conditions, type_).is_some_and(ObservedCondition::is_true);
    let ever_ready = match backend.descriptor().ever_ready {
        EverReady::Phase(phase) => status.phase == phase,
        EverReady::Condition(type_) => is_true(type_),
        EverReady::VersionOrCondition(type_) => {
            status.version.history.iter().any(|entry| entry.state == "Completed") || is_true(type_)
        }
    };
    !ever_ready
}
