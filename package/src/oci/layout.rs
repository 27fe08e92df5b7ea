//! OCI layouts: a directory with an artifact.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use serde_json::json;

use super::{
    Annotations, Artifact, Blobs, Descriptor, Digest, ImageIndex, ImageManifest, MediaType, archive,
    build_index, is_index, is_manifest, to_json,
};

/// Annotation with the name of an artifact in a layout.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The files of a layout, by their path in it.
///
/// # Errors
/// Never: strings always serialize to JSON.
pub fn layout_files(artifact: &Artifact, name: &str) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut root = artifact.root.clone();
    root.set_annotations(Some([(REF_NAME.to_owned(), name.to_owned())].into()));
    let index = build_index(vec![root], &Annotations::new())?;
    let mut files = BTreeMap::from([
        (PathBuf::from("oci-layout"), to_json(&json!({ "imageLayoutVersion": "1.0.0" }))?),
        (PathBuf::from("index.json"), to_json(&index)?),
    ]);
    for (digest, bytes) in &artifact.blobs {
        files.insert(blob_path(digest), bytes.clone());
    }
    Ok(files)
}

/// Writes a layout. It removes blobs of an earlier build, since readers attribute all blobs to the artifact.
///
/// # Errors
/// If the directory contains anything but a layout, or cannot be written.
pub fn write(folder: &Path, artifact: &Artifact, name: &str) -> anyhow::Result<()> {
    let exists = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if exists {
        ensure!(
            folder.join("oci-layout").is_file(),
            "{} is not empty and no OCI layout; name another folder",
            folder.display()
        );
        fs::remove_dir_all(folder.join("blobs"))
            .or_else(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })
            .with_context(|| format!("cannot replace {}", folder.display()))?;
    }
    for (path, bytes) in layout_files(artifact, name)? {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Reads an artifact from a layout (a directory), or from an archive of Docker or Crossplane's own tool (`.xpkg`).
///
/// # Errors
/// If it is neither, or contains several artifacts.
pub fn open(path: &Path) -> anyhow::Result<Artifact> {
    if path.is_dir() {
        return read(path);
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    archive::read(&bytes).with_context(|| {
        format!("{} is not a package; give an OCI layout (a folder) or a .xpkg file", path.display())
    })
}

fn read(folder: &Path) -> anyhow::Result<Artifact> {
    let path = folder.join("index.json");
    ensure!(
        path.is_file() && folder.join("oci-layout").is_file(),
        "{} is not an OCI layout (no oci-layout and index.json); give the folder of one package",
        folder.display()
    );
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let index: ImageIndex =
        serde_json::from_slice(&text).with_context(|| format!("{} is not an index", path.display()))?;
    let [root] = index.manifests().as_slice() else {
        bail!("{} names {} images; a package is one", path.display(), index.manifests().len());
    };
    // The name belongs to the layout, not to the artifact.
    let mut root = root.clone();
    root.set_annotations(None);
    let mut blobs = Blobs::new();
    collect_blobs(&root, &mut blobs, &|digest| fs::read(folder.join(blob_path(digest))).ok());
    Ok(Artifact { root, blobs })
}

/// Reads all blobs reachable from a descriptor. Missing blobs are omitted; their user reports them by name.
fn collect_blobs(descriptor: &Descriptor, blobs: &mut Blobs, fetch: &impl Fn(&Digest) -> Option<Vec<u8>>) {
    if blobs.contains_key(descriptor.digest()) {
        return;
    }
    let Some(bytes) = fetch(descriptor.digest()) else { return };
    let inner = referenced_blobs(descriptor.media_type(), &bytes);
    blobs.insert(descriptor.digest().clone(), bytes);
    for descriptor in inner {
        collect_blobs(&descriptor, blobs, fetch);
    }
}

/// References in a manifest or an index. Other blobs have none.
pub fn referenced_blobs(media_type: &MediaType, bytes: &[u8]) -> Vec<Descriptor> {
    if is_index(media_type) {
        serde_json::from_slice::<ImageIndex>(bytes).map(|index| index.manifests().clone()).unwrap_or_default()
    } else if is_manifest(media_type) {
        serde_json::from_slice::<ImageManifest>(bytes)
            .map(|manifest| [vec![manifest.config().clone()], manifest.layers().clone()].concat())
            .unwrap_or_default()
    } else {
        vec![]
    }
}

fn blob_path(digest: &Digest) -> PathBuf {
    Path::new("blobs").join("sha256").join(digest.digest())
}
