//! Handing a live cluster from a claim to a TestCluster: both composites in one world, with one hub.

mod life;
mod pair;
mod walk;
