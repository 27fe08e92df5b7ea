//! The fifth role, on the tenants' side as the carrier's: remote objects of this Konflux cluster that no composite owns are found, reported, and
//! ended where that is configured.
//!
//! ```text
//! hubs: marked remote objects ─┐
//!                              ├─observe─▶ KonfluxState, HubStates ──plan──▶ OrphanPlan ──execute──▶ report, metrics, teardown
//! composites and Objects ──────┘
//! ```
//!
//! After a restore of the Konflux cluster to an older snapshot the clusters of later claims run on. Neither the function nor the provider on a hub
//! can know that: the function sees one composite, the hub sees none.
//!
//! **Invariant:** an incomplete listing on either side decides nothing.
//! **Invariant:** a remote object with an owner is never ended, and neither is one without the mark of this Konflux cluster.
//! **Invariant:** nothing is written on a hub unless the configuration ends orphans.

pub mod controller;
mod execute;
mod hubs;
mod listing;
pub mod metrics;
pub mod observe;
pub mod owners;
pub mod plan;
pub mod remote;
pub mod report;
pub mod rights;
pub mod teardown;
