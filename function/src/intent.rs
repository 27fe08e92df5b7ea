//! Instructions of the planner for a backend.

use jiff::Timestamp;
use testplatform_apis::{condition::Failure, names::Uid};

/// Action on the primary Object, decided before any resource is built, so that no choice is left afterwards.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PrimaryAction {
    /// No writer: none is wanted, or none may be made any more.
    #[default]
    Omit,
    /// Ask the hub for the first time.
    Create,
    /// Repeat, or change, what was asked for.
    Update(ManagementPolicies),
    /// Find out whether what was asked for is still there: its writer is gone. Nothing can be made by it.
    Probe {
        /// The uid that pins it, if it is remembered.
        uid: Option<Uid>,
    },
    /// Take it away: that ends the cluster.
    Remove,
    /// Leave it out once, to ask another hub: this one cannot be reached, and nothing can have been made there.
    Relocate,
    /// Ask once more: what was asked for vanished before it was taken up.
    Recreate {
        /// Uid of the one that vanished.
        vanished: Uid,
    },
}

/// Permissions of provider-kubernetes on the remote object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagementPolicies {
    /// Everything.
    Full,
    /// Not change what is there: nobody knows yet whether that is ours or somebody else's of the same name.
    ObserveCreateDelete,
    /// Only watch and, with the claim, delete: it is terminal or gone, and nothing may make it anew.
    ObserveDelete,
    /// Only watch: another object has its name, and Delete goes by name.
    Observe,
}

/// Instructions for the backend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intent {
    /// Action on the primary Object.
    pub action: PrimaryAction,
    /// Whether the remote object is told to end.
    pub teardown: bool,
    /// Whether something comes before that, and the cluster stays as it is until then: what is done inside it, and last that what the hub may
    /// refuse is taken back.
    pub teardown_deferred: bool,
    /// Why the claim Failed, noted on the writer.
    pub failure: Option<Failure>,
    /// Why nothing is left that costs money, noted on the writer.
    pub completion: Option<String>,
    /// When a cluster that has a lifetime, or comes out of a pool, became ready: noted on the writer.
    pub ready_at: Option<Timestamp>,
    /// Why the writer is or was taken away, noted on the credentials.
    pub teardown_reason: Option<String>,
    /// Since when the credentials have to be read again, because their connection Secret is lost, or when that was last asked for anew.
    pub reread_at: Option<Timestamp>,
    /// Since when the kubeconfig may not be read, or not be written here: noted on the credentials.
    pub withheld_since: Option<Timestamp>,
    /// Whether the credentials are wanted.
    pub wants_credentials: bool,
    /// Whether the writer counts as ready.
    pub primary_ready: bool,
    /// Whether the credentials count as ready.
    pub credentials_ready: bool,
    /// Annotations about a transfer between composites: on the primary Object, and on the credentials.
    pub transfer_annotations: Vec<(&'static str, String)>,
}
