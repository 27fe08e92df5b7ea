//! Packages: built, pushed, read back, checked; and the schema that they carry, kept in step with the hub's.

// Clippy knows test functions, but not their helpers.

mod build;
mod catalogue;
mod check;
mod containerfile;
mod offers;
mod online;
mod program;
mod proxy;
mod push;
mod release;
mod sign;
pub mod support;
mod sync;
