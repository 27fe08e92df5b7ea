//! Exchange between function and hub-side provider about a ClusterPool, in annotations of it: the function asks in
//! [`ours::POOL_REQUEST`](crate::names::ours::POOL_REQUEST), the provider answers in
//! [`ours::POOL_STATUS`](crate::names::ours::POOL_STATUS).
//!
//! **Invariant:** `spec.size` and `spec.runningCount` have one writer, the function. The provider never writes the pool's spec. It requests
//! a limit for a refresh or rotation as [`Ceiling`], and the function renders the smaller of that and the schedule's size. So no two
//! writers compete for a number. While the provider is down, its last request stays in effect.
//!
//! Anybody with access to the pool's namespace can read annotations, so they never hold a secret. Reading is forgiving.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::lenient_serde::{lenient_integer, lenient_option};
use crate::pool::{OnArtifactChange, RotationMode};
pub use crate::pool_phase::{RefreshPhase, RotationPhase};
use crate::pool_status::PoolFailure;

/// Request of the function to the provider about one pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolRequest {
    /// The size that the pool is to have when nothing else is going on. Absent: somebody else decides, and no refresh can scale.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// A refresh that is asked for.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub refresh: Option<RefreshRequest>,
    /// Reaction to a changed release of the ClusterImageSet.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub on_artifact_change: Option<OnArtifactChange>,
    /// The credentials that are to be used.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub credentials: Option<CredentialsRequest>,
}

/// A refresh that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RefreshRequest {
    /// Which; one that was done is not done again.
    pub nonce: String,
    /// Maximum number of unavailable clusters at a time. Absent: all.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<i64>,
}

/// The credentials that are to be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CredentialsRequest {
    /// Name of the Secret.
    pub name: String,
    /// When they are used.
    pub mode: RotationMode,
}

/// Report of the provider on one pool, with its own requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolStatus {
    /// Current upper limit of the pool. Absent: no limit beyond the spec.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// The refresh that is under way, or was the last.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub refresh: Option<RefreshReport>,
    /// Content of the objects that the pool refers to.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Artifacts>,
    /// The change of credentials that is under way, or was the last.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub rotation: Option<RotationReport>,
    /// Number of claimed clusters.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub claimed: Option<i64>,
    /// Namespaces with another pool of the same name, whose administrators Hive lets into this one's clusters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namesakes: Vec<String>,
    /// The last installation that failed.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub last_provision_failure: Option<PoolFailure>,
    /// Whether a cluster that is younger than that failure was installed, whatever became of it. Absent: none, or nobody looked.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub provision_failure_overcome: Option<bool>,
}

/// Upper limit of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ceiling {
    /// Clusters that nobody has claimed.
    pub size: i64,
    /// Of them running. Absent: as the pool is asked to be.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub running_count: Option<i64>,
}

/// Progress of a refresh. A restarted provider knows nothing else about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RefreshReport {
    /// Nonce that requested it.
    pub nonce: String,
    /// Stage.
    pub phase: RefreshPhase,
    /// When it was taken up.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When the youngest cluster was made that was there then, by the hub's clock: it and what is older is to be replaced. Absent: what is older than
    /// `startedAt`, as of a provider that did not know that the clocks differ.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub youngest: Option<Timestamp>,
    /// Number of clusters still to replace.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub remaining: Option<i64>,
    /// `remaining` at the start of this wave; a wave without progress is the last. Absent once waiting claims took some of these clusters,
    /// because it then shows nothing.
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    /// For a refresh that no nonce requested: the nonce at that time. The refresh covers it.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub along: Option<String>,
}

impl RefreshReport {
    /// Whether it is what this nonce asks for.
    pub fn covers_nonce(&self, nonce: &str) -> bool {
        self.nonce == nonce || self.along.as_deref() == Some(nonce)
    }
}

/// Content of the objects that a pool refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Artifacts {
    /// The ClusterImageSet.
    pub image_set: String,
    /// The release under it that the clusters are made from.
    pub release_image: String,
    /// Whether another release is under it now.
    pub changed: bool,
}

/// Progress of a credentials rotation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RotationReport {
    /// Name of the Secret that is to be used.
    pub name: String,
    /// Stage.
    pub phase: RotationPhase,
    /// When the pool was first seen to use it: a cluster that is older was made with another.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Hive's hash of the pool's spec, from the youngest cluster that was seen while those that are used were used.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub spec_hash: Option<String>,
    /// The same while those before them were used. Hive reads a pool once and makes all that it lacks: a cluster with this hash was made with
    /// another Secret, though it is younger than `since`.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub spec_hash_before: Option<String>,
    /// The older clusters, the first fifty by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters_on_old: Vec<String>,
    /// Number of clusters with old credentials.
    pub on_old: i64,
    /// Number of claimed ones among them.
    pub claimed_on_old: i64,
}

impl PoolRequest {
    /// The text of the annotation.
    ///
    /// # Errors
    /// None that is known: every field has a form in JSON.
    pub fn to_annotation(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

impl PoolStatus {
    /// Reads the annotation. Only a text that is not a JSON object is an error, so that it can be reported.
    ///
    /// # Errors
    /// If the text is no JSON object.
    pub fn from_annotation(annotation: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(annotation)
    }

    /// The text of the annotation.
    ///
    /// # Errors
    /// None that is known: every field has a form in JSON.
    pub fn to_annotation(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}
