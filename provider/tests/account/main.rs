//! The ServiceAccount of a cluster that was delivered: when a token is made, what is made for it, and that there is always one that is good.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test says what it tests in its name")]

mod model;
mod steps;
mod walks;
mod whose;
