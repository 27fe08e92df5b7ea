//! Publishes facts about this hub for the hub selection: its load, its health, and the clusters that it can create.
//!
//! ```text
//! API server ──observe──▶ HubState ──plan(known, observed, now)──▶ FactsPlan ──execute──▶ ConfigMap testplatform-hub
//! ```
//!
//! **Invariant:** what could not be counted is left out; it never becomes a number.
//! **Invariant:** nothing but that one ConfigMap is written, and nothing that is read is secret.

mod backend;
pub mod controller;
mod execute;
pub(crate) mod metrics;
mod observe;
pub mod observed_state;
mod plan;
pub mod rights;

pub use backend::in_the_making;
pub use plan::{AGE, FactsPlan, SOONEST, plan};
