//! The reconciler on the hub.
//!
//! Input is data (`object`, `observed`, `now`) and output is data (a plan); a pure function lies between. Clients, sockets, clocks and
//! files are in the layer around it.

pub mod build_clusters;
mod cached_object;
pub mod config;
pub mod controllers;
pub mod credentials;
pub mod manifests;
pub mod metrics;
pub mod rbac;
pub mod rights;
mod sparse_object;
pub mod startup;
