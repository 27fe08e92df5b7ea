//! ClusterPools that Git asks for: refresh, rotation of credentials, and what Hive forgets.
//!
//! ```text
//! Pool, PoolClusters, now ──plan──▶ annotation, events, when to look again
//! ```
//!
//! The controller writes a single annotation of the pool ([`PoolStatus`](testplatform_apis::pool_report::PoolStatus)). The composition function
//! owns the pool's size and lowers it to the ceiling that the annotation requests, so that there is one writer. The progress of a refresh or a
//! rotation is in the annotation too, so that a restarted process continues from there.

pub mod clusters;
pub mod controller;
mod execute;
pub(crate) mod metrics;
mod observe;
pub mod plan;
pub mod pool;
mod refresh;
pub mod rights;
mod rotation;
pub mod state;
