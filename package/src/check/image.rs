//! The image around a package, as core and a node read it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::CheckProblem;
use crate::oci::{
    Architecture, Artifact, Descriptor, ImageIndex, ImageManifest, XPKG, XPKG_BASE, digest_of, is_index,
    is_manifest,
    layer::{self, LayerEntry},
};

/// A readable part of an image.
#[derive(Clone, Debug, Default)]
pub struct PackageImage {
    /// Architecture from the index, else from the configuration.
    architecture: String,
    os: String,
    config: Value,
    /// Files by path, without those that an upper layer replaces.
    files: BTreeMap<String, LayerEntry>,
    /// Paths of links in all layers.
    links: BTreeSet<String>,
    /// The text of `package.yaml`.
    pub package: Option<String>,
}

impl PackageImage {
    /// Platform, such as `linux/amd64`.
    pub fn platform(&self) -> String {
        format!("{}/{}", self.os, self.architecture)
    }

    /// Name of the image in messages.
    pub fn place(&self) -> String {
        format!("image for {}", self.platform())
    }
}

/// Every image of an artifact.
pub fn read_images(artifact: &Artifact, problems: &mut Vec<CheckProblem>) -> Vec<PackageImage> {
    let root = &artifact.root;
    let bytes = match artifact.blob(root) {
        Ok(bytes) => bytes,
        Err(error) => {
            problems.push(CheckProblem::error("image", format!("{error:#}")));
            return vec![];
        }
    };
    if is_manifest(root.media_type()) {
        return read_image(artifact, root, bytes, problems).into_iter().collect();
    }
    if !is_index(root.media_type()) {
        let text = format!("{:?} is neither an image nor an index of images", root.media_type().as_ref());
        problems.push(CheckProblem::error("image", text));
        return vec![];
    }
    let index: ImageIndex = match serde_json::from_slice(bytes) {
        Ok(index) => index,
        Err(error) => {
            problems.push(CheckProblem::error("index", format!("cannot be read: {error}")));
            return vec![];
        }
    };
    let mut images = Vec::new();
    for descriptor in index.manifests() {
        // Builders add attestations next to images, for a platform called "unknown".
        if descriptor.platform().as_ref().is_some_and(|platform| platform.os().to_string() == "unknown") {
            continue;
        }
        match artifact.blob(descriptor) {
            Ok(bytes) => images.extend(read_image(artifact, descriptor, bytes, problems)),
            Err(error) => problems.push(CheckProblem::error("index", format!("{error:#}"))),
        }
    }
    images
}

/// The image whose package core installs: of several images the one for linux/amd64, else the only one.
pub fn read_by_core<'a>(
    images: &'a [PackageImage],
    problems: &mut Vec<CheckProblem>,
) -> Option<&'a PackageImage> {
    if let [only] = images {
        return Some(only);
    }
    let found = images.iter().find(|image| image.os == "linux" && image.architecture == "amd64");
    if found.is_none() && !images.is_empty() {
        let text =
            "has no image for linux/amd64, which is the one that core reads the package from, on every node";
        problems.push(CheckProblem::error("index", text));
    } else if images.is_empty() && problems.is_empty() {
        problems.push(CheckProblem::error("index", "names no image"));
    }
    found
}

fn read_image(
    artifact: &Artifact,
    descriptor: &Descriptor,
    bytes: &[u8],
    problems: &mut Vec<CheckProblem>,
) -> Option<PackageImage> {
    let manifest: ImageManifest = match serde_json::from_slice(bytes) {
        Ok(manifest) => manifest,
        Err(error) => {
            problems.push(CheckProblem::error("manifest", format!("cannot be read: {error}")));
            return None;
        }
    };
    let mut image =
        PackageImage { config: read_config(artifact, &manifest, problems), ..PackageImage::default() };
    let field = |field: &str| image.config[field].as_str().unwrap_or_default().to_owned();
    (image.architecture, image.os) = (field("architecture"), field("os"));
    if let Some(platform) = descriptor.platform() {
        let (architecture, os) = (platform.architecture().to_string(), platform.os().to_string());
        if (&architecture, &os) != (&image.architecture, &image.os) {
            let text = format!(
                "its configuration says {}, the index says {os}/{architecture}; nodes go by the index",
                image.platform()
            );
            problems.push(CheckProblem::error("index", text));
            (image.architecture, image.os) = (architecture, os);
        }
    }
    let layers = read_layers(artifact, &manifest, &mut image, problems);
    find_package(&manifest, layers, &mut image, problems);
    Some(image)
}

fn read_config(artifact: &Artifact, manifest: &ImageManifest, problems: &mut Vec<CheckProblem>) -> Value {
    let read = artifact.blob(manifest.config()).and_then(|bytes| Ok(serde_json::from_slice(bytes)?));
    read.unwrap_or_else(|error| {
        problems.push(CheckProblem::error("configuration", format!("cannot be read: {error:#}")));
        Value::Null
    })
}

