//! The runtime under the provider's controllers.
//!
//! It knows no kind and no configuration of the provider. A controller brings both: its objects, its names, and the plan for each object.

mod action;
mod any_kind;
pub mod apply;
pub mod client;
pub mod controller;
pub mod diagnostics;
pub mod error;
pub mod event;
pub mod lease;
pub mod lookup;
pub mod metrics;
pub mod reconcile;
pub mod redacted;
pub mod sparse_value;
pub mod state_gauge;
pub mod table;
pub mod time;
pub mod timeout;
pub mod watch;
pub mod workqueue;
