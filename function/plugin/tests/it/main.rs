//! The kubectl plugin: what it says of each state, and how it ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod aside;
mod completion;
mod doctor;
mod documented;
mod edge;
mod estimate;
mod events;
mod examples;
mod fake;
mod files;
mod fleet;
mod fleet_browser;
mod fleet_pages;
mod follow;
mod gone;
mod kinds;
mod listing;
mod man;
mod model;
mod offers;
mod open;
mod own_config;
mod place;
mod pty;
mod taken;
mod terminal;
mod there;
mod version;
mod waiting;
mod why_formats;
