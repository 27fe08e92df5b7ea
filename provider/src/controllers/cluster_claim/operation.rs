//! Plan of one reconcile of a ClusterClaim.

use testplatform_apis::hive_status::HiveStatus;
use testplatform_runtime::{event::Event, reconcile::Action};

use crate::credentials::{Credentials, account::Issue, publish};

/// Plan for one ClusterClaim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimPlan {
    /// In this order. Each may have been executed before, by an incomplete reconcile.
    pub actions: Vec<ClaimOperation>,
    /// Written after the actions, if it differs from what is stored. None leaves it alone.
    pub status: Option<ClaimAnnotations>,
    /// Emitted once the notes are stored: a decision that is repeated until then emits nothing twice.
    pub events: Vec<Event>,
    /// When to look again although nothing happened.
    pub requeue: Action,
}

/// Annotations on the ClusterClaim, whose status is Hive's; they are written together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimAnnotations {
    /// Annotation `…/status`.
    pub status: HiveStatus,
    /// Annotation `…/credentials-revision`: there exactly while credentials are published.
    pub credentials_revision: Option<String>,
    /// Annotation `…/diagnostics`: present while a failed provision is reported.
    pub diagnostics: Option<String>,
}

/// One write, safe to repeat.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimOperation {
    /// Creates or updates `<claim>-credentials`, labelled as the claim's. Fails on a Secret of another owner.
    Publish(Credentials),
    /// Makes a token in the cluster, and then does the same with it.
    Issue(Box<Issue>),
    /// Deletes `<claim>-credentials`, if it is labelled as the claim's.
    Withdraw,
    /// Lets the claimed cluster run again. Carries what was read, so that a decision on an old copy fails.
    Resume {
        /// Namespace and name of the ClusterDeployment.
        cluster_deployment: String,
        /// Its resourceVersion.
        version: String,
    },
    /// Emits an event about a resume, which no annotation records: the version in the resume prevents a second one.
    Emit(Event),
}

impl From<publish::CredentialsOperation> for ClaimOperation {
    fn from(action: publish::CredentialsOperation) -> Self {
        match action {
            publish::CredentialsOperation::Publish(credentials) => Self::Publish(credentials),
            publish::CredentialsOperation::Issue(issue) => Self::Issue(issue),
            publish::CredentialsOperation::Withdraw => Self::Withdraw,
        }
    }
}
