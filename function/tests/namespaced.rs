//! Composites in the tenant's namespace: what they have in common with those of claims, and the little in which they differ.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on says so")]

#[path = "namespaced/life.rs"]
mod life;
#[path = "namespaced/names.rs"]
mod names;
#[path = "namespaced/parity.rs"]
mod parity;
#[path = "namespaced/peers.rs"]
mod peers;
#[path = "namespaced/secret.rs"]
mod secret;
