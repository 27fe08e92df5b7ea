//! Types of the TestPlatformCluster API, and partial views of the kinds around it.
//!
//! **Invariant:** no I/O, no clock, no Kubernetes client.

pub mod condition;
pub mod foreign;
pub mod names;
