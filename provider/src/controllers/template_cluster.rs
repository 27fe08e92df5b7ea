//! Clusters of claims with `template`: each backend stores their credentials where no tenant can read them, each in its own way. The controller
//! publishes them like all others, and reports the reason if it cannot.
//!
//! ```text
//! watches ──▶ caches ──▶ queue ──▶ observe ──▶ ClusterState ──plan(kind, object, observed, now)──▶ ClusterPlan ──▶ execute
//! ```
//!
//! Each kind is described by one table in [`cluster_kind`](crate::credentials::cluster_kind). A kind that the hub does not serve does not disturb the others; the controller waits for
//! it. A second loop checks published Secrets whose cluster may be gone, because no owner reference crosses namespaces.

mod caches;
pub mod controller;
mod execute;
pub(crate) mod metrics;
pub(crate) mod observe;
pub mod observed_state;
pub mod overdue;
pub mod plan;
pub mod rights;
