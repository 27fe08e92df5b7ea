//! `ClusterTemplateInstance`, `clustertemplate.openshift.io/v1alpha1`. Source: stolostron/cluster-templates-operator, `api/v1alpha1`.

use serde::Deserialize;
use serde_json::Value;

use super::{
    meta::{Lenient, Metadata, ObservedCondition, with_status_time},
    object::NameRef,
};

/// apiVersion.
pub const API_VERSION: &str = "clustertemplate.openshift.io/v1alpha1";
/// Kind.
pub const KIND: &str = "ClusterTemplateInstance";

/// The fields of a ClusterTemplateInstance that we read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Instance {
    /// Metadata. All of its conditions are False from birth on, so it matters when its status was last changed.
    #[serde(deserialize_with = "with_status_time")]
    pub metadata: Metadata,
    /// Spec, whole: what it was made with is nowhere else once the writer is lost.
    pub spec: Value,
    /// Status.
    pub status: Lenient<Status>,
}

/// Parts of its `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// Phase, one of [`phases`]. Once `Ready`, it is reported as `Ready` ever after, even if the cluster is gone.
    pub phase: String,
    /// The same in a sentence.
    pub message: String,
    /// Conditions.
    pub conditions: Vec<ObservedCondition>,
    /// The Secret with the kubeconfig, beside it; named once all is there.
    pub kubeconfig: Lenient<Option<NameRef>>,
    /// URL of its API.
    #[serde(rename = "apiServerURL")]
    pub api_server_url: String,
    /// URL of its console; only of a registered cluster.
    #[serde(rename = "consoleURL")]
    pub console_url: String,
    /// Setup steps in the cluster: name, status and message of each.
    pub cluster_setup: Value,
}

/// Words of `status.phase` that tell more than the conditions.
pub mod phases {
    /// All is there, or was once.
    pub const READY: &str = "Ready";
    /// The Application of the cluster could not be asked for.
    pub const DEFINITION_FAILED: &str = "ClusterDefinitionFailed";
    /// The cluster is not there, and something is in the way.
    pub const INSTALL_FAILED: &str = "ClusterInstallFailed";
    /// Its API is not reached yet.
    pub const LOGIN_PENDING: &str = "ClusterLoginPending";
    /// Argo CD could not be told of it, for longer than a login is waited for.
    pub const ARGO_FAILED: &str = "ArgoClusterFailed";
    /// The setup could not be requested.
    pub const SETUP_CREATE_FAILED: &str = "ClusterSetupCreateFailed";
    /// The setup has failed.
    pub const SETUP_FAILED: &str = "ClusterSetupFailed";
    /// The setup is degraded.
    pub const SETUP_DEGRADED: &str = "ClusterSetupDegraded";
    /// The cluster is there, and its Secrets could not be made.
    pub const CREDENTIALS_FAILED: &str = "CredentialsFailed";
    /// Another failure.
    pub const FAILED: &str = "Failed";
    /// Failures of the cluster's registration, which is retried.
    pub const REGISTRATION_FAILED: [&str; 3] =
        ["ManagedClusterFailed", "ManagedClusterImportFailed", "KlusterletCreateFailed"];
}

/// Condition types, and the reasons of them that matter. All are False from birth on.
pub mod conditions {
    /// The cluster is there.
    pub const INSTALLED: &str = "ClusterInstallSucceeded";
    /// Reasons of `ClusterInstallSucceeded=False`: Argo CD cannot make what the template's chart asks for.
    pub const APPLICATION_FAILS: [&str; 2] = ["ApplicationDegraded", "ApplicationError"];
    /// So is what is set up in it. It is not looked at again once it was True.
    pub const SET_UP: &str = "ClusterSetupSucceeded";
    /// Reason of `ClusterSetupSucceeded=True`: nothing is to be set up.
    pub const NOTHING_TO_SET_UP: &str = "ClusterSetupNotDefined";
}
