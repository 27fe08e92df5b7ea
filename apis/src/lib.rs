//! Types of the `TestPlatformCluster` API: claim, status and the function's input, their schemas, and the XRD made from them.
//!
//! **Invariant:** no I/O, no clock, no Kubernetes client. Whatever a tenant writes, reading it here never panics.

pub mod ci_operator;
pub mod claim;
pub mod duration;
pub mod input;
pub mod phase;
pub mod status;
pub mod xrd;
