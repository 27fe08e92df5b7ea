//! Integration tests of this crate, in one program: it is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod account;
mod border;
mod bundles;
mod carry;
mod carry_contents;
mod cleanup;
mod cloud;
mod cluster_claim;
mod cluster_pool;
mod clusters;
mod config;
mod corpus;
mod draft;
mod hostile;
mod hub_facts;
mod model;
mod next;
mod orphans;
mod panics;
mod prerequisites;
mod profiles;
mod prow_job;
mod support;
mod version;
mod wait_step;
