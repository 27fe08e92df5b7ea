//! Credentials of clouds: what is done about one, step by step, and that there is always one that works.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test says what it tests in its name")]

mod identity;
mod model;
mod steps;
mod walks;
