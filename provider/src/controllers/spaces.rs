//! Spaces: for each namespace that the function has made and filled, a token of its ServiceAccount that ends, and a kubeconfig around it,
//! published where the Konflux cluster may read it and replaced long before it ends.
//!
//! ```text
//! namespace, published Secret ──observe──▶ Space, Published ──plan──▶ SpacePlan ──execute──▶ token, Secret, annotation
//! ```
//!
//! **Invariant:** a token is requested for one ServiceAccount only, in a namespace with both labels of a space, and leaves the hub only through the
//! published Secret.
//! **Invariant:** a published Secret is deleted once its namespace is deleted, and is written or removed only if its labels name its owner.

pub mod controller;
mod execute;
mod kubeconfig;
pub(crate) mod metrics;
mod observe;
pub mod plan;
pub mod rights;
pub mod state;
