//! What is done about one ClusterClaim: tables of `next`, and a small world explored to its end.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints see helpers of an integration test as production code"
)]

#[path = "../model/explore.rs"]
mod explore;
mod fixture;
mod hostile;
mod life;
mod model;
mod pool;
mod publication;
