//! `EphemeralCluster`, `ci.openshift.io/v1`, on the Test Platform hub.

use serde::Deserialize;

use super::meta::{Lenient, Metadata, ObservedCondition};

/// apiVersion.
pub const API_VERSION: &str = "ci.openshift.io/v1";
/// Kind.
pub const KIND: &str = "EphemeralCluster";

/// The fields of an EphemeralCluster that we read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct EphemeralCluster {
    /// Metadata.
    pub metadata: Metadata,
    /// Spec.
    pub spec: Lenient<Spec>,
    /// Status, as its controller wrote it.
    pub status: Lenient<Status>,
}

/// Parts of `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// The end was asked for.
    pub tear_down_cluster: bool,
}

/// Parts of `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// One of Provisioning, Ready, Deprovisioning, Deprovisioned, Failed, or empty.
    pub phase: String,
    /// A plain list: a type can occur twice.
    pub conditions: Vec<ObservedCondition>,
    /// Name of the ProwJob; from then on the cluster is bound.
    pub prow_job_id: String,
    /// URL of the job.
    #[serde(rename = "prowJobURL")]
    pub prow_job_url: String,
    /// Name of the Secret with the credentials, in the same namespace.
    pub secret_ref: String,
}

/// Condition types that its controllers use.
pub mod conditions {
    /// The ProwJob is being created; False afterwards, and when that failed.
    pub const PROW_JOB_CREATING: &str = "ProwJobCreating";
    /// The credentials are published on the hub.
    pub const CLUSTER_READY: &str = "ClusterReady";
    /// The job was told to end.
    pub const TEST_COMPLETED: &str = "TestCompleted";
    /// The job has ended.
    pub const PROW_JOB_COMPLETED: &str = "ProwJobCompleted";
    /// The published credentials are known to be those of the cluster. The provider alone reports it; the upstream controller removes it.
    pub const CREDENTIALS_IN_SYNC: &str = "CredentialsInSync";
    /// Reason of [`CREDENTIALS_IN_SYNC`]: the published kubeconfig was withdrawn, because it is not one that may be handed on.
    pub const KUBECONFIG_WITHDRAWN: &str = "KubeconfigWithdrawn";
}

/// The phases, in the order of a cluster's life. Besides them there is the empty text.
pub const PHASES: [&str; 5] = ["Provisioning", "Ready", "Deprovisioning", "Deprovisioned", "Failed"];

/// Reasons of `ProwJobCreating=False` after which the controller does not try again.
pub const TERMINAL_CREATE_REASONS: [&str; 3] =
    ["EphemeralClusterValidationFailure", "CIOperatorJobsGenerateFailure", TOO_MANY_PROW_JOBS];
/// The one of them behind which jobs are running.
pub const TOO_MANY_PROW_JOBS: &str = "TooManyProwJobsBound";

/// Reasons of `ClusterReady=False` that are not the usual course of things: something keeps the cluster, and may pass.
pub const TROUBLES: [&str; 6] = [
    "BuildClusterUnreachable",
    "BuildClusterUnknown",
    "CredentialsUnreadable",
    "KubeconfigRejected",
    "CredentialsNotOwned",
    "PublishFailed",
];
