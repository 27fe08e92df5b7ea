//! Shared by every controller that publishes credentials for objects of other namespaces: ownership of a published Secret, the part of a
//! kubeconfig that may be published, and the resulting actions and reports.
//!
//! ```text
//! cluster's Secrets ──▶ CredentialsSource ─┐
//! published Secret ──▶ Published ──────────┼─compare─▶ CredentialsDecision ──follow──▶ actions, report
//! stored report ───────────────────────────┘
//! ```
//!
//! **Invariant:** a Secret is written or removed only if its labels name that exact object, and its content goes only into another Secret.

mod credentials_namespace;
mod decision;
mod orphans;
mod owner;
mod read;
pub mod reason;
pub mod refresh;
pub(crate) mod write;

pub use credentials_namespace::CredentialsNamespace;
pub use decision::{
    CredentialsDecision, CredentialsOperation, CredentialsSource, CredentialsStatus, DecisionOutcome, SOON,
    compare, event, follow, recheck_after, replaces_other_source,
};
pub use orphans::PublishedSecrets;
pub(crate) use orphans::{OrphanedSecrets, SecretOwners};
pub use owner::{Labelled, SecretOwner};
pub use read::Key;
pub(crate) use read::{Reader, is_as_stamped};
pub use write::delete_orphaned_secret;
