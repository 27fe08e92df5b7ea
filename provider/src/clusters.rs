//! The clusters of claims with `template`: whoever makes them keeps their credentials where no tenant gets them, each in a way of its
//! own. Here they are published like all others, and what hinders that is told.
//!
//! ```text
//! watches ──▶ caches ──▶ queue ──▶ observe ──▶ World ──next(kind, object, world, now)──▶ Step ──▶ execute
//! ```
//!
//! Each kind is described by one table in [`kind`]. A kind that the hub does not serve does not disturb the others; the controller waits for
//! it. A second loop checks published Secrets whose cluster may be gone, because no owner reference crosses namespaces.

mod caches;
pub mod controller;
mod execute;
mod feed;
pub mod kind;
pub mod next;
pub mod object;
pub(crate) mod observe;
pub mod overdue;
mod pass;
pub mod world;
