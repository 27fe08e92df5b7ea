//! `clusters.bundles: on`: what templates set up inside the clusters that are made by them, and what they do in those before they go.
//!
//! ```text
//! ConfigMap ──read──▶ Map ─┐                     ┌──▶ Write, Release: report, finalizer ──▶ ConfigMap
//! cluster, its Secret ──▶ Here ├─ next(map, here, looked, now) ─┤
//!                               │                     └──▶ Apply ──carry_out──▶ Looked ─┐
//!                               └◀───────────────────────────────────────────────────────┘
//! ```
//!
//! The function writes an [`Order`](testplatform_apis::bundle::Order) into a ConfigMap beside the cluster's object. Once the credentials of the
//! cluster are published it is applied in that cluster by server-side apply, one bundle after the other; what came of it stands in an annotation
//! of the ConfigMap. Once all of it was there and ready, it is not looked at any more.
//!
//! **Invariant:** nothing is applied in a cluster unless the published Secret was made for the very object that stands for it, and that is the
//! one in whose cluster the work was begun.
//! **Invariant:** `Applied` is said only after one look in which every bundle was applied in its order and everything was ready.
//! **Invariant:** the ConfigMap is held no longer than what comes before a deletion may take together, and a minute, by which clocks may differ.
//! **Invariant:** what a delivered cluster answers is its owner's text: it is bounded, cleaned, and never waited for for long.

pub mod apply;
pub mod controller;
pub(crate) mod inside;
pub mod map;
pub mod next;
pub(crate) mod observe;
pub mod ready;
pub mod seen;
pub(crate) mod wait;
