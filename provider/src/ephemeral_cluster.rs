//! An EphemeralCluster becomes a ProwJob, the ProwJob a cluster, and its credentials a Secret.

pub mod ci_operator_config;
pub mod credentials;
pub mod draft;
pub mod next;
pub mod object;
pub mod orphan;
pub mod profiles;
pub mod prow_job;
pub mod proxy;
pub mod settings;
pub mod status;
pub mod world;
