//! The status of an EphemeralCluster, as it is read and written.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// `status`. What is not known here (another controller's) is left as it is, because it is written as a merge patch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// The phase; none only on an object that nobody has looked at.
    #[serde(with = "phase")]
    pub phase: Option<Phase>,
    /// One per type. They are carried from pass to pass.
    pub conditions: Vec<Condition>,
    /// Name of the ProwJob.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prow_job_id: String,
    /// Where the job can be watched.
    #[serde(rename = "prowJobURL", skip_serializing_if = "String::is_empty")]
    pub prow_job_url: String,
    /// Name of the published Secret. Once there it stays, also when the Secret has been withdrawn.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub secret_ref: String,
    /// The generation that was judged. Not in the upstream CRD, which prunes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the cluster is torn down at the latest. Not in the upstream CRD, which prunes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Phases of an EphemeralCluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// A job is made, or runs and has no cluster yet.
    Provisioning,
    /// The credentials are published.
    Ready,
    /// The end was asked for.
    Deprovisioning,
    /// The cluster is gone, as asked.
    Deprovisioned,
    /// There is or will be no cluster, not as asked. Never left.
    Failed,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A CamelCase word; upstream sometimes has a sentence or nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the status last changed.
    #[serde(default, deserialize_with = "testplatform_apis::foreign::meta::lenient_time")]
    pub last_transition_time: Option<Timestamp>,
}

mod phase {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Phase;

    #[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub fn serialize<S: Serializer>(phase: &Option<Phase>, serializer: S) -> Result<S::Ok, S::Error> {
        match phase {
            Some(phase) => phase.serialize(serializer),
            None => serializer.serialize_str(""),
        }
    }

    /// Upstream writes an empty phase after a failed creation; a word that nobody knows counts as none.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Phase>, D::Error> {
        let text = Option::<serde_json::Value>::deserialize(deserializer)?;
        Ok(text.and_then(|word| serde_json::from_value(word).ok()))
    }
}
