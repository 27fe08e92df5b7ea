//! `cargo xpkg push`, and reading packages back: the distribution API of OCI registries.
//!
//! Input: an artifact and a reference. Output: requests. [`http`] has the connections, [`credentials`] reads the files of `docker login`
//! and `podman login`; everything else is pure.
//!
//! **Invariant:** credentials go only to their registry, and to the token server that it names, and only over TLS.

pub mod challenge;
pub mod client;
pub mod command;
pub mod credentials;
pub mod http;
pub mod login;
pub mod proxy;
pub mod reference;

pub use client::Client;
pub use reference::Reference;
