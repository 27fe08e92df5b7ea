//! Spaces: for each namespace that the function has made and filled, a token of its ServiceAccount that ends, and a kubeconfig around it,
//! published where the Konflux cluster may read it and replaced long before it ends.
//!
//! ```text
//! namespace, published Secret ──observe──▶ Space, Published ──next──▶ Step ──execute──▶ token, Secret, annotation
//! ```
//!
//! **Invariant:** a token is asked for in the name of one ServiceAccount alone, in a namespace that has both labels of a space, and
//! leaves the hub through the published Secret and nothing else.
//! **Invariant:** what is published goes when its namespace is gone, and is written or removed only where its labels say whose it is.

pub mod controller;
mod execute;
mod kubeconfig;
pub mod next;
mod observe;
pub mod seen;

pub use observe::ROOT_CA;
