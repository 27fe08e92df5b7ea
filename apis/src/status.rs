//! The status of a claim: what its owner is told, in fields that scripts can read.
//!
//! Every field is here: Crossplane applies what the function says of the composite's status as a whole, and an API server refuses
//! the whole of it for one field that the schema does not declare. Until the definition has a field, no function may say it.
//! Status is a copy: a restore may lose it and nothing that matters may rest on it alone. Reading is therefore forgiving: a field
//! that cannot be read counts as absent.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::account::Mode;
use crate::foreign::meta::Lenient;
use crate::lenient_serde::{lenient_integer, lenient_list, lenient_option};
use crate::phase::Phase;
use crate::template::effective::Effective;

mod handover;
mod template;

pub use handover::{HandedOverStatus, TakeOverStage, TakeOverStatus};
pub use template::{ErrorStatus, NodeGroupStatus, NodesStatus, ProgressStatus, TemplateStatus};

/// State of the cluster and how to reach it. Every field is absent until it is known.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestPlatformClusterStatus {
    /// Phase of the cluster. Pending: nothing is being built yet, the message says what is missing. Provisioning: it is being built. Ready:
    /// it is up and the credentials are in the connection Secret. Degraded: it was ready and is not healthy at the moment. Deprovisioning:
    /// it is being destroyed. Deprovisioned: it is gone, as asked for. Failed: the request cannot succeed any more; this is final.
    #[schemars(with = "Phase")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,

    /// One sentence on what is happening or what went wrong, and what can be done about it.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// The object that stands for the cluster on the hub.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendStatus>,

    /// The hub on which the cluster is made.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub hub: Option<HubStatus>,

    /// The CI job that builds and keeps the cluster. Only with ciOperator.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub prow_job: Option<ProwJobStatus>,

    /// URL of the cluster's API server.
    #[serde(
        rename = "apiServerURL",
        deserialize_with = "lenient_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_server_url: Option<String>,

    /// URL of the cluster's web console.
    #[serde(
        rename = "consoleURL",
        deserialize_with = "lenient_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub console_url: Option<String>,

    /// Version that the cluster runs now, such as 4.20.3.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// Version that the cluster is to run. Differs from version while an upgrade is under way.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub version_desired: Option<String>,

    /// State of the cluster's credentials. Never the credentials themselves.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub credentials: Option<CredentialsStatus>,

    /// When the request was taken up (RFC 3339, UTC). Timeouts count from here.
    #[schemars(with = "String")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,

    /// When the cluster first became ready (RFC 3339, UTC). The lifetime counts from here.
    #[schemars(with = "String")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub ready_at: Option<Timestamp>,

    /// When the lifetime ends and the cluster is destroyed (RFC 3339, UTC). Absent if the cluster has no lifetime or is not ready yet.
    #[schemars(with = "String")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,

    /// When the cluster will probably be ready (RFC 3339, UTC): nine out of ten of its kind were by then. Absent if there is no
    /// experience with its kind.
    #[schemars(with = "String")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub estimated_ready_at: Option<Timestamp>,

    /// Position of the request among those that wait for the same pool.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueStatus>,

    /// The hub's details about a failure, shortened and without secrets: for people to read.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<String>,

    /// The template by which the cluster is made. Only with template.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateStatus>,

    /// The request with all defaults. Only with template.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub effective: Option<Effective>,

    /// Nodes of the cluster. An unreported number is absent, never 0. Only with template.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodesStatus>,

    /// Current activity of the hub. Only with template.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressStatus>,

    /// Last error on the hub, shortened and without secrets. Only with template.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ErrorStatus>,

    /// Generation of the composite whose spec the hub is known to have. Only with template.
    #[schemars(range(min = 1))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub applied_generation: Option<i64>,

    /// The TestCluster to which the cluster was let go. It alone ends the cluster from then on.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub handed_over: Option<HandedOverStatus>,

    /// Progress of taking over another object's cluster. Only of a TestCluster.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub take_over: Option<TakeOverStatus>,
}

impl TestPlatformClusterStatus {
    /// Reads what can be read of it: what cannot is as good as dropped. Here once, and in no other crate again.
    #[inline(never)]
    pub fn from_value(raw: Value) -> Self {
        Lenient::from_value(raw).value
    }
}

/// The object that stands for the cluster on the hub.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BackendStatus {
    /// Kind of the object, such as EphemeralCluster or ClusterClaim.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the object.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Namespace of the object.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the pool from which the cluster is taken, in the same namespace. Only with clusterClaim.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Unique identity of the object. No other object is ever taken for it, whatever its name.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Which try this is: 1, or 2 after the object vanished before anything was built for it.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i64>,
}

/// The hub on which the cluster is made.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HubStatus {
    /// Name of the hub, which is the name of the ProviderConfig that leads to it.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Reason for the choice of this hub, as one CamelCase word.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The hubs that were given up before, because they could not be reached and nothing can have been made on them. Only with template.
    #[serde(deserialize_with = "lenient_list", skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
}

/// The CI job that builds and keeps the cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProwJobStatus {
    /// Identity of the job, the name of the ProwJob object.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Page with the job's progress and logs.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// State of the cluster's credentials.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CredentialsStatus {
    /// Pending: not created yet. Published: in the connection Secret that the claim names. Withdrawn: the cluster is gone and the
    /// Secret's values are empty.
    #[schemars(with = "CredentialsState")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub state: Option<CredentialsState>,
    /// Name of the Secret on the hub from which the credentials come.
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// Kind of the requested credentials, unless the admin's: ServiceAccount.
    #[schemars(with = "Mode")]
    #[serde(deserialize_with = "lenient_option", skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// Whether the credentials are there.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CredentialsState {
    /// Not there yet.
    Pending,
    /// In the connection Secret that the claim names.
    Published,
    /// The cluster is gone and the Secret's values are empty.
    Withdrawn,
}

/// Position of the request among those that wait for the same pool.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueStatus {
    /// Place in the queue; the next one to be served has 1. It is an estimate, since the pool itself keeps no numbers.
    #[schemars(range(min = 1))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub position: Option<i64>,
    /// Number of waiting requests, this one included.
    #[schemars(range(min = 0))]
    #[serde(deserialize_with = "lenient_integer", skip_serializing_if = "Option::is_none")]
    pub depth: Option<i64>,
}
