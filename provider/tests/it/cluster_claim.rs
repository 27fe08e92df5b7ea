//! Plans for one ClusterClaim: tables of `next`, and a small world explored to its end.

mod fixture;
mod hostile;
mod life;
mod model;
mod pool;
mod publication;
