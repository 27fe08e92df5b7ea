//! `cargo xpkg build`: the images that users install, without Docker.
//!
//! Input: programs, generated YAML, cargo's knowledge of the sources. Output: images. [`programs`] runs cargo, `cross` searches `PATH`, and
//! [`command`] touches the disk; everything else is pure.
//!
//! **Invariant:** the same programs and files give the same digests, on every machine and at every time.
//!
//! The images leave these out, for these reasons:
//! - **No libraries, no shell.** The programs are linked statically, with time zones compiled in.
//! - **No CA bundle.** It would age in an image that nothing rebuilds. The function calls no server. The provider takes the CA from its
//!   kubeconfig. At start it refuses a kubeconfig without CA data and names the file, unless `SSL_CERT_FILE` names a bundle that an
//!   administrator mounts.
//! - **No `/etc/passwd`.** The user is a number, and `OpenShift` replaces it anyway.

pub mod command;
mod cross;
pub mod images;
pub mod meta;
pub mod platform;
pub mod plugin_archive;
pub mod programs;
pub mod sbom;
pub mod stream;

pub use images::{BuildInfo, Program};
pub use platform::Platform;
