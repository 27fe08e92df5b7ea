//! Interface of a way to create clusters: [`Backend`] and [`Health`], the shared vocabulary between a backend and the claim.

use jiff::Timestamp;
use testplatform_apis::{
    condition::{Condition, Credentials, SetupLevel},
    names::ObjectName,
    status::QueueStatus,
};

use crate::{
    cluster::{
        backends::{BackendConditions, intent::PlannedRequest},
        observed::Observed,
        request::{AdmissionIssue, Validated},
    },
    sdk::response::DesiredResource,
};

/// Maximum size of `status.diagnostics`, in bytes.
pub(super) const MAX_DIAGNOSTICS: usize = 16 * 1024;

/// A way of making clusters. Implementations hold no state and do no I/O.
pub trait Backend: Sync {
    /// Builds the desired resources. It is infallible: everything that can fail was checked before. `health` is the result of
    /// [`Self::assess_health`].
    fn build_resources(
        &self,
        request: &PlannedRequest,
        observed: &Observed,
        health: &Health,
    ) -> Vec<DesiredResource>;
    /// Interprets the observed resources for the claim's owner.
    fn assess_health(&self, request: &Validated, observed: &Observed) -> Health;
    /// The kind of the remote object, as status shows it.
    fn kind(&self) -> &'static str;
    /// Composition resource name of the primary Object.
    fn primary_resource(&self) -> &'static str;
    /// How a cluster is ended.
    fn teardown_method(&self) -> TeardownMethod;
}

/// Method by which a cluster is torn down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeardownMethod {
    /// A field of the remote object is set, and the object stays until the claim is deleted.
    SetField,
    /// The primary Object is deleted. Its deletion lasts until the remote object is gone, and that until the cluster is gone.
    DeleteObject,
}

/// Provisioning stage of the remote object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Never observed.
    #[default]
    NotObserved,
    /// The hub has the object but has not started to provision it: it is queued.
    Queued,
    /// The hub is provisioning it.
    Provisioning,
    /// The hub reports a ready cluster.
    Ready,
    /// Teardown is in progress.
    TearingDown,
    /// The hub reports this failure, from which it may recover.
    Failing(String),
    /// The cluster is lost although the remote object exists, with this message.
    Lost(String),
    /// The hub refused the request permanently.
    Refused {
        /// Message of the hub.
        message: String,
        /// Whether something that costs money may still be running.
        costs: bool,
    },
    /// The cluster has ended.
    Ended {
        /// Whether it ended successfully.
        success: bool,
        /// Reason of the hub.
        reason: String,
        /// Message of the hub.
        message: String,
    },
}

impl Stage {
    /// Whether the hub will do nothing more with the object.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Ended { .. } | Self::Refused { costs: false, .. } => true,
            Self::NotObserved
            | Self::Queued
            | Self::Lost(_)
            | Self::Provisioning
            | Self::Ready
            | Self::TearingDown
            | Self::Failing(_)
            | Self::Refused { costs: true, .. } => false,
        }
    }
}

/// State of the observed resources, in terms of the claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Current stage.
    pub stage: Stage,
    /// The hub's own phase; empty before it has one.
    pub phase_word: String,
    /// Whether a cluster is assigned already. An object that vanished before that is requested once more.
    pub has_cluster: bool,
    /// Whether the remote object itself shows the teardown request.
    pub teardown_arrived: bool,
    /// Remains of the cluster after the remote object is gone, in a sentence. The claim has not ended while they exist.
    pub orphaned: Option<String>,
    /// State of the template's setup, while that blocks an existing cluster from becoming ready.
    pub set_up: Option<SetupLevel>,
    /// Condition that teardown waits for, in a sentence without a subject.
    pub teardown_waits_for: Option<String>,
    /// Failure of the teardown, as the hub reports it.
    pub teardown_failure: Option<String>,
    /// Time at which it became ready.
    pub ready_since: Option<Timestamp>,
    /// Secret with the credentials, once the hub names it.
    pub secret: Option<ObjectName>,
    /// Whether the hub publishes the admin's credentials although others were requested. They are never read, whatever their Secret is
    /// called.
    pub publishes_admin: bool,
    /// Revision of that Secret, where the hub reports it.
    pub revision: Option<String>,
    /// Job that provisions it.
    pub job: Job,
    /// The hub's own conditions, to be shown beside ours.
    pub mirrored: Vec<Condition>,
    /// Parse error of the remote object's status, if any.
    pub unreadable: Option<String>,
    /// Requested version, as the claim has it.
    pub version_desired: Option<String>,
    /// Diagnostics that the hub recorded when the cluster failed.
    pub diagnostics: Option<String>,
    /// Workflow by which the 90th percentile of provisioning times is looked up.
    pub workflow: Option<String>,
    /// When the hub ends it by itself.
    pub ends_at: Option<Timestamp>,
    /// Current wait reason; empty where the phase is explanation enough.
    pub waiting: String,
    /// Issue that blocks the claim and that an administrator can resolve.
    pub blocked_by: Option<AdmissionIssue>,
    /// Reason for missing or outdated credentials, if the hub reports it.
    pub blocking: Option<(Credentials, String)>,
    /// Position in the hub's queue.
    pub queue: Option<QueueStatus>,
    /// The version that it runs.
    pub version: Option<String>,
    /// URL of its API server.
    pub api_server_url: Option<String>,
    /// URL of its console.
    pub console_url: Option<String>,
    /// Conditions of its parts; of claims with a template.
    pub conditions: BackendConditions,
    /// Next time at which this state changes by itself, because a failure has lasted long enough.
    pub changes_at: Option<Timestamp>,
}

impl Health {
    /// Why the hub has withdrawn the kubeconfig: it may not be handed on. A hub that still publishes an earlier one withdraws nothing.
    pub fn withdrawn_kubeconfig(&self) -> Option<&str> {
        let (reason, why) = self.blocking.as_ref()?;
        (self.secret.is_none() && *reason == Credentials::KubeconfigRejected).then_some(why)
    }
}

/// Job that provisions a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub id: String,
    /// URL of its log.
    pub url: String,
}
