//! `Cluster`, `cluster.x-k8s.io/v1beta2`. Source: kubernetes-sigs/cluster-api, `api/core/v1beta2`.

use serde::Deserialize;
use serde_json::Value;

use super::meta::{Lenient, Metadata, ObservedCondition, with_status_time};

/// apiVersion.
pub const API_VERSION: &str = "cluster.x-k8s.io/v1beta2";
/// Kind.
pub const KIND: &str = "Cluster";
/// Annotation of a group of nodes: the fewest that the autoscaler leaves.
pub const AUTOSCALE_MIN: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
/// Annotation of a group of nodes: the most that the autoscaler makes.
pub const AUTOSCALE_MAX: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";

/// The fields of a Cluster that we read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Cluster {
    /// Metadata, with the time at which the status last changed.
    #[serde(deserialize_with = "with_status_time")]
    pub metadata: Metadata,
    /// Spec, whole: controllers write into it, and what it was made with is nowhere else once the writer is lost.
    pub spec: Value,
    /// Status.
    pub status: Lenient<ClusterStatus>,
}

/// Parts of its `status`. An unreadable part does not affect the others.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    /// Conditions.
    pub conditions: Vec<ObservedCondition>,
    /// `Pending`, `Provisioning`, `Provisioned`, `Deleting` or `Unknown`. `Provisioned` says that there is an endpoint, and no more.
    pub phase: String,
    /// Initialization milestones.
    pub initialization: Lenient<Initialization>,
    /// Its control plane.
    pub control_plane: Lenient<Nodes>,
    /// Its other nodes.
    pub workers: Lenient<Nodes>,
    /// The generation of the spec that was looked at last.
    pub observed_generation: Option<i64>,
    /// Fields of the previous API version.
    pub deprecated: Lenient<Deprecated>,
}

/// `status.initialization`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Initialization {
    /// Whether the infrastructure of the cluster is ready.
    pub infrastructure_provisioned: bool,
}

/// `status.controlPlane` and `status.workers`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Nodes {
    /// Desired number.
    pub desired_replicas: Option<i64>,
    /// Number of available ones.
    pub available_replicas: Option<i64>,
    /// The versions that they run.
    pub versions: Vec<Running>,
}

/// A version that nodes run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Running {
    /// The version, with a `v`.
    pub version: String,
}

/// `status.deprecated`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Deprecated {
    /// Of v1beta1.
    pub v1beta1: V1Beta1,
}

/// `status.deprecated.v1beta1`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct V1Beta1 {
    /// Reason of a terminal failure, in one word; empty: none.
    pub failure_reason: String,
    /// The same in a sentence.
    pub failure_message: String,
}

/// Condition types, and the reasons of them that matter.
pub mod conditions {
    /// All of it is there and answers.
    pub const AVAILABLE: &str = "Available";
    /// The topology was applied to all parts of the cluster.
    pub const TOPOLOGY_RECONCILED: &str = "TopologyReconciled";
    /// Reason of `TopologyReconciled=False`: something that the topology asks for cannot be.
    pub const RECONCILE_FAILED: &str = "ReconcileFailed";
    /// Reason of `TopologyReconciled=False`: the ClusterClass is not worked through yet.
    pub const CLASS_NOT_RECONCILED: &str = "ClusterClassNotReconciled";
    /// Its infrastructure is ready.
    pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
    /// Its control plane answered once.
    pub const CONTROL_PLANE_INITIALIZED: &str = "ControlPlaneInitialized";
    /// Its control plane answers.
    pub const CONTROL_PLANE_AVAILABLE: &str = "ControlPlaneAvailable";
    /// The machines of its control plane are well.
    pub const CONTROL_PLANE_MACHINES_READY: &str = "ControlPlaneMachinesReady";
    /// Its other nodes are there.
    pub const WORKERS_AVAILABLE: &str = "WorkersAvailable";
    /// Reason of `WorkersAvailable=True`: none is asked for.
    pub const NO_WORKERS: &str = "NoWorkers";
    /// Its other machines are well.
    pub const WORKER_MACHINES_READY: &str = "WorkerMachinesReady";
    /// The hub reaches its API.
    pub const REMOTE_CONNECTION_PROBE: &str = "RemoteConnectionProbe";
    /// Machines are replaced by others.
    pub const ROLLING_OUT: &str = "RollingOut";
    /// There are to be more machines.
    pub const SCALING_UP: &str = "ScalingUp";
    /// There are to be fewer machines.
    pub const SCALING_DOWN: &str = "ScalingDown";
    /// Machines that are not well are replaced.
    pub const REMEDIATING: &str = "Remediating";
    /// It is being taken down; the reason says what is waited for.
    pub const DELETING: &str = "Deleting";
    /// Somebody paused it.
    pub const PAUSED: &str = "Paused";
}
