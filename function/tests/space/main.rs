//! Lives of a space, from its tenant's side.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on says so")]

mod legacy;
mod life;
mod trouble;
mod walks;
mod world;
