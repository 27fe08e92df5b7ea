//! `ClusterOrder`, `osac.openshift.io/v1alpha1`. Source: osac-project/osac-operator, `api/v1alpha1`.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::meta::{Lenient, Metadata, ObservedCondition, lenient_time};

/// apiVersion.
pub const API_VERSION: &str = "osac.openshift.io/v1alpha1";
/// Kind.
pub const KIND: &str = "ClusterOrder";
/// Annotation: whose it is.
pub const TENANT: &str = "osac.openshift.io/tenant";
/// Annotation: `manual`, if no jobs are to be run for it, `unmanaged`, if it is to be left alone.
pub const MANAGEMENT_STATE: &str = "osac.openshift.io/management-state";

/// The fields of a ClusterOrder that we read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClusterOrder {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec, whole: what it was made with is nowhere else once the writer is lost.
    pub spec: Value,
    /// Status.
    pub status: Lenient<ClusterOrderStatus>,
}

/// Parts of its `status`. An unreadable part does not affect the others.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterOrderStatus {
    /// `Progressing`, `Failed`, `Ready` or `Deleting`. `Ready` says that the job has done its work, and nothing of the cluster.
    pub phase: String,
    /// Conditions. They turn True, and never back.
    pub conditions: Vec<ObservedCondition>,
    /// Reference to the resulting cluster.
    pub cluster_reference: Lenient<ClusterReference>,
    /// The last jobs, the oldest first.
    pub provisioning_jobs: Lenient<Vec<Job>>,
    /// Stands for the spec as it is to be brought about.
    pub desired_config_version: String,
    /// The machines of its node sets, since September 2026.
    pub workers: Lenient<Vec<NodeSetWorker>>,
}

/// A machine of a node set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSetWorker {
    /// Name of the node set.
    pub node_set: String,
    /// `Provisioning`, `WaitingForAgent`, `Binding`, `Ready`, `Failed`, `Unbinding` or `Deleting`.
    pub phase: String,
    /// Reason of its last failure, in a word.
    pub last_failure_reason: String,
    /// The same in a sentence.
    pub last_failure_message: String,
    /// When that was.
    #[serde(deserialize_with = "lenient_time")]
    pub last_failure_time: Option<Timestamp>,
}

impl NodeSetWorker {
    /// Whether it is a node of the cluster.
    pub fn is_ready(&self) -> bool {
        self.phase == "Ready"
    }

    /// Whether it is on its way out of the cluster.
    pub fn is_leaving(&self) -> bool {
        matches!(self.phase.as_str(), "Unbinding" | "Deleting")
    }

    /// Whether it failed, and is tried again.
    pub fn has_failed(&self) -> bool {
        self.phase == "Failed"
    }
}

/// `status.clusterReference`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterReference {
    /// Namespace of the HostedCluster.
    pub namespace: String,
    /// Its name.
    pub hosted_cluster_name: String,
}

/// A job of the automation's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Job {
    /// Its id.
    #[serde(rename = "jobID")]
    pub id: String,
    /// `provision` or `deprovision`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `Pending`, `Waiting`, `Running`, `Succeeded`, `Failed`, `Canceled` or `Unknown`.
    pub state: String,
    /// Message.
    pub message: String,
    /// When it was begun.
    #[serde(deserialize_with = "lenient_time")]
    pub timestamp: Option<Timestamp>,
    /// Which spec it brings about.
    pub config_version: String,
    /// Whether the order stays if it fails: what it left behind costs money.
    pub block_deletion_on_failure: bool,
}

impl Job {
    /// Type of a job that applies a spec.
    pub const PROVISION: &str = "provision";
    /// Type of a job that deprovisions everything.
    pub const DEPROVISION: &str = "deprovision";

    /// Whether it did its work.
    pub fn is_done(&self) -> bool {
        self.state == "Succeeded"
    }

    /// Whether it ended without having done its work.
    pub fn has_failed(&self) -> bool {
        matches!(self.state.as_str(), "Failed" | "Canceled")
    }
}

/// Condition types.
pub mod conditions {
    /// Its namespace is there.
    pub const NAMESPACE_CREATED: &str = "NamespaceCreated";
    /// Its HostedCluster is.
    pub const CONTROL_PLANE_CREATED: &str = "ControlPlaneCreated";
    /// The API of that answered once.
    pub const CONTROL_PLANE_AVAILABLE: &str = "ControlPlaneAvailable";
    /// The cluster was there once, nodes and all.
    pub const CLUSTER_AVAILABLE: &str = "ClusterAvailable";
    /// Its storage is set up. Nothing waits for that.
    pub const CLUSTER_STORAGE_READY: &str = "ClusterStorageReady";
    /// Name of that condition on claims.
    pub const STORAGE_READY: &str = "StorageReady";
}
