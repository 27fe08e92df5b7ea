//! What is written for people says what the code does: every reason is in the runbook, every proof that SECURITY.md names exists.

// Clippy knows test functions, but not their helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod runbook;
mod security;
mod text;
