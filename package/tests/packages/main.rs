//! Packages: built, pushed, read back, checked.

// Clippy knows test functions, but not their helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod build;
mod check;
mod push;
mod support;
