//! An EphemeralCluster becomes a ProwJob, the ProwJob a cluster, and its credentials a Secret.

pub mod ci_operator_config;
pub mod conditions;
pub mod credentials;
pub mod diagnostics;
pub mod draft;
pub mod event_reason;
mod job_name;
mod manifest;
pub mod object;
pub mod observed_state;
pub mod orphan;
pub mod plan;
pub mod profiles;
pub mod prow_job;
pub mod proxy;
mod publication;
mod request;
pub mod settings;
pub mod status;
mod validation;
pub mod wait_step;
