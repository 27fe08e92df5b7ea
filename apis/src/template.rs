//! Clusters by template: what administrators put into the catalogue, what a claim may say beside `template`, and what is
//! remembered of it.
//!
//! **Invariant:** an entry that cannot be used is left out and named, and hurts no other entry.

pub mod capability;
pub mod companions;
pub mod descriptor;
pub mod effective;
pub mod entry;
pub mod group;
pub mod kind;
pub mod parameter;
pub mod version;

pub use kind::Backend;
