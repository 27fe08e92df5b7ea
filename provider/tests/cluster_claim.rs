//! What is done about one ClusterClaim: tables of `next`, and a small world explored to its end.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints see helpers of an integration test as production code"
)]

#[path = "model/explore.rs"]
mod explore;
#[path = "cluster_claim/fixture.rs"]
mod fixture;
#[path = "cluster_claim/hostile.rs"]
mod hostile;
#[path = "cluster_claim/life.rs"]
mod life;
#[path = "cluster_claim/model.rs"]
mod model;
#[path = "cluster_claim/pool.rs"]
mod pool;
#[path = "cluster_claim/publication.rs"]
mod publication;
