//! Prerequisites: what is decided about an order, what one look does on the hub, and that both together keep what they promise whatever happens.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test says what it tests in its name")]

mod model;
mod own;
mod steps;
mod walks;
