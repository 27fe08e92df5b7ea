//! An EphemeralCluster becomes a ProwJob, the ProwJob a cluster, and its credentials a Secret.

pub mod caches;
pub mod ci_operator_config;
pub mod conditions;
pub mod controller;
pub mod diagnostics;
pub mod draft;
pub mod event_reason;
pub mod execute;
pub mod hub;
mod job_name;
mod manifest;
pub(crate) mod metrics;
pub mod object;
pub mod observe;
pub mod observed_state;
pub mod operation;
pub mod orphan;
pub mod plan;
pub mod prow_job;
pub mod proxy;
mod publication;
pub mod registry;
mod request;
pub mod settings;
pub mod status;
mod validation;
pub mod wait_step;
