//! `cargo xpkg push`, and reading packages back: the distribution API of OCI registries.
//!
//! Input: an artifact and a reference. Output: requests. [`http`] has the connections, [`credentials`] reads what `docker login` and
//! `podman login` wrote; everything else is pure.
//!
//! **Invariant:** credentials go to the registry that they are for, and to the token server that it names, over TLS; never elsewhere.

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
