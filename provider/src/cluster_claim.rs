//! A ClusterClaim gets a cluster out of a Hive pool by itself; what Hive leaves undone is done here: its credentials are published,
//! and what is known of it is told.

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
