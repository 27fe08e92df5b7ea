//! Archives of the plugin: a `.tar.gz` with the program and the licence for each platform.

use super::Platform;
use crate::{
    names::PLUGIN,
    oci::layer::{LayerEntry, pack_layer},
};

/// Name of the licence's file in an archive.
pub const LICENCE: &str = "LICENSE";

/// File name of the archive for a platform.
pub fn archive_name(platform: Platform) -> String {
    format!("{PLUGIN}-{}.tar.gz", platform.file_name())
}

/// Packs the plugin. The same program and time (seconds since 1970) give the same bytes.
///
/// # Errors
/// Never: the paths are short.
pub fn pack_plugin(program: &[u8], licence: &[u8], time: u64) -> anyhow::Result<Vec<u8>> {
    let files = [
        LayerEntry { path: PLUGIN.to_owned(), mode: 0o755, bytes: program.to_vec() },
        LayerEntry { path: LICENCE.to_owned(), mode: 0o644, bytes: licence.to_vec() },
    ];
    Ok(pack_layer(&files, time)?.blob)
}
