//! `clusters.prerequisites.mode: on`: what templates have made on the hub before a cluster is asked for, and what they do there before.
//!
//! ```text
//! ConfigMap ──read──▶ Map ─┐                         ┌──▶ Write, Release: report, finalizer ──▶ ConfigMap
//! cluster's object ──▶ Here ├─ next(map, here, came, now) ─┤
//!                           │                         ├──▶ Apply ──carry_out──┐
//!                           │                         └──▶ Remove ────────────┤
//!                           └◀─────────────── Came ◀──────────────────────────┘
//! ```
//!
//! The function writes an [`Order`](testplatform_apis::prerequisites::Order) into a ConfigMap in the namespace of the cluster's future object.
//! It requests the cluster once the ConfigMap's annotation reports that all prerequisites are applied. Prerequisites live in that namespace,
//! are of few kinds, and have an owner reference to the ConfigMap. The reference marks them as ours, and lets the garbage collector delete them
//! if nobody else does. It is neither a controller reference nor blocks deletion: the finalizer on the ConfigMap protects everything.
//!
//! An object is made by creation and changed by server-side apply at the very version that was seen to be ours. Apply alone would also take over what
//! somebody else has made under the name a moment before, and a look at what came back would be too late.
//!
//! **Invariant:** the finalizer and the first report are written together, before anything is made.
//! **Invariant:** nothing is changed or deleted but what has the owner reference in the version at which it is changed or deleted.
//! **Invariant:** `Applied` is said only after one look in which every bundle was applied in its order and everything was ready; it is never taken back.
//! **Invariant:** nothing is deleted while the cluster's object is there, nor let go of.
//! **Invariant:** once that is gone the ConfigMap is held no longer than [`GIVE_UP`](next::GIVE_UP).

pub mod controller;
mod hub;
pub mod map;
pub mod next;
pub mod own;
pub mod seen;
