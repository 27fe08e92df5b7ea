//! Everything around one pool that a decision depends on, as data: above all its ClusterDeployments.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use testplatform_apis::{
    foreign::meta::{Lenient, Metadata, ObservedCondition, find_condition},
    pool_status::PoolFailure,
};

/// The most of a sentence of Hive's that is repeated.
const MOST: usize = 512;
/// Hive's reason where it knows no more than the log: its sentence quotes it.
const UNKNOWN: &str = "UnknownError";

/// Observed state. Every part of it may be out of date.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolClusters {
    /// The pool's clusters, claimed and unclaimed, and those that are being destroyed.
    pub clusters: Vec<PoolCluster>,
    /// How many claims wait: Hive makes a cluster more for each.
    pub waiting: usize,
    /// Release image of the pool's ClusterImageSet; None: it does not exist, or was not read.
    pub release_image: Option<String>,
    /// The other namespaces with a pool of this name.
    pub namesakes: Vec<String>,
}

/// A cluster of a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolCluster {
    /// Name of its ClusterDeployment, and of that one's namespace.
    pub name: String,
    /// When it was made.
    pub created: Timestamp,
    /// Hive's hash of the pool's spec from which it was made.
    pub spec_hash: Option<String>,
    /// Whether a claim has it.
    pub claimed: bool,
    /// Whether it is installed.
    pub installed: bool,
    /// Whether it runs.
    pub running: bool,
    /// Whether it is being destroyed, or about to be.
    pub is_deleted: bool,
    /// Why its installation failed, if it did.
    pub failure: Option<PoolFailure>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PoolDeployment {
    metadata: Metadata,
    spec: Lenient<Spec>,
    status: Lenient<Status>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    installed: bool,
    cluster_pool_ref: Option<ClusterPoolRef>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClusterPoolRef {
    namespace: String,
    pool_name: String,
    claim_name: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    power_state: String,
    install_restarts: i64,
    conditions: Vec<ObservedCondition>,
}

/// Hive's marks of a cluster that it is about to destroy: today's, and that of older versions.
const MARKS: [&str; 2] =
    ["hive.openshift.io/remove-cluster-from-pool", "hive.openshift.io/remove-claimed-cluster-from-pool"];

/// Hash by which Hive recognises clusters of the current pool spec.
const SPEC_HASH: &str = "hive.openshift.io/cluster-pool-spec-hash";
/// Longer is no hash.
const LONGEST_HASH: usize = 128;

impl PoolCluster {
    /// Reads a ClusterDeployment, if it belongs to this pool. Its own spec counts, not a label.
    pub fn read(object: &Value, namespace: &str, pool: &str) -> Option<Self> {
        let deployment = PoolDeployment::deserialize(object).ok()?;
        let spec = deployment.spec.value;
        let of = spec.cluster_pool_ref.filter(|r| r.namespace == namespace && r.pool_name == pool)?;
        let metadata = deployment.metadata;
        let marked = MARKS.iter().any(|key| metadata.annotation(key) == Some("true"));
        let status = deployment.status.value;
        Some(Self {
            failure: failure(&metadata.name, &status),
            created: metadata.creation_timestamp?,
            spec_hash: metadata.annotation(SPEC_HASH).filter(|h| h.len() <= LONGEST_HASH).map(str::to_owned),
            claimed: !of.claim_name.is_empty(),
            installed: spec.installed,
            running: status.power_state == "Running",
            is_deleted: marked || metadata.deletion_timestamp.is_some(),
            name: metadata.name,
        })
    }

    /// Whether it is available to claims.
    pub fn is_free(&self) -> bool {
        !self.claimed && !self.is_deleted
    }
}

/// Why an installation failed. Hive's sentence for what it knows is fixed; where it does not know, it quotes the log, and a log may
/// quote a secret.
fn failure(name: &str, status: &Status) -> Option<PoolFailure> {
    let failed = find_condition(&status.conditions, "ProvisionFailed").filter(|c| c.is_true());
    let stopped = find_condition(&status.conditions, "ProvisionStopped").filter(|c| c.is_true());
    let condition = failed.or(stopped)?;
    let is_word = !condition.reason.is_empty()
        && condition.reason.len() <= 128
        && condition.reason.bytes().all(|b| b.is_ascii_alphanumeric());
    let quotes = |m: &str| m.contains('\n') || m.contains("level=") || m.contains("://");
    let message = if condition.reason == UNKNOWN || !is_word || quotes(&condition.message) {
        "Hive knows no more than the log says, which is not repeated here".to_owned()
    } else {
        let end = condition.message.floor_char_boundary(MOST);
        condition.message[..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    };
    Some(PoolFailure {
        cluster_deployment: name.to_owned(),
        reason: if is_word { condition.reason.clone() } else { UNKNOWN.into() },
        message,
        time: condition.last_transition_time,
        attempt: Some(status.install_restarts.saturating_add(1)),
    })
}
