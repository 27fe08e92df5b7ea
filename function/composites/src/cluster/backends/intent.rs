//! Instructions of the planner for a backend.

use std::ops::Deref;

use jiff::Timestamp;
use testplatform_apis::{condition::Failure, names::Uid};

use crate::cluster::request::Validated;

/// Action on the primary Object, decided before any resource is built, so that no choice is left afterwards.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PrimaryAction {
    /// No primary Object: none is wanted, or none may be created any more.
    #[default]
    Omit,
    /// Create the primary Object: the first request to the hub.
    Create,
    /// Repeat or change the request.
    Update(ManagementPolicies),
    /// Search for the remote object, because its primary Object is gone. The search cannot create anything.
    Probe {
        /// Pinned uid, if it is remembered.
        uid: Option<Uid>,
    },
    /// Remove the primary Object, which ends the cluster.
    Remove,
    /// Omit the primary Object once, to choose another hub: this one is unreachable, and nothing can exist there.
    Relocate,
    /// Request the remote object once more, because it vanished before the hub processed it.
    Recreate {
        /// Uid of the vanished object.
        vanished: Uid,
    },
}

/// Permissions of provider-kubernetes on the remote object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagementPolicies {
    /// All policies.
    Full,
    /// All but Update, until it is known whether an existing object of that name is ours.
    ObserveCreateDelete,
    /// Only observe and, with the claim, delete: the object is terminal or gone, and nothing may recreate it.
    ObserveDelete,
    /// Only observe: another object has the name, and Delete works by name.
    Observe,
}

/// Instructions for the backend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intent {
    /// Action on the primary Object.
    pub action: PrimaryAction,
    /// Whether the remote object has to be torn down.
    pub teardown: bool,
    /// Whether the cluster stays unchanged until steps before the teardown are done: work inside the cluster and, last, replacing a spec
    /// that the hub may refuse.
    pub teardown_deferred: bool,
    /// Cause of phase Failed, recorded on the primary Object.
    pub failure: Option<Failure>,
    /// Reason for which nothing is left that incurs cost, recorded on the primary Object.
    pub completion: Option<String>,
    /// Time at which a cluster with a lifetime, or from a pool, became ready: recorded on the primary Object.
    pub ready_at: Option<Timestamp>,
    /// Cause of the primary Object's removal, recorded on the credentials.
    pub teardown_reason: Option<String>,
    /// Time since which the credentials have to be read again, because their connection Secret is lost, or time of the last repetition.
    pub reread_at: Option<Timestamp>,
    /// Time since which the kubeconfig may not be read, or not be written here: recorded on the credentials.
    pub withheld_since: Option<Timestamp>,
    /// Whether the Object `credentials` is desired.
    pub wants_credentials: bool,
    /// Whether the primary Object counts as ready.
    pub primary_ready: bool,
    /// Whether the credentials count as ready.
    pub credentials_ready: bool,
    /// Annotations about a transfer between composites: on the primary Object, and on the credentials.
    pub transfer_annotations: Vec<(&'static str, String)>,
}

/// Validated request with the planner's instructions.
#[derive(Clone, Debug)]
pub struct PlannedRequest {
    /// The request.
    pub validated: Validated,
    /// Instructions for its backend.
    pub intent: Intent,
}

impl PlannedRequest {
    /// Whether what belongs to the cluster goes: with it, or because there is none any more.
    pub(in crate::cluster::backends) fn is_ending(&self) -> bool {
        let intent = &self.intent;
        match intent.action {
            PrimaryAction::Remove | PrimaryAction::Omit | PrimaryAction::Relocate => true,
            PrimaryAction::Probe { .. } => intent.teardown_reason.is_some(),
            PrimaryAction::Create | PrimaryAction::Update(_) | PrimaryAction::Recreate { .. } => {
                intent.completion.is_some()
            }
        }
    }
}

impl Deref for PlannedRequest {
    type Target = Validated;

    fn deref(&self) -> &Validated {
        &self.validated
    }
}
