//! Types of the `TestPlatformCluster` API: claim, pool, status and the function's input, their schemas and the XRD made from
//! them; and partial views of the kinds around it.
//!
//! **Invariant:** no I/O, no clock, no Kubernetes client. No input of a tenant makes these parsers panic.

pub mod account;
pub mod bundle;
pub mod byoc;
pub mod catalogue;
pub mod ci_operator;
pub mod claim;
pub mod cleanup;
pub mod cloud;
pub mod collect;
pub mod condition;
pub mod crd;
pub mod duration;
pub mod foreign;
pub mod hive_status;
pub mod hub;
pub mod input;
pub mod json;
mod lenient_serde;
pub mod names;
pub mod offer;
pub mod output;
pub mod phase;
pub mod pool;
pub mod pool_phase;
pub mod pool_report;
pub mod pool_status;
pub mod prerequisites;
pub mod reason;
pub mod redact;
pub mod rendezvous;
pub mod space;
pub mod status;
pub mod template;
pub mod test_cluster;
pub mod text;
pub mod xrd;
pub mod yaml;
