//! What is decided about one EphemeralCluster, case by case. Every case is also taken to its rest: what a step comes to
//! is looked at again, and then there is nothing to do.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints see helpers of an integration test as production code"
)]

#[path = "next/account.rs"]
mod account;
#[path = "next/differences.rs"]
mod differences;
#[path = "next/fixture.rs"]
mod fixture;
#[path = "next/life.rs"]
mod life;
#[path = "next/reasons.rs"]
mod reasons;
#[path = "next/signal.rs"]
mod signal;
#[path = "next/strangers.rs"]
mod strangers;
#[path = "next/table.rs"]
mod table;
