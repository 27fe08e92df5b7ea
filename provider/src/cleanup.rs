//! The fourth role, on the tenants' side as the carrier's: clusters that nobody needs any more, because the runs that they were made for are
//! over, are torn down (`spec.cleanup`).
//!
//! ```text
//! claim, its owners in Tekton ──observe──▶ Claim, Fate of each run ──next──▶ Step ──execute──▶ note on the claim, spec.tearDownCluster, event
//! ```
//!
//! The controller keeps no decisions in memory. It computes from the runs since when a cluster is unneeded. An annotation on the claim records
//! the facts that cannot be computed again, such as when a run disappeared. Until then the annotation names the runs, because Kubernetes
//! removes owner references to deleted objects from a claim that has another owner. A restarted process therefore decides the same.
//!
//! Whether a run is over stands in its status, which a watch of metadata does not show, and no label or annotation of Tekton's own says it
//! either. So of each run that a claim names as its owner the metadata alone is watched, by its name, and when something happens that one object
//! is read. This takes no right to list runs, and keeps nothing of any; Crossplane's function could only have had them all, in core's cache.
//!
//! **Invariant:** a claim is never deleted, and nothing of it is changed but one annotation and `spec.tearDownCluster`, which is only ever set to
//! true, and never against somebody who said false.
//! **Invariant:** while one run that owns a claim goes on, or may not be read, nothing is torn down for its owners' sake.

pub mod controller;
mod execute;
pub mod next;
pub mod observe;
mod runs;
