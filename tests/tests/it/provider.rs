//! The provider's program on real API servers, with exactly the rights that it ships with.
//!
//! A hub with Crossplane in front of it is in the scenarios.

pub mod account;
pub mod bundles;
pub mod carry;
pub mod claims;
pub mod cleanup;
pub mod cloud;
pub mod clusters;
pub mod delivered;
pub mod hub;
pub mod hub_facts;
pub mod identity;
pub mod kills;
pub mod lane;
pub mod life;
pub mod load;
pub mod namespace_deleted;
pub mod orphans;
pub mod pool;
pub mod prerequisites;
pub mod replicas;
pub mod spaces;
pub mod takeover;

use tokio::sync::Mutex;

/// Held by cases that promise a time: it is not about how they crowd each other.
static ALONE: Mutex<()> = Mutex::const_new(());
