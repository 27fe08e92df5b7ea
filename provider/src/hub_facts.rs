//! What this hub tells of itself to whoever chooses among hubs: how full it is, how it is, and what can be made on it.
//!
//! ```text
//! API server ──observe──▶ World ──next(known, world, now)──▶ Step ──execute──▶ ConfigMap testplatform-hub
//! ```
//!
//! **Invariant:** what could not be counted is left out; it never becomes a number. **Invariant:** nothing but that one ConfigMap is
//! written, and nothing that is read is secret.

mod backend;
pub mod controller;
mod execute;
mod next;
mod observe;
pub mod world;

pub use backend::in_the_making;
pub use next::{AGE, SOONEST, Step, next};
pub use observe::{AGENTS, SUPPORTED};