/// The files of each layer; none for an unreadable one.
fn read_layers(
    artifact: &Artifact,
    manifest: &ImageManifest,
    image: &mut PackageImage,
    problems: &mut Vec<CheckProblem>,
) -> Vec<Option<Vec<LayerEntry>>> {
    let diff_ids: Vec<&str> = image.config["rootfs"]["diff_ids"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if diff_ids.len() != manifest.layers().len() {
        let text = format!(
            "lists {} layers where the manifest has {}; no node can run that",
            diff_ids.len(),
            manifest.layers().len()
        );
        problems.push(CheckProblem::error("configuration", text));
    }
    let mut all = Vec::new();
    for (index, descriptor) in manifest.layers().iter().enumerate() {
        let place = format!("layer {}", index + 1);
        let entries = artifact.blob(descriptor).and_then(layer::unpack_layer).and_then(|archive| {
            let digest = digest_of(&archive);
            let expected = diff_ids.get(index).copied().unwrap_or(digest.as_ref());
            if digest.as_ref() != expected {
                let text = format!("unpacks to {digest}, the configuration says {expected}");
                problems.push(CheckProblem::error(place.as_str(), text));
            }
            let path = |link: String| link.trim_start_matches("./").trim_end_matches('/').to_owned();
            image.links.extend(layer::read_links(&archive)?.into_iter().map(path));
            layer::read_entries(&archive)
        });
        match entries {
            Ok(entries) => all.push(Some(entries)),
            Err(error) => {
                problems.push(CheckProblem::error(place, format!("cannot be read: {error:#}")));
                all.push(None);
            }
        }
    }
    for entry in all.iter().flatten().flatten() {
        image.files.insert(entry.path.trim_start_matches("./").to_owned(), entry.clone());
    }
    all
}

/// Finds the package like core: the first annotated layer, and in it the first file of that name; else the whole filesystem.
fn find_package(
    manifest: &ImageManifest,
    mut layers: Vec<Option<Vec<LayerEntry>>>,
    image: &mut PackageImage,
    problems: &mut Vec<CheckProblem>,
) {
    let annotated: Vec<usize> = (0..manifest.layers().len())
        .filter(|index| {
            let annotations = manifest.layers()[*index].annotations();
            annotations.as_ref().and_then(|all| all.get(XPKG)).is_some_and(|value| value == XPKG_BASE)
        })
        .collect();
    let place = image.place();
    let entries = match annotated.as_slice() {
        [] => {
            let text = format!(
                "no layer has the annotation {XPKG}: {XPKG_BASE}; core then searches the whole filesystem, which is slow"
            );
            problems.push(CheckProblem::warning(place.as_str(), text));
            image.files.values().cloned().collect()
        }
        [first, others @ ..] => {
            if !others.is_empty() {
                let text = format!(
                    "{} layers have the annotation {XPKG}: {XPKG_BASE}; one may, core reads the first",
                    annotated.len()
                );
                problems.push(CheckProblem::error(place.as_str(), text));
            }
            let label = format!("{XPKG}:{}", manifest.layers()[*first].digest());
            if image.config["config"]["Labels"].get(&label).is_none() {
                let text =
                    format!("has no label {label}; tools that push an archive of it lose the annotation");
                problems.push(CheckProblem::warning("configuration", text));
            }
            // The problem of the layer is already reported.
            let Some(entries) = layers[*first].take() else { return };
            entries
        }
    };
    let Some(file) = entries.iter().find(|entry| entry.path.rsplit('/').next() == Some("package.yaml"))
    else {
        problems.push(CheckProblem::error(place, "there is no package.yaml, so it is not a package"));
        return;
    };
    if file.path.trim_start_matches("./") != "package.yaml" {
        let text = format!(
            "{} is not in the root directory; other readers than Crossplane look only there",
            file.path
        );
        problems.push(CheckProblem::warning(place.as_str(), text));
    }
    if file.mode & 0o777 != 0o644 {
        let text = format!("package.yaml has mode {:o}; the specification says 644", file.mode & 0o777);
        problems.push(CheckProblem::warning(place.as_str(), text));
    }
    match String::from_utf8(file.bytes.clone()) {
        Ok(text) => image.package = Some(text),
        Err(_) => problems.push(CheckProblem::error(place, "package.yaml is not UTF-8")),
    }
}

/// Checks the start of a function's image: without arguments, as a user other than root.
pub fn check_runtime(image: &PackageImage, problems: &mut Vec<CheckProblem>) {
    let place = image.place();
    let run = &image.config["config"];
    let word = |field: &str| run[field].as_array().and_then(|words| words.first()).and_then(Value::as_str);
    let Some(program) = word("Entrypoint").or_else(|| word("Cmd")) else {
        let text = "has no entrypoint: the package manager starts a function's image as it is, so it has to have a program";
        problems.push(CheckProblem::error(place, text));
        return;
    };
    let path = program.trim_start_matches('/');
    let is_on_the_way = |link: &String| {
        path.strip_prefix(link.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match image.files.get(path) {
        None if program.starts_with('/') && !image.links.iter().any(is_on_the_way) => {
            problems
                .push(CheckProblem::error(place.as_str(), format!("starts {program}, which is not in it")));
        }
        // Found through a search path or behind a link; this check cannot follow either.
        None => {}
        Some(file) => {
            if file.mode & 0o005 != 0o005 {
                let text = format!(
                    "{program} has mode {:o}, so the user that Crossplane chooses cannot run it",
                    file.mode
                );
                problems.push(CheckProblem::error(place.as_str(), text));
            }
            if let Ok(built) = Architecture::of_program(&file.bytes)
                && built.as_str() != image.architecture
            {
                let text = format!("{program} is built for linux/{built}");
                problems.push(CheckProblem::error(place.as_str(), text));
            }
        }
    }
    let user = run["User"].as_str().unwrap_or_default().split(':').next().unwrap_or_default();
    if ["", "0", "root"].contains(&user) {
        let text = "runs as root unless somebody says otherwise; Crossplane does, others do not";
        problems.push(CheckProblem::warning(place, text));
    } else if user.parse::<u32>().is_err() {
        let text = format!("runs as {user}, a name, which a cluster cannot tell from root; use a number");
        problems.push(CheckProblem::warning(place, text));
    }
}
