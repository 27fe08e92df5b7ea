//! `clusters.bundles: on`: what templates set up inside the clusters that are made by them, and what they do in those before they go.
//!
//! ```text
//! ConfigMap ──read──▶ Map ─┐                     ┌──▶ Write, Release: report, finalizer ──▶ ConfigMap
//! cluster, its Secret ──▶ Here ├─ next(map, here, looked, now) ─┤
//!                               │                     └──▶ Apply ──carry_out──▶ Looked ─┐
//!                               └◀───────────────────────────────────────────────────────┘
//! ```
//!
//! The function writes an [`BundleRequestSpec`](testplatform_apis::bundle::BundleRequestSpec) into a ConfigMap in the namespace of the cluster's object. Once the
//! cluster's credentials are published, the bundles are applied in that cluster by server-side apply, one after the other. An annotation of the
//! ConfigMap reports the result. Once everything was present and ready, the cluster is not checked any more.
//!
//! **Invariant:** nothing is applied in a cluster unless the published Secret belongs to the current object of the cluster, and the work was
//! started in the cluster of that same object. **Invariant:** `Applied` is reported only after one reconcile in which every bundle was applied
//! in its order and everything was ready. **Invariant:** the finalizer stays on the ConfigMap no longer than the timeouts of the pre-delete
//! bundles together, plus a minute of clock skew. **Invariant:** responses of a delivered cluster are its owner's text: they are bounded,
//! cleaned, and never waited for for long.

pub mod apply;
pub mod controller;
pub(crate) mod inside;
pub mod map;
pub mod next;
pub(crate) mod observe;
pub mod ready;
pub mod seen;
pub(crate) mod wait;
