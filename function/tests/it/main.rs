//! Integration tests of this crate, in one program: it is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod access;
mod binary;
mod budgets;
mod caas;
mod caas_walks;
mod cluster_api;
mod cluster_api_walks;
mod cluster_pool;
mod codegen;
mod corpus;
mod cost;
mod crowd;
mod examples;
mod go_decode;
mod handover;
mod held_open;
mod hive;
mod hive_walks;
mod hubs;
mod hypershift;
mod hypershift_walks;
mod lifecycle;
mod namespaced;
mod osac;
mod osac_walks;
mod parity;
mod properties;
mod recovery;
mod render;
mod sdk;
mod sdk_client;
mod serve;
mod size;
mod space;
mod tables;
mod templates;
mod tools;
mod version;
mod wire;
