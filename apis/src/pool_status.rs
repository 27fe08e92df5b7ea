//! The status of a pool in Git: what its administrators are told. Status is a copy; reading is forgiving.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient_serde::{lenient_integer, lenient_option};
use crate::pool_phase::{RefreshPhase, RotationPhase};

/// State of a pool. Every field is absent until it is known.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestPlatformClusterPoolStatus {
    /// Phase of the pool. Pending: it does not exist yet, the message says what is missing. Ready: it is on the hub as asked for. Degraded:
    /// it is there and cannot do its work. Draining: it is going, and held until its last claimed cluster is given back. Drained: it is
    /// gone, as asked.
    #[schemars(with = "PoolPhase")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub phase: Option<PoolPhase>,
    /// One sentence on what is happening or what went wrong, and what can be done about it.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The ClusterPool on the hub.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolPlace>,
    /// The hub.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub hub: Option<PoolHub>,
    /// Number of unclaimed clusters, installing and broken ones included.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// Number of hibernating ones among them.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub standby: Option<i64>,
    /// Number of running ones among them, available at once.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub ready: Option<i64>,
    /// Number of installing or broken ones among them.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub installing: Option<i64>,
    /// Number of claimed clusters. Only if the hub-side provider manages pools.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub claimed: Option<i64>,
    /// Claimed clusters that hold a pool which is going.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claimed_clusters: Vec<String>,
    /// Rollout of the pool's current spec to unclaimed clusters.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
    /// Which part of the schedule holds.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleStatus>,
    /// Progress of the last refresh.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub refresh: Option<RefreshStatus>,
    /// Progress of the last credentials rotation.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub rotation: Option<RotationStatus>,
    /// The last installation that failed. Kept when Hive has replaced the cluster.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub last_provision_failure: Option<PoolFailure>,
}

/// Phase of a pool.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PoolPhase {
    /// Not made yet.
    Pending,
    /// On the hub as asked for.
    Ready,
    /// There, and cannot do its work.
    Degraded,
    /// Going.
    Draining,
    /// Gone, as asked.
    Drained,
}

impl PoolPhase {
    /// Every phase.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Ready, Self::Degraded, Self::Draining, Self::Drained];

    /// The word in `status.phase`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Ready => "Ready",
            Self::Degraded => "Degraded",
            Self::Draining => "Draining",
            Self::Drained => "Drained",
        }
    }
}

impl std::fmt::Display for PoolPhase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The hub.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolHub {
    /// Name of the hub, which is the name of the ProviderConfig that leads to it.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Reason for the choice of this hub, as one CamelCase word.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Location of a ClusterPool on its hub.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolPlace {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// Rollout of the pool's current spec to unclaimed clusters.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rollout {
    /// Number of up-to-date clusters.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub current: Option<i64>,
    /// Names of outdated clusters, which are replaced one after the other. Claims may still get one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
    /// Whether all are.
    pub up_to_date: bool,
}

/// Which part of the schedule holds.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScheduleStatus {
    /// Name of the window; absent outside all windows.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub active_window: Option<String>,
    /// When another part begins (RFC 3339, UTC).
    #[schemars(with = "String")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub next_transition: Option<Timestamp>,
}

/// Stage of a refresh.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RefreshStatus {
    /// The nonce that asked for it.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// Stage. Absent until it has started.
    #[schemars(with = "RefreshPhase")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub phase: Option<RefreshPhase>,
    /// Number of clusters still to replace.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub remaining: Option<i64>,
}

/// Progress of a credentials rotation.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RotationStatus {
    /// Name of the new Secret.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// Stage. Absent until it has started.
    #[schemars(with = "RotationPhase")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub phase: Option<RotationPhase>,
    /// Clusters that were made with other credentials, the first fifty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters_on_old: Vec<String>,
    /// Number of claimed ones among them.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub claimed_on_old: Option<i64>,
}

/// An installation that failed.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolFailure {
    /// The ClusterDeployment, which may be gone.
    pub cluster_deployment: String,
    /// Hive's word for it.
    pub reason: String,
    /// Hive's sentence, shortened and without secrets.
    pub message: String,
    /// When it failed (RFC 3339, UTC).
    #[schemars(with = "String")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// Which try it was.
    #[schemars(range(min = 1))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i64>,
}
