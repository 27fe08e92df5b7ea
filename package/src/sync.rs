//! `cargo xpkg sync`: synchronizes the schema of `spec.ciOperator` with the CRD that receives it, and checks that CRD for dangers to
//! statuses and stored objects.
//!
//! Input: the `EphemeralCluster` CRD, our schema data, the CRD that we ship, the list of intended differences. Output: the new data, the
//! changes, and their effect on existing claims. Only [`command`] touches files and the network.
//!
//! **Invariant:** unreadable input changes nothing.

pub mod command;
mod compatibility;
mod crd;
mod differences;
mod schema;
mod statuses;
mod versions;

pub use crd::{Crd, Version, read_crd, spec_of_xrd};
pub use differences::{Difference, list_unexpected, read_differences};
pub use schema::{Change, diff_schemas, keep_descriptions};
pub use statuses::unsafe_statuses;
pub use versions::unsafe_versions;
