//! What is written for people says what the code does: every reason and alert is in the runbook, every proof that SECURITY.md and
//! POOLS.md name exists, and what is referred to is there.

// Clippy knows test functions, but not their helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod links;
mod pools;
mod runbook;
mod security;
mod text;
