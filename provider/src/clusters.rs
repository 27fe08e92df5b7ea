//! The clusters of claims with `template`: whoever makes them keeps their credentials where no tenant gets them, each in a way of its
//! own. Here they are published like all others, and what hinders that is told.
//!
//! ```text
//! watches ──▶ caches ──▶ queue ──▶ observe ──▶ World ──next(kind, object, world, now)──▶ Step ──▶ execute
//! ```
//!
//! What differs from kind to kind is in [`kind`], one table each. A kind that the hub does not serve is waited for and disturbs no
//! other. A second loop looks at published Secrets, whose cluster may be gone: no owner reference crosses namespaces.

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
