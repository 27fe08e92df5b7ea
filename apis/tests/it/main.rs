//! Tests of the API: what the schema takes and refuses, and what the types make of it. Upstream's own files are used where they are
//! present, and it is said where they are not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bundles;
mod byoc;
mod catalogue;
mod cleanup;
mod crd;
mod credentials;
mod duration;
mod hub;
mod input;
mod offer;
mod parity;
mod pool;
mod prerequisites;
mod rules;
mod space;
mod status;
mod structural;
mod support;
mod template;
mod test_cluster;
mod unknown;
