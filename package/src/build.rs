//! `cargo xpkg build`: the images that users install, without Docker.
//!
//! Input: programs, generated YAML, what cargo knows about the sources. Output: images. [`programs`] runs cargo and
//! [`command`] touches the disk, everything else is pure.
//!
//! **Invariant:** the same programs and files give the same digests, wherever and whenever they are packed.
//!
//! What the images leave out, and why:
//! - **No libraries, no shell.** The programs are linked statically, with time zones compiled in.
//! - **No CA bundle.** It would age in an image that nothing rebuilds. The function calls nobody, and the provider
//!   takes the CA from its kubeconfig: it refuses at start, by the file's name, one without CA data, unless `SSL_CERT_FILE` names a bundle
//!   that an administrator mounts.
//! - **No `/etc/passwd`.** The user is a number, and `OpenShift` replaces it with another one anyway.

pub mod command;
pub mod images;
pub mod meta;
pub mod programs;
pub mod sbom;
pub mod stream;

pub use images::{About, Program};

/// The function: name of its package, of its program and of the Function object that the Compositions name.
pub const FUNCTION: &str = "function-testplatform";
/// The provider: name of its image and of its program.
pub const PROVIDER: &str = "provider-testplatform";
/// The kubectl plugin: name of its program, which is in no image.
pub const PLUGIN: &str = "kubectl-testplatform";
/// The Configuration: name of its package.
pub const CONFIGURATION: &str = "configuration-testplatform";
