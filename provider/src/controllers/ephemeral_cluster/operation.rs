//! Plan of one reconcile: operations, then status and events, then independent operations, then the requeue.

use std::collections::BTreeMap;

use serde_json::Value;
use testplatform_runtime::{event::Event, reconcile::Action};

use super::status::Status;
use crate::credentials::{Credentials, account::Issue};

/// Plan for one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// In this order; the first failure ends the reconcile. Each operation may have been executed before, by an incomplete reconcile.
    pub actions: Vec<Operation>,
    /// Written after the actions, if it differs from what is stored. None leaves it alone.
    pub status: Option<Status>,
    /// Emitted once the status is stored. A status that is refused, or was decided on a late copy, is decided again: its events are emitted
    /// by the pass that stores it, and by no other.
    pub events: Vec<Event>,
    /// Runs after the status, each operation on its own: these may fail for long, and must block neither the other operations nor the status.
    /// Earlier failures do not block them either, except a conflict. If one fails, the event right after it is not emitted, and the object is
    /// requeued soon.
    pub afterwards: Vec<Operation>,
    /// When to look again although nothing happened.
    pub requeue: Action,
}

/// One write, safe to repeat.
///
/// Those on the EphemeralCluster itself carry the resourceVersion that was read, so that a decision on an old copy fails.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Puts our finalizer on the EphemeralCluster.
    AddFinalizer,
    /// Takes our finalizer off the EphemeralCluster.
    RemoveFinalizer,
    /// Sets annotations of the EphemeralCluster; None removes one.
    SetAnnotations(BTreeMap<String, Option<String>>),
    /// Creates a ProwJob. An existing one of that name is the same job.
    CreateProwJob(Box<Value>),
    /// Writes onto a ProwJob of another controller's making whose it is.
    ClaimProwJob {
        /// Name of the ProwJob.
        name: String,
        /// Labels to add.
        labels: BTreeMap<String, String>,
        /// Annotations to add.
        annotations: BTreeMap<String, String>,
    },
    /// Sets a ProwJob to aborted, unless it has ended.
    AbortProwJob {
        /// Name of the ProwJob.
        name: String,
        /// Reason, for readers of the job.
        description: String,
    },
    /// Creates the Secret that the wait step waits for. An existing one stays as it is.
    SignalWaitStep {
        /// The build cluster.
        cluster: String,
        /// Namespace of ci-operator on it.
        namespace: String,
    },
    /// Signals the wait step; if the signal is refused, aborts the ProwJob and stops waiting for its end.
    SignalWaitStepOrAbort {
        /// The build cluster.
        cluster: String,
        /// Namespace of ci-operator on it.
        namespace: String,
        /// Name of the ProwJob.
        name: String,
        /// Reason for the abort, for readers of the job.
        description: String,
    },
    /// Creates or updates `<ec>-credentials`, controlled by the EphemeralCluster. Fails on a Secret of another owner.
    PublishCredentials(Credentials),
    /// Makes a token in the cluster, and then does the same with it.
    IssueCredentials(Box<Issue>),
    /// Deletes `<ec>-credentials`, if the EphemeralCluster controls it.
    WithdrawCredentials,
    /// Emits an event about the EphemeralCluster.
    EmitEvent(Event),
}
