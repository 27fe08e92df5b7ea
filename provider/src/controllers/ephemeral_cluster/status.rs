//! The status of an EphemeralCluster, as it is read and written.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// `status`. Unknown fields (another controller's) stay unchanged, because it is written as a merge patch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// Phase; None only before the first reconcile.
    #[serde(with = "phase")]
    pub phase: Option<Phase>,
    /// One per type. They are carried from pass to pass.
    pub conditions: Vec<Condition>,
    /// Name of the ProwJob.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prow_job_id: String,
    /// Address at which the job can be watched.
    #[serde(rename = "prowJobURL", skip_serializing_if = "String::is_empty")]
    pub prow_job_url: String,
    /// Name of the published Secret. Once there it stays, also when the Secret has been withdrawn.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub secret_ref: String,
    /// The generation that was judged. Not in the upstream CRD, which prunes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Time at which the cluster is torn down at the latest. Not in the upstream CRD, which prunes it.
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
    /// Request to tear down the cluster.
    Deprovisioning,
    /// The cluster was deleted on request.
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
    /// A CamelCase word. Older upstream controllers wrote a sentence or nothing.
    #[serde(default)]
    pub reason: String,
    /// A sentence, or nothing. Required by newer CRDs of upstream.
    #[serde(default)]
    pub message: String,
    /// When the status last changed.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "testplatform_apis::foreign::meta::lenient_time"
    )]
    pub last_transition_time: Option<Timestamp>,
    /// The generation that another controller judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// Whether `desired` has to be written over `stored`.
///
/// The upstream CRD prunes the additive fields. Where they did not come back they are no reason to write, or every pass
/// would write them.
pub fn differs(stored: &Status, desired: &Status) -> bool {
    let has_generation = stored.observed_generation.is_some();
    let comparable = |status: &Status| Status {
        observed_generation: status.observed_generation.filter(|_| has_generation),
        expires_at: status.expires_at.filter(|_| has_generation),
        ..status.clone()
    };
    comparable(stored) != comparable(desired)
}

/// Merge patch from `stored` to `desired`, without resourceVersion; None if nothing differs.
///
/// Contains all conditions, because they are one value to a merge patch. Fields that `desired` lacks become null, because a merge patch keeps
/// the fields that it does not name.
pub fn patch(stored: &Status, desired: &Status) -> Option<Value> {
    if !differs(stored, desired) {
        return None;
    }
    let fields = |status: &Status| match serde_json::to_value(status) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    };
    let mut status: Map<String, Value> =
        fields(stored).into_iter().map(|(key, _)| (key, Value::Null)).collect();
    status.extend(fields(desired));
    Some(json!({ "status": status }))
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

    /// Upstream writes an empty phase after a failed creation; an unknown word counts as none.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Phase>, D::Error> {
        let text = Option::<serde_json::Value>::deserialize(deserializer)?;
        Ok(text.and_then(|word| serde_json::from_value(word).ok()))
    }
}
