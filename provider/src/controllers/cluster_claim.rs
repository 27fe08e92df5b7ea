//! Hive serves a ClusterClaim with a cluster from a pool. The controller adds what Hive leaves out: it publishes the credentials, and reports
//! progress and problems.

pub mod caches;
pub mod controller;
pub mod deployment;
pub mod execute;
pub mod failure;
mod feed;
pub mod hub;
pub(crate) mod metrics;
pub mod object;
pub mod observe;
pub mod observed_state;
pub mod operation;
pub mod ownership;
pub mod plan;
pub mod pool;
mod report;
pub mod rights;
pub mod supply;

use testplatform_apis::redact;
