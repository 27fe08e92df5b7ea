//! Integration tests of this crate, in one program: it is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod bump;
mod corpus;
mod documents;
mod features;
mod generated;
mod install;
mod packages;
