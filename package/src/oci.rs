//! Images of the OCI image specification, written and read without other tools.
//!
//! The types are those of oci-spec. The archives are written with tar and flate2, because no crate writes an image whose bytes depend on
//! its files alone.
//!
//! Input: files. Output: bytes and their digests. Only [`layout`] touches the disk, and only to read or write a directory.
//!
//! **Invariant:** the same files give the same bytes: times are an argument, entries and keys are sorted, compression is fixed.

use std::{collections::HashMap, fmt::Write as _};

use anyhow::{Context as _, bail, ensure};
use oci_spec::image::{ImageIndexBuilder, ImageManifestBuilder, SCHEMA_VERSION, ToDockerV2S2 as _};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

pub mod archive;
pub mod image;
pub mod layer;
pub mod layout;

pub use image::{Architecture, Image};
pub use oci_spec::image::{Descriptor, Digest, ImageIndex, ImageManifest, MediaType, Platform};

/// Annotations of a blob or an image.
pub type Annotations = HashMap<String, String>;

/// Annotation of a layer, and prefix of a label, by which Crossplane finds a layer in an image.
pub const XPKG: &str = "io.crossplane.xpkg";
/// Value of [`XPKG`] for the layer with `package.yaml`.
pub const XPKG_BASE: &str = "base";

/// Blobs by digest.
pub type Blobs = HashMap<Digest, Vec<u8>>;

/// An image or an index of images, with every blob that it references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The manifest or index. Its digest is the artifact's.
    pub root: Descriptor,
    /// Blobs by digest. Artifacts of others may be incomplete.
    pub blobs: Blobs,
}

impl Artifact {
    /// One image stays an image; several become an index, in the order of their architecture.
    ///
    /// # Errors
    /// Without any image, or with two for one architecture.
    pub fn of(mut images: Vec<Image>) -> anyhow::Result<Self> {
        images.sort_by_key(|image| image.architecture);
        if let Some(twice) =
            images.windows(2).find(|pair| pair[0].architecture == pair[1].architecture).map(|pair| &pair[0])
        {
            bail!("two images for linux/{}; give one for each architecture", twice.architecture);
        }
        let annotations = images.first().context("there is no image")?.annotations.clone();
        let mut blobs = Blobs::new();
        let mut manifests = Vec::new();
        for image in images {
            manifests.push(image.descriptor());
            image.into_blobs(&mut blobs);
        }
        let root = match <[Descriptor; 1]>::try_from(manifests) {
            // Registries get the platform of a single image from its configuration.
            Ok([mut only]) => {
                only.set_platform(None);
                only
            }
            Err(manifests) => {
                let bytes = to_json(&build_index(manifests, &annotations)?)?;
                let root = describe_blob(MediaType::ImageIndex, &bytes);
                blobs.insert(root.digest().clone(), bytes);
                root
            }
        };
        Ok(Self { root, blobs })
    }

    /// The bytes of a descriptor's blob.
    ///
    /// # Errors
    /// If they are missing, or do not match it.
    pub fn blob(&self, descriptor: &Descriptor) -> anyhow::Result<&[u8]> {
        let announced = descriptor.digest();
        let bytes = self.blobs.get(announced).with_context(|| {
            format!("{announced} is named but not there; the copy is not complete, make it again")
        })?;
        ensure!(
            bytes.len() as u64 == descriptor.size(),
            "{announced} has {} bytes where {} are announced",
            bytes.len(),
            descriptor.size()
        );
        let digest = digest_of(bytes);
        ensure!(digest == *announced, "the bytes under {announced} have the digest {digest}");
        Ok(bytes)
    }
}

/// `true` for the media type of a list of images.
pub fn is_index(media_type: &MediaType) -> bool {
    has_meaning(media_type, &MediaType::ImageIndex)
}

/// `true` for the media type of one image.
pub fn is_manifest(media_type: &MediaType) -> bool {
    has_meaning(media_type, &MediaType::ImageManifest)
}

/// Registries still serve Docker's names of media types.
fn has_meaning(media_type: &MediaType, meaning: &MediaType) -> bool {
    media_type == meaning || meaning.to_docker_v2s2() == Ok(media_type.as_ref())
}

/// The descriptor of some bytes.
pub fn describe_blob(media_type: MediaType, bytes: &[u8]) -> Descriptor {
    Descriptor::new(media_type, bytes.len() as u64, digest_of(bytes))
}

pub(crate) fn build_manifest(
    config: &[u8],
    layers: Vec<Descriptor>,
    annotations: &Annotations,
) -> anyhow::Result<ImageManifest> {
    let mut manifest = ImageManifestBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageManifest)
        .config(describe_blob(MediaType::ImageConfig, config))
        .layers(layers)
        .build()?;
    manifest.set_annotations(optional(annotations));
    Ok(manifest)
}

fn build_index(manifests: Vec<Descriptor>, annotations: &Annotations) -> anyhow::Result<ImageIndex> {
    let mut index = ImageIndexBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageIndex)
        .manifests(manifests)
        .build()?;
    index.set_annotations(optional(annotations));
    Ok(index)
}

fn optional(annotations: &Annotations) -> Option<Annotations> {
    (!annotations.is_empty()).then(|| annotations.clone())
}

/// The SHA-256 digest of some bytes.
#[expect(clippy::missing_panics_doc, reason = "64 hexadecimal digits are a digest")]
pub fn digest_of(bytes: &[u8]) -> Digest {
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    #[expect(clippy::expect_used, reason = "64 hexadecimal digits are a digest")]
    Digest::try_from(text).expect("a digest")
}

/// Parses a SHA-256 digest, the only kind that Crossplane and registries require.
///
/// # Errors
/// If it is none.
pub fn parse_digest(text: &str) -> anyhow::Result<Digest> {
    let digest = Digest::try_from(text).ok().filter(|_| text.starts_with("sha256:"));
    digest.with_context(|| {
        format!("{text:?} is not a digest; it is sha256: and 64 lower-case hexadecimal digits")
    })
}

/// JSON with sorted keys. Maps sort their keys only without a feature that any crate in the build may enable.
///
/// # Errors
/// Only for types without a JSON form; there are none here.
pub(crate) fn to_json(value: &impl Serialize) -> anyhow::Result<Vec<u8>> {
    Ok(serde_json::to_vec(&testplatform_apis::yaml::sort_keys(&serde_json::to_value(value)?))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_empty_content_is_known() {
        let digest = digest_of(b"");
        assert_eq!(digest.digest(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(parse_digest(digest.as_ref()).unwrap(), digest);
    }

    #[test]
    fn other_texts_are_no_digests() {
        for text in
            ["", "sha256:", "sha512:00", "x:y", &format!("sha256:{}", "A".repeat(64)), &"0".repeat(71)]
        {
            assert!(parse_digest(text).is_err(), "{text}");
        }
    }
}
