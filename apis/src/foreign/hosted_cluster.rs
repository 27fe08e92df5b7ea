//! `HostedCluster` and `NodePool`, `hypershift.openshift.io/v1beta1`, side by side in one namespace. Source: openshift/hypershift,
//! `api/hypershift/v1beta1`.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Endpoint,
    meta::{Lenient, Metadata, ObservedCondition, lenient_time, with_status_time},
    object::NameRef,
};

/// apiVersion of both.
pub const API_VERSION: &str = "hypershift.openshift.io/v1beta1";
/// Kind of the cluster.
pub const HOSTED_CLUSTER: &str = "HostedCluster";
/// Kind of each group of its nodes.
pub const NODE_POOL: &str = "NodePool";
/// Annotation of a HostedCluster: `true`, if what the cluster made in the cloud goes with it: load balancers, DNS records, volumes and the
/// registry's storage. Without it they stay, and are paid for.
pub const CLEANUP_CLOUD_RESOURCES: &str = "hypershift.openshift.io/cleanup-cloud-resources";

/// The fields of a HostedCluster that we read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HostedCluster {
    /// Metadata, with the time at which the status last changed.
    #[serde(deserialize_with = "with_status_time")]
    pub metadata: Metadata,
    /// Spec, whole: HyperShift writes into it, and what it was made with is nowhere else once the writer is lost.
    pub spec: Value,
    /// Status.
    pub status: Lenient<HostedClusterStatus>,
}

/// Parts of its `status`. An unreadable part does not affect the others.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostedClusterStatus {
    /// Conditions.
    pub conditions: Vec<ObservedCondition>,
    /// Current and past versions.
    pub version: Lenient<VersionStatus>,
    /// URL of its API.
    pub control_plane_endpoint: Lenient<Endpoint>,
    /// The Secret with the kubeconfig, beside it. It is named long before it can be used.
    pub kubeconfig: Lenient<Option<NameRef>>,
    /// The Secret with the password of kubeadmin, beside it; none where the cluster has its own identity provider.
    pub kubeadmin_password: Lenient<Option<NameRef>>,
}

/// `status.version`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct VersionStatus {
    /// Newest first.
    pub history: Vec<Update>,
}

/// A version that was rolled out, or is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Update {
    /// `Completed` or `Partial`.
    pub state: String,
    /// The version.
    pub version: String,
    /// Its image.
    pub image: String,
    /// When it was there.
    #[serde(deserialize_with = "lenient_time")]
    pub completion_time: Option<Timestamp>,
}

impl Update {
    /// Whether it is there.
    pub fn is_completed(&self) -> bool {
        self.state == "Completed"
    }
}

/// The fields of a NodePool that we read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodePool {
    /// Metadata, with the time at which the status last changed.
    #[serde(deserialize_with = "with_status_time")]
    pub metadata: Metadata,
    /// Spec, whole.
    pub spec: Value,
    /// Status.
    pub status: Lenient<NodePoolStatus>,
}

/// Parts of its `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodePoolStatus {
    /// Number of its available nodes.
    pub replicas: Option<i64>,
    /// The version that they run.
    pub version: String,
    /// Conditions; one type may be there more than once.
    pub conditions: Vec<ObservedCondition>,
}

/// Condition types, and the reasons of them that matter.
pub mod conditions {
    /// Of a HostedCluster: its API server answers.
    pub const AVAILABLE: &str = "Available";
    /// Of a HostedCluster: it is being worked on.
    pub const PROGRESSING: &str = "Progressing";
    /// Reason of `Progressing=False`: something is in the way.
    pub const BLOCKED: &str = "Blocked";
    /// Of a HostedCluster: something of it is not healthy. Unknown before there is a control plane.
    pub const DEGRADED: &str = "Degraded";
    /// Of a HostedCluster: what it runs on is there.
    pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
    /// Of a HostedCluster: its etcd answers.
    pub const ETCD_AVAILABLE: &str = "EtcdAvailable";
    /// Of a HostedCluster: its kube-apiserver runs.
    pub const KUBE_API_SERVER_AVAILABLE: &str = "KubeAPIServerAvailable";
    /// Of a HostedCluster: a version is rolled out and works.
    pub const CLUSTER_VERSION_SUCCEEDING: &str = "ClusterVersionSucceeding";
    /// Of both: the image can be used.
    pub const VALID_RELEASE_IMAGE: &str = "ValidReleaseImage";
    /// Reason of `ValidReleaseImage=False` that does not pass by itself.
    pub const INVALID_IMAGE: &str = "InvalidImage";
    /// Of a HostedCluster: the cloud accepts its credentials.
    pub const PLATFORM_CREDENTIALS_FOUND: &str = "PlatformCredentialsFound";
    /// Of a HostedCluster: True, if its networks are not its own.
    pub const CLUSTER_NETWORK_CIDR_CONFLICT: &str = "ClusterNetworkCIDRConflict";
    /// Of both: False, if somebody paused it.
    pub const RECONCILIATION_ACTIVE: &str = "ReconciliationActive";
    /// The infrastructure of a deleted HostedCluster is gone.
    pub const CLOUD_RESOURCES_DESTROYED: &str = "CloudResourcesDestroyed";
    /// The control plane of a deleted HostedCluster is gone.
    pub const HOSTED_CLUSTER_DESTROYED: &str = "HostedClusterDestroyed";
    /// Of a NodePool: as many nodes as it should have are available.
    pub const READY: &str = "Ready";
    /// Of a NodePool: its nodes are healthy.
    pub const ALL_NODES_HEALTHY: &str = "AllNodesHealthy";
    /// Of a NodePool: whether the load decides. Plain False says that it does not.
    pub const AUTOSCALING_ENABLED: &str = "AutoscalingEnabled";
    /// Reason of `AutoscalingEnabled=False`: it cannot be.
    pub const VALIDATION_FAILED: &str = "ValidationFailed";
    /// Of a NodePool: it is being brought to another version.
    pub const UPDATING_VERSION: &str = "UpdatingVersion";
    /// Of a NodePool: its nodes get another configuration.
    pub const UPDATING_CONFIG: &str = "UpdatingConfig";
    /// Of a NodePool: its machines are replaced by others.
    pub const UPDATING_PLATFORM: &str = "UpdatingPlatformMachineTemplate";

    /// Of a HostedCluster: False is not likely to pass unless somebody changes something.
    pub const TERMINAL: [&str; 4] = [
        "ValidConfiguration",
        "ValidHostedControlPlaneConfiguration",
        "SupportedHostedCluster",
        PLATFORM_CREDENTIALS_FOUND,
    ];
    /// The same of a NodePool, by its type: whether the configuration is valid in one way or another, of which HyperShift gets more with each version.
    /// `ValidGeneratedPayload` is False too while there is none yet.
    pub fn is_terminal_of_pool(type_: &str) -> bool {
        (type_.starts_with("Valid") && type_ != "ValidGeneratedPayload") || type_ == "UpdateManagementEnabled"
    }
    /// Of a HostedCluster: False is worth to be told, and may pass.
    pub const SOFT: [&str; 9] = [
        "ValidProxyConfiguration",
        "ValidIDPConfiguration",
        "ValidOIDCConfiguration",
        "ExternalDNSReachable",
        "IgnitionEndpointAvailable",
        "SupportedVersionSkew",
        VALID_RELEASE_IMAGE,
        CLUSTER_VERSION_SUCCEEDING,
        INFRASTRUCTURE_READY,
    ];
}
