//! The job that is to be made for an EphemeralCluster, or why none is.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    profiles::Profiles,
    world::{Draft, Refusal},
};
use crate::config::Config;

/// Judges an EphemeralCluster, whole and as read from the API server, and makes the manifest of its ProwJob.
pub fn draft(_object: &Value, _config: &Config, _profiles: &Profiles, _now: Timestamp) -> Draft {
    Draft::Later(Refusal {
        reason: "CIOperatorJobsGenerateFailure",
        message: "nothing makes jobs yet".into(),
    })
}
