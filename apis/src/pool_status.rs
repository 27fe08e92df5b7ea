//! The status of a pool in Git: what its administrators are told. Status is a copy; reading is forgiving.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient_serde::{lenient_integer, lenient_option};
use crate::pool_report::{RefreshPhase, RotationPhase};

/// Where a pool stands. Everything is absent until it is known.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestPlatformClusterPoolStatus {
    /// Where the pool stands. Pending: it was not made yet, the message says what is missing. Ready: it is on the hub as asked for.
    /// Degraded: it is there and cannot do its work. Draining: it is going, and held until its last claimed cluster is given back.
    /// Drained: it is gone, as asked.
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
    /// How many clusters there are that nobody has claimed, those being installed and broken ones included.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// How many of them hibernate.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub standby: Option<i64>,
    /// How many of them run, and can be claimed at once.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub ready: Option<i64>,
    /// How many of them are being installed, or broken.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub installing: Option<i64>,
    /// How many are claimed. Only where the hub-side provider looks after pools.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub claimed: Option<i64>,
    /// Claimed clusters that hold a pool which is going.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claimed_clusters: Vec<String>,
    /// How far the clusters that nobody has claimed are what the pool says now.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
    /// Which part of the schedule holds.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleStatus>,
    /// How far the last refresh is.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub refresh: Option<RefreshStatus>,
    /// How far the last change of credentials is.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub rotation: Option<RotationStatus>,
    /// The last installation that failed. Kept when Hive has replaced the cluster.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub last_provision_failure: Option<PoolFailure>,
}

/// Where a pool stands.
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
    /// Why this hub was chosen, as one CamelCase word.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Where a ClusterPool is on its hub.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolPlace {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// How far the clusters that nobody has claimed are what the pool says now.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rollout {
    /// How many are.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub current: Option<i64>,
    /// Those that are not, and are replaced one after the other. Claims may still get one.
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

/// How far a refresh is.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RefreshStatus {
    /// The nonce that asked for it.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// How far it is. Absent while nobody has taken it up.
    #[schemars(with = "RefreshPhase")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub phase: Option<RefreshPhase>,
    /// How many clusters are still to be replaced.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub remaining: Option<i64>,
}

/// How far a change of credentials is.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RotationStatus {
    /// Name of the new Secret.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// How far it is. Absent while nobody has taken it up.
    #[schemars(with = "RotationPhase")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub phase: Option<RotationPhase>,
    /// Clusters that were made with other credentials, the first fifty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters_on_old: Vec<String>,
    /// How many of them are claimed.
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
