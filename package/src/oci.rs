//! Images of the OCI image specification, written and read without other tools.
//!
//! Input: files. Output: bytes and their digests. Only [`layout`] touches the disk, and only to read or write a directory.
//!
//! **Invariant:** the same files give the same bytes: times are an argument, entries and keys are sorted, compression is fixed.

use std::{collections::BTreeMap, fmt};

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};

pub mod archive;
pub mod digest;
pub mod image;
pub mod layer;
pub mod layout;

pub use digest::Digest;
pub use image::{Architecture, Image};

/// Media type of an image manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Media type of an image index.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// Media type of an image configuration.
pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// Media type of the layers that we write.
pub const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// Media type of uncompressed layers, from other tools.
pub const LAYER_TAR: &str = "application/vnd.oci.image.layer.v1.tar";
/// Media type of layers with zstd compression, which Crossplane does not read.
pub const LAYER_ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
/// Docker's name for an image manifest, which registries still serve.
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// Docker's name for an image index.
pub const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// Annotation of a layer, and prefix of a label, by which Crossplane finds a layer in an image.
pub const XPKG: &str = "io.crossplane.xpkg";
/// Value of [`XPKG`] for the layer with `package.yaml`.
pub const XPKG_BASE: &str = "base";

/// Reference of a blob: its type, digest and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Media type of the blob.
    #[serde(default)]
    pub media_type: String,
    /// Its digest.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
    /// Platform of an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Annotations of its creator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// Platform of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// Architecture, such as `amd64`.
    pub architecture: String,
    /// Operating system, such as `linux`.
    pub os: String,
}

impl Platform {
    /// Whether Crossplane core reads the package of this platform if there are several.
    pub fn is_read_by_core(&self) -> bool {
        self.os == "linux" && self.architecture == "amd64"
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)
    }
}

/// The manifest of one image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Always 2.
    pub schema_version: u32,
    /// [`MANIFEST`] or [`DOCKER_MANIFEST`].
    #[serde(default)]
    pub media_type: String,
    /// The configuration.
    pub config: Descriptor,
    /// The layers, the lowest first.
    pub layers: Vec<Descriptor>,
    /// Annotations of its creator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A list of images for several platforms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// Always 2.
    pub schema_version: u32,
    /// [`INDEX`] or [`DOCKER_INDEX`].
    #[serde(default)]
    pub media_type: String,
    /// The images.
    pub manifests: Vec<Descriptor>,
    /// Annotations of its creator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// An image or an index of images, with every blob that it references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The manifest or index. Its digest is the artifact's.
    pub root: Descriptor,
    /// Blobs by digest. Artifacts of others may be incomplete.
    pub blobs: BTreeMap<Digest, Vec<u8>>,
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
        let mut blobs = BTreeMap::new();
        let mut manifests = Vec::new();
        for image in images {
            manifests.push(image.descriptor());
            image.into_blobs(&mut blobs);
        }
        let root = match <[Descriptor; 1]>::try_from(manifests) {
            // Registries get the platform of a single image from its configuration.
            Ok([only]) => Descriptor { platform: None, ..only },
            Err(manifests) => {
                let index = Index { schema_version: 2, media_type: INDEX.to_owned(), manifests, annotations };
                let bytes = to_json(&index)?;
                let root = describe_blob(INDEX, &bytes);
                blobs.insert(root.digest.clone(), bytes);
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
        let bytes = self.blobs.get(&descriptor.digest).with_context(|| {
            format!("{} is named but not there; the copy is not complete, make it again", descriptor.digest)
        })?;
        ensure!(
            bytes.len() as u64 == descriptor.size,
            "{} has {} bytes where {} are announced",
            descriptor.digest,
            bytes.len(),
            descriptor.size
        );
        let digest = Digest::of(bytes);
        ensure!(
            digest == descriptor.digest,
            "the bytes under {} have the digest {digest}",
            descriptor.digest
        );
        Ok(bytes)
    }
}

/// Whether a media type is that of a list of images.
pub fn is_index(media_type: &str) -> bool {
    [INDEX, DOCKER_INDEX].contains(&media_type)
}

/// Whether a media type is that of one image.
pub fn is_manifest(media_type: &str) -> bool {
    [MANIFEST, DOCKER_MANIFEST].contains(&media_type)
}

/// The descriptor of some bytes.
pub fn describe_blob(media_type: &str, bytes: &[u8]) -> Descriptor {
    Descriptor {
        media_type: media_type.to_owned(),
        digest: Digest::of(bytes),
        size: bytes.len() as u64,
        platform: None,
        annotations: BTreeMap::new(),
    }
}

/// JSON with sorted keys. Maps sort their keys only without a feature that any crate in the build may enable.
///
/// # Errors
/// Only for types without a JSON form; there are none here.
pub(crate) fn to_json(value: &impl Serialize) -> anyhow::Result<Vec<u8>> {
    Ok(serde_json::to_vec(&testplatform_apis::yaml::sort_keys(&serde_json::to_value(value)?))?)
}
