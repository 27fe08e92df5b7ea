//! `cargo xpkg sync`: keeps the schema of `spec.ciOperator` in step with the CRD that it is handed to.
//!
//! Input: the `EphemeralCluster` CRD, our schema data, the list of differences that are meant. Output: the new data, what changed, and
//! what that means to claims that exist. Only [`command`] touches files and the network.
//!
//! **Invariant:** whatever cannot be understood changes nothing.

pub mod command;
mod compatibility;
mod crd;
mod differences;
mod schema;

pub use crd::{Crd, read as read_crd, spec_of_xrd};
pub use differences::{Difference, read as read_differences, unexpected};
pub use schema::{Change, compare, with_our_descriptions};
