//! Layers: archives whose content does not depend on time and place of the build.

use std::{
    collections::BTreeSet,
    io::{Read as _, Write as _},
};

use anyhow::{Context as _, bail};
use flate2::{Compression, GzBuilder, read::MultiGzDecoder};

use super::{Annotations, Descriptor, Digest, MediaType, describe_blob, digest_of, optional};

/// Magic bytes of compressed layers.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A file in a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerEntry {
    /// Path without a leading slash.
    pub path: String,
    /// Permissions.
    pub mode: u32,
    /// Content.
    pub bytes: Vec<u8>,
}

/// A layer, compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The compressed archive.
    pub blob: Vec<u8>,
    /// The digest of the archive before it was compressed.
    pub diff_id: Digest,
    /// Annotations of its descriptor.
    pub annotations: Annotations,
}

impl Layer {
    /// Its descriptor.
    pub fn descriptor(&self) -> Descriptor {
        let mut descriptor = describe_blob(MediaType::ImageLayerGzip, &self.blob);
        descriptor.set_annotations(optional(&self.annotations));
        descriptor
    }
}

/// Maximum unpacked size: an archive of a few kilobytes can expand to terabytes. Core has the same limit for a package.
const MAX_UNPACKED_BYTES: u64 = 200 << 20;

/// Packs files, sorted by path, owned by root, all with one time (seconds since 1970).
///
/// # Errors
/// If a path is too long for an archive.
pub fn pack_layer(entries: &[LayerEntry], time: u64) -> anyhow::Result<Layer> {
    let archive = build_archive(entries, time)?;
    // The header has no name, time or system. The compression level affects the bytes and never changes.
    let mut gzip = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::new(9));
    gzip.write_all(&archive)?;
    Ok(Layer { blob: gzip.finish()?, diff_id: digest_of(&archive), annotations: Annotations::new() })
}

/// An uncompressed archive.
///
/// # Errors
/// If a path is too long for an archive.
pub fn build_archive(entries: &[LayerEntry], time: u64) -> anyhow::Result<Vec<u8>> {
    let mut files: Vec<_> = entries.iter().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut folders = BTreeSet::new();
    for file in &files {
        let mut path = file.path.as_str();
        while let Some((folder, _)) = path.rsplit_once('/') {
            folders.insert(format!("{folder}/"));
            path = folder;
        }
    }
    let mut builder = tar::Builder::new(Vec::new());
    for folder in folders {
        let mut header = tar_header(tar::EntryType::Directory, 0o755, 0, time);
        builder.append_data(&mut header, &folder, std::io::empty()).with_context(|| folder.clone())?;
    }
    for file in files {
        let mut header = tar_header(tar::EntryType::Regular, file.mode, file.bytes.len() as u64, time);
        builder
            .append_data(&mut header, &file.path, file.bytes.as_slice())
            .with_context(|| file.path.clone())?;
    }
    Ok(builder.into_inner()?)
}

fn tar_header(kind: tar::EntryType, mode: u32, size: u64, time: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(time);
    header.set_size(size);
    header
}

/// Media type of a layer, from its compression.
pub fn media_type(blob: &[u8]) -> MediaType {
    match blob {
        _ if blob.starts_with(&GZIP) => MediaType::ImageLayerGzip,
        _ if blob.starts_with(&ZSTD) => MediaType::ImageLayerZstd,
        _ => MediaType::ImageLayer,
    }
}

/// The archive in a layer, compressed or not.
///
/// # Errors
/// If its compression is not gzip, or it is damaged or too large.
pub fn unpack_layer(blob: &[u8]) -> anyhow::Result<Vec<u8>> {
    unpack_limited(blob, MAX_UNPACKED_BYTES)
}

fn unpack_limited(blob: &[u8], most: u64) -> anyhow::Result<Vec<u8>> {
    if blob.starts_with(&ZSTD) {
        bail!("it is compressed with zstd, which Crossplane's reader supports in no release; use gzip");
    }
    if !blob.starts_with(&GZIP) {
        return Ok(blob.to_vec());
    }
    let mut archive = Vec::new();
    MultiGzDecoder::new(blob).take(most + 1).read_to_end(&mut archive).context("it is damaged")?;
    if archive.len() as u64 > most {
        bail!("it is larger than {} MiB when unpacked, which is the most that is read", most >> 20);
    }
    Ok(archive)
}

/// The regular files of an archive, in its order.
///
/// # Errors
/// If it is no archive.
pub fn read_entries(archive: &[u8]) -> anyhow::Result<Vec<LayerEntry>> {
    let mut files = Vec::new();
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry.context("it is not an archive")?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let mode = entry.header().mode()?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).with_context(|| path.clone())?;
        files.push(LayerEntry { path, mode, bytes });
    }
    Ok(files)
}

/// The paths of the links in an archive, hard or symbolic.
///
/// # Errors
/// If it is no archive.
pub fn read_links(archive: &[u8]) -> anyhow::Result<BTreeSet<String>> {
    let mut links = BTreeSet::new();
    for entry in tar::Archive::new(archive).entries()? {
        let entry = entry.context("it is not an archive")?;
        let kind = entry.header().entry_type();
        if kind.is_symlink() || kind.is_hard_link() {
            links.insert(String::from_utf8_lossy(&entry.path_bytes()).into_owned());
        }
    }
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> LayerEntry {
        LayerEntry { path: path.to_owned(), mode: 0o644, bytes: path.as_bytes().to_vec() }
    }

    #[test]
    fn the_order_of_files_does_not_matter() {
        let one = pack_layer(&[file("b"), file("a/c")], 0).unwrap();
        let other = pack_layer(&[file("a/c"), file("b")], 0).unwrap();
        assert_eq!(one, other);
    }

    #[test]
    fn packed_files_can_be_unpacked() {
        let layer = pack_layer(&[file("b"), file("usr/share/a")], 7).unwrap();
        let archive = unpack_layer(&layer.blob).unwrap();
        assert_eq!(digest_of(&archive), layer.diff_id);
        assert_eq!(read_entries(&archive).unwrap(), [file("b"), file("usr/share/a")]);
    }

    /// Bytes of our own making must not drift with a compressor's version without anybody noticing.
    #[test]
    fn headers_contain_neither_time_nor_owner() {
        let layer = pack_layer(&[file("a")], 0).unwrap();
        assert_eq!(layer.blob[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255]);
        let archive = unpack_layer(&layer.blob).unwrap();
        let header = tar::Header::from_byte_slice(&archive[..512]);
        assert_eq!((header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap()), (0, 0, 0));
        assert_eq!(header.username().unwrap(), Some(""));
    }

    #[test]
    fn directories_precede_their_content() {
        let archive = build_archive(&[file("usr/share/a")], 0).unwrap();
        let mut archive = tar::Archive::new(archive.as_slice());
        let paths: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert_eq!(paths, ["usr/", "usr/share/", "usr/share/a"]);
    }

    /// A layer of a few kilobytes must not fill the memory.
    #[test]
    fn a_layer_larger_than_the_limit_is_refused() {
        let blob = pack_layer(&[LayerEntry { bytes: vec![0; 2 << 20], ..file("a") }], 0).unwrap().blob;
        assert!(unpack_limited(&blob, 3 << 20).is_ok());
        assert!(unpack_limited(&blob, 1 << 20).unwrap_err().to_string().contains("larger than 1 MiB"));
    }

    #[test]
    fn a_damaged_layer_is_refused() {
        let mut layer = pack_layer(&[file("a")], 0).unwrap();
        layer.blob.truncate(30);
        assert!(unpack_layer(&layer.blob).is_err());
    }
}
