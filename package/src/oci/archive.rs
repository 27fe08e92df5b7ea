//! Archives in the format of `docker save`. Crossplane's tools call such a file with a package `.xpkg`.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Annotations, Artifact, Blobs, Image, MediaType, XPKG, build_manifest, describe_blob, digest_of,
    layer::{self, LayerEntry},
    to_json,
};

/// Entry of an image in the file `manifest.json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SavedImage {
    config: String,
    layers: Vec<String>,
}

/// Packs one image.
///
/// # Errors
/// Never: strings always serialize to JSON.
pub fn write(image: &Image) -> anyhow::Result<Vec<u8>> {
    let file = |path: String, bytes: Vec<u8>| LayerEntry { path, mode: 0o644, bytes };
    let config = format!("{}.json", digest_of(&image.config).digest());
    let mut layers = Vec::new();
    let mut entries = Vec::new();
    for layer in &image.layers {
        let path = format!("{}.tar.gz", digest_of(&layer.blob).digest());
        layers.push(path.clone());
        entries.push(file(path, layer.blob.clone()));
    }
    let saved = json!([{ "Config": config, "RepoTags": null, "Layers": layers }]);
    entries.push(file("manifest.json".to_owned(), to_json(&saved)?));
    entries.push(file(config, image.config.clone()));
    layer::build_archive(&entries, 0)
}

/// Reads one image, and sets the layer annotations from its labels, as Crossplane's tool does in a push.
///
/// # Errors
/// If it is no such archive, or has several images.
pub fn read(bytes: &[u8]) -> anyhow::Result<Artifact> {
    let archive = layer::unpack_layer(bytes)?;
    let files: BTreeMap<String, Vec<u8>> =
        layer::read_entries(&archive)?.into_iter().map(|entry| (entry.path, entry.bytes)).collect();
    let manifest =
        files.get("manifest.json").context("it has no manifest.json, which an archive of an image has")?;
    let saved: Vec<SavedImage> = serde_json::from_slice(manifest).context("manifest.json cannot be read")?;
    let [saved] = saved.as_slice() else { bail!("it has {} images; a package is one", saved.len()) };
    // The blob is not removed: equal layers, such as empty ones, share one file.
    let of = |path: &str| {
        files
            .get(path)
            .cloned()
            .with_context(|| format!("manifest.json names {path}, which is not in the archive"))
    };
    let config = of(&saved.config)?;
    let described: Value = serde_json::from_slice(&config).context("the configuration cannot be read")?;
    let mut blobs = Blobs::new();
    let mut layers = Vec::new();
    for path in &saved.layers {
        let blob = of(path)?;
        let mut descriptor = describe_blob(layer::media_type(&blob), &blob);
        let label = format!("{XPKG}:{}", descriptor.digest());
        if let Some(purpose) = described["config"]["Labels"].get(&label).and_then(Value::as_str) {
            descriptor.set_annotations(Some([(XPKG.to_owned(), purpose.to_owned())].into()));
        }
        blobs.insert(descriptor.digest().clone(), blob);
        layers.push(descriptor);
    }
    ensure!(!layers.is_empty(), "the image has no layers");
    let mut annotations = Annotations::new();
    for (key, value) in described["config"]["Labels"].as_object().into_iter().flatten() {
        if let (false, Some(value)) = (key.starts_with(XPKG), value.as_str()) {
            annotations.insert(key.clone(), value.to_owned());
        }
    }
    let manifest = to_json(&build_manifest(&config, layers, &annotations)?)?;
    let root = describe_blob(MediaType::ImageManifest, &manifest);
    blobs.insert(digest_of(&config), config);
    blobs.insert(root.digest().clone(), manifest);
    Ok(Artifact { root, blobs })
}
