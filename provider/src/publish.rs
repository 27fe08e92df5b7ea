//! Shared by every controller that publishes credentials for objects of other namespaces: ownership of a published Secret, the part of a
//! kubeconfig that may be published, and the resulting actions and reports.
//!
//! ```text
//! cluster's Secrets ──read──▶ Source ─┐
//! published Secret ──judge──▶ Published ├─compare─▶ Verdict ──follow──▶ actions, report
//!                        what is stored ┘
//! ```
//!
//! **Invariant:** a Secret is written or removed only where its labels say that it was made for that very object, and nothing of what
//! is in one leaves but into another.

pub mod kubeconfig;
mod owner;
mod read;
pub mod refresh;
mod vault;
mod verdict;
pub(crate) mod write;

pub use owner::{Labelled, Owner};
pub use read::Key;
pub(crate) use read::{Reader, is_as_stamped};
pub use vault::Vault;
pub use verdict::{Action, Followed, SOON, Source, Told, Verdict, again, compare, event, follow, replaces};
