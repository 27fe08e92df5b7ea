//! The kubectl plugin: what it says of each state, and how it ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the lints see helpers of an integration test as production code"
)]

mod aside;
mod documented;
mod edge;
mod estimate;
mod examples;
mod fake;
mod files;
mod follow;
mod gone;
mod model;
mod offers;
mod place;
mod pty;
mod taken;
mod terminal;
mod there;
