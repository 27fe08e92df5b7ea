//! What is done about one cluster of a claim with `template`: the table of each kind, and `next`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints see helpers of an integration test as production code"
)]

mod fixture;
mod hostile;
mod kinds;
mod publication;
