//! An EphemeralCluster becomes a ProwJob, the ProwJob a cluster, and its credentials a Secret.

pub mod conditions;
pub mod credentials;
pub mod diagnostics;
pub mod next;
pub mod object;
pub mod orphan;
pub mod prow_job;
pub mod proxy;
mod publication;
pub mod settings;
pub mod status;
pub mod world;
