//! The reconciler on the hub.
//!
//! Input is data (`object`, `observed`, `now`) and output is data ([`plan::Plan`]); a pure function lies between. Clients, sockets, clocks and
//! files are in the layer around it.

pub mod account;
pub mod build_clusters;
pub mod bundles;
mod cached_object;
pub mod caches;
pub mod claims;
pub mod cleanup;
pub mod cloud;
pub mod cluster_claim;
pub mod cluster_pool;
pub mod clusters;
pub mod config;
pub mod controller;
pub mod ephemeral_cluster;
pub mod execute;
pub mod hub;
pub mod hub_facts;
pub mod metrics;
pub mod observe;
pub mod orphans;
pub mod plan;
pub mod prerequisites;
pub mod publish;
pub mod rbac;
pub mod registry;
mod requests;
pub mod secret_sync;
pub mod spaces;
mod sparse_object;
