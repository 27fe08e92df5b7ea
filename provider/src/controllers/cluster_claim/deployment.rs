//! Fields that are read of a ClusterDeployment.

use serde::Deserialize;
use testplatform_apis::foreign::meta::ObservedCondition;

/// Parts of `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// Its pool, and its claim. The claim never changes once it is set.
    pub cluster_pool_ref: Option<PoolRef>,
    /// Installed cluster, and the location of its credentials. Present before the installation has finished.
    pub cluster_metadata: Option<ClusterMetadata>,
    /// The installation has ended well.
    pub installed: bool,
    /// Desired power state: `Running`, `Hibernating`, or empty.
    pub power_state: String,
}

/// `spec.clusterPoolRef`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PoolRef {
    /// Namespace of the pool, and so of its claims.
    pub namespace: String,
    /// Name of the pool.
    pub pool_name: String,
    /// Name of the claim; empty while unclaimed.
    pub claim_name: String,
}

/// `spec.clusterMetadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClusterMetadata {
    /// Secret with the kubeconfig.
    #[serde(rename = "adminKubeconfigSecretRef")]
    pub kubeconfig: SecretRef,
    /// Secret with the password. There need be none.
    #[serde(rename = "adminPasswordSecretRef")]
    pub password: Option<SecretRef>,
    /// Secret with the installer's metadata. Hive grants no access before it is named.
    #[serde(rename = "metadataJSONSecretRef")]
    pub notes: Option<SecretRef>,
}

/// A Secret in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SecretRef {
    /// Its name.
    pub name: String,
}

/// Parts of `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// URL of the API server.
    #[serde(rename = "apiURL")]
    pub api_url: String,
    /// URL of the console.
    #[serde(rename = "webConsoleURL")]
    pub console_url: String,
    /// Power state: `Running`, `Hibernating`, or a step between them.
    pub power_state: String,
    /// The version that was installed.
    pub install_version: String,
    /// Conditions of the object.
    pub conditions: Vec<ObservedCondition>,
}

/// Condition types, and the words of them that matter.
pub mod conditions {
    /// True: it runs. Its reason is the step on the way.
    pub const READY: &str = "Ready";
    /// True: it sleeps. Its reason is the step on the way.
    pub const HIBERNATING: &str = "Hibernating";
    /// How far its installation or its removal is.
    pub const PROVISIONED: &str = "Provisioned";
    /// Reason of that: it cannot be destroyed.
    pub const DEPROVISION_FAILED: &str = "DeprovisionFailed";
    /// True: its removal cannot even begin, and why.
    pub const DEPROVISION_LAUNCH_ERROR: &str = "DeprovisionLaunchError";
    /// True: an installation failed; it may be tried again.
    pub const PROVISION_FAILED: &str = "ProvisionFailed";
    /// True: it failed for good.
    pub const PROVISION_STOPPED: &str = "ProvisionStopped";

    /// Conditions that are kept of a cluster: each has dozens.
    pub const READ_CONDITIONS: [&str; 6] =
        [READY, HIBERNATING, PROVISIONED, DEPROVISION_LAUNCH_ERROR, PROVISION_FAILED, PROVISION_STOPPED];
}

/// Labels and annotations of Hive.
pub mod names {
    /// Annotation: `"true"` once it has been given back, and is about to be deleted.
    pub const REMOVE: &str = "hive.openshift.io/remove-cluster-from-pool";
    /// The same, from older versions.
    pub const REMOVE_CLAIMED: &str = "hive.openshift.io/remove-claimed-cluster-from-pool";
    /// Annotation: `"true"` while its power state must not be changed.
    pub const POWER_PAUSED: &str = "hive.openshift.io/powerstate-pause";
    /// Label: the version that it runs.
    pub const VERSION: &str = "hive.openshift.io/version";
    /// Label: the same, under the name that came later.
    pub const VERSION_PATCH: &str = "hive.openshift.io/version-major-minor-patch";
    /// All that are read.
    pub const READ: [&str; 5] = [REMOVE, REMOVE_CLAIMED, POWER_PAUSED, VERSION, VERSION_PATCH];
}

/// Power state of a running cluster.
pub const RUNNING: &str = "Running";
/// Power state of a hibernating cluster.
pub const HIBERNATING: &str = "Hibernating";
