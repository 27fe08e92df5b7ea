//! Which files are in which image.
//!
//! Input: programs, streams, what they are. Output: images. No I/O.

use std::collections::BTreeMap;

use anyhow::Context as _;

use super::{CONFIGURATION, FUNCTION, PROVIDER};
use crate::oci::{
    Architecture, Image, XPKG, XPKG_BASE,
    image::Start,
    layer::{self, Entry, Layer},
};

/// What is said about all images of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Without a `v`.
    pub version: String,
    /// The commit that it was built from, where one is known.
    pub revision: Option<String>,
    /// The time of every file and of the image, in seconds since 1970.
    pub time: u64,
}

/// A program, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// Its bill of materials, as `CycloneDX` JSON.
    pub sbom: Vec<u8>,
}

/// uid and gid of `nonroot`, as the base images of the field have it. Crossplane and `OpenShift` choose others.
const USER: &str = "65532:65532";

/// The function's package for each program: package and runtime are one image.
///
/// # Errors
/// If a program is not one that runs in an image without libraries.
pub fn function(programs: &[Program], stream: &str, about: &About) -> anyhow::Result<Vec<Image>> {
    let description = "Composition function that serves TestPlatformCluster claims, with its package";
    let ports = ["9443/tcp", "8080/tcp"].map(str::to_owned).to_vec();
    let package = package_layer(stream, about)?;
    programs
        .iter()
        .map(|program| runtime(FUNCTION, description, program, ports.clone(), Some(package.clone()), about))
        .collect()
}

/// The provider's image for each program. It is a plain image, since Crossplane does not install it: it runs on the hub.
///
/// # Errors
/// If a program is not one that runs in an image without libraries.
pub fn provider(programs: &[Program], about: &About) -> anyhow::Result<Vec<Image>> {
    let description = "Reconciler on the Test Platform hub: fulfils EphemeralClusters, publishes credentials";
    programs
        .iter()
        .map(|program| runtime(PROVIDER, description, program, vec!["8080/tcp".to_owned()], None, about))
        .collect()
}

/// The Configuration, which has nothing that runs.
///
/// # Errors
/// Never, as long as JSON can hold texts.
pub fn configuration(stream: &str, about: &About) -> anyhow::Result<Image> {
    let description = "XRD and Composition of TestPlatformCluster";
    Image::new(
        // It runs nowhere, but a configuration of an image has to say something, and this is what core looks for.
        Architecture::Amd64,
        &Start::default(),
        vec![package_layer(stream, about)?],
        &annotations(CONFIGURATION, description, about),
        &created(about)?,
    )
}

fn runtime(
    name: &str,
    description: &str,
    program: &Program,
    ports: Vec<String>,
    package: Option<Layer>,
    about: &About,
) -> anyhow::Result<Image> {
    let architecture = Architecture::of_program(&program.bytes)
        .with_context(|| format!("the program of {name} cannot be packed"))?;
    let files = [
        // Readable and executable by anybody: the user is chosen where it runs.
        Entry { path: name.to_owned(), mode: 0o755, bytes: program.bytes.clone() },
        // Where scanners of images look.
        Entry { path: format!("usr/share/sbom/{name}.cdx.json"), mode: 0o644, bytes: program.sbom.clone() },
    ];
    // The program first: a package that changes in its metadata alone shares this layer with the one before.
    let mut layers = vec![layer::pack(&files, about.time)?];
    layers.extend(package);
    let start = Start { entrypoint: vec![format!("/{name}")], user: USER.to_owned(), ports };
    Image::new(architecture, &start, layers, &annotations(name, description, about), &created(about)?)
}

fn package_layer(stream: &str, about: &About) -> anyhow::Result<Layer> {
    let file = Entry { path: "package.yaml".to_owned(), mode: 0o644, bytes: stream.as_bytes().to_vec() };
    let mut layer = layer::pack(&[file], about.time)?;
    layer.annotations.insert(XPKG.to_owned(), XPKG_BASE.to_owned());
    Ok(layer)
}

fn annotations(name: &str, description: &str, about: &About) -> BTreeMap<String, String> {
    let mut annotations = BTreeMap::from(
        [
            ("title", name),
            ("description", description),
            ("version", &about.version),
            ("licenses", env!("CARGO_PKG_LICENSE")),
        ]
        .map(|(key, value)| (format!("org.opencontainers.image.{key}"), value.to_owned())),
    );
    if let Some(revision) = &about.revision {
        annotations.insert("org.opencontainers.image.revision".to_owned(), revision.clone());
    }
    annotations
}

fn created(about: &About) -> anyhow::Result<String> {
    let time = i64::try_from(about.time).ok().and_then(|time| jiff::Timestamp::from_second(time).ok());
    Ok(time.with_context(|| format!("{} seconds since 1970 is no time", about.time))?.to_string())
}
