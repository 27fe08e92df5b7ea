//! ClusterPools that Git asks for: refresh, rotation of credentials, and what Hive forgets.
//!
//! ```text
//! pool, world, now ──next──▶ annotation, events, when to look again
//! ```
//!
//! The only thing that is ever written is one annotation of the pool ([`PoolStatus`](testplatform_apis::pool_report::PoolStatus)). The pool's size is the
//! composition function's, which lowers it to the ceiling that is asked for here, so that nobody fights over it; and what a refresh or a rotation
//! has come to stands in the annotation, so that a process that was killed goes on where it was.

pub mod clusters;
pub mod controller;
mod execute;
pub mod next;
mod observe;
pub mod pool;
mod refresh;
mod rotation;
pub mod seen;
