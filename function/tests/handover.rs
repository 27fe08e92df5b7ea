//! Handing a live cluster from a claim to a TestCluster: both composites in one world, with one hub.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on says so")]

#[path = "handover/life.rs"]
mod life;
#[path = "handover/pair.rs"]
mod pair;
#[path = "handover/walk.rs"]
mod walk;
