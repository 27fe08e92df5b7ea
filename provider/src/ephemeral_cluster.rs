//! An EphemeralCluster becomes a ProwJob, the ProwJob a cluster, and its credentials a Secret.

pub mod ci_operator_config;
pub mod conditions;
pub mod credentials;
pub mod diagnostics;
pub mod draft;
mod job_name;
mod manifest;
pub mod next;
pub mod object;
pub mod orphan;
pub mod profiles;
pub mod prow_job;
pub mod proxy;
mod publication;
mod request;
pub mod settings;
pub mod status;
pub mod told;
mod validation;
pub mod wait_step;
pub mod world;
