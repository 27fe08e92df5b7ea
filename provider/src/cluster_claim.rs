//! Hive serves a ClusterClaim with a cluster from a pool. The controller adds what Hive leaves out: it publishes the credentials, and reports
//! progress and problems.

pub mod deployment;
pub mod failure;
pub mod next;
pub mod object;
pub mod ownership;
pub mod pool;
pub mod reason;
mod report;
pub mod step;
pub mod supply;
pub mod world;

use testplatform_apis::redact;
