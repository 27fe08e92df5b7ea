//! Files of a release besides packages and programs: checksums, release notes, the krew manifest.
//!
//! Input: the output directory of `cargo xpkg build`, and the changelog. Output: texts. [`command`] alone touches the disk.

pub mod checksums;
pub mod command;
pub mod krew;
pub mod notes;
