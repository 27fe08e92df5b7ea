//! `cargo xpkg push`, and reading packages back: the distribution API of OCI registries.
//!
//! Input: an artifact and a reference. Output: requests. [`http`] has the connections, [`credentials`] reads the files of `docker login`
//! and `podman login`; everything else is pure.
//!
//! **Libraries.** The types of images are those of oci-spec. oci-client was weighed for the requests, and would bring reqwest as a second
//! HTTP client. It takes no identity tokens, which credential helpers of clouds give, bounds no response, and ignores an unusable proxy.
//! Login files, proxies and plain HTTP would stay ours. The reference of oci-spec has a default registry and no IPv6 addresses. http-auth
//! refuses challenges with unquoted addresses, which [`challenge`] reads.
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
