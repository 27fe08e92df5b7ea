//! Content of the images.
//!
//! Input: programs, package streams, metadata. Output: images. No I/O.

use anyhow::Context as _;

use crate::names::{CONFIGURATION, FUNCTION, PROVIDER};
use crate::oci::{
    Annotations, Architecture, Image, XPKG, XPKG_BASE,
    image::Start,
    layer::{self, Layer, LayerEntry},
};

/// Metadata shared by all images of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildInfo {
    /// Version without a `v`.
    pub version: String,
    /// Commit of the sources, if known.
    pub revision: Option<String>,
    /// Time of every file and of the image, in seconds since 1970.
    pub time: u64,
}

/// A program and its bill of materials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Content of the program file.
    pub bytes: Vec<u8>,
    /// Bill of materials, as `CycloneDX` JSON.
    pub sbom: Vec<u8>,
}

/// uid and gid of `nonroot`, as in the distroless base images. Crossplane and `OpenShift` choose others.
const USER: &str = "65532:65532";

/// The function's package for each program: package and runtime are one image.
///
/// # Errors
/// If a program cannot run in an image without libraries.
pub fn build_function(programs: &[Program], stream: &str, about: &BuildInfo) -> anyhow::Result<Vec<Image>> {
    let description = "Composition function that serves TestPlatformCluster claims, with its package";
    let ports = ["9443/tcp", "8080/tcp"].map(str::to_owned).to_vec();
    let package = package_layer(stream, about)?;
    programs
        .iter()
        .map(|program| {
            build_runtime_image(FUNCTION, description, program, ports.clone(), Some(package.clone()), about)
        })
        .collect()
}

/// The provider's image for each program. It is a plain image: Crossplane does not install it, because it runs on the hub.
///
/// # Errors
/// If a program cannot run in an image without libraries.
pub fn build_provider(programs: &[Program], about: &BuildInfo) -> anyhow::Result<Vec<Image>> {
    let description = "Reconciler on the Test Platform hub: fulfils EphemeralClusters, publishes credentials";
    programs
        .iter()
        .map(|program| {
            build_runtime_image(PROVIDER, description, program, vec!["8080/tcp".to_owned()], None, about)
        })
        .collect()
}

/// The Configuration, which contains no program.
///
/// # Errors
/// Never: strings always serialize to JSON.
pub fn build_configuration(stream: &str, about: &BuildInfo) -> anyhow::Result<Image> {
    let description = "XRD and Composition of TestPlatformCluster";
    Image::new(
        // Nothing runs in it, but core requires a platform in the image configuration.
        Architecture::Amd64,
        &Start::default(),
        vec![package_layer(stream, about)?],
        &image_annotations(CONFIGURATION, description, about),
        &format_creation_time(about)?,
    )
}

fn build_runtime_image(
    name: &str,
    description: &str,
    program: &Program,
    ports: Vec<String>,
    package: Option<Layer>,
    about: &BuildInfo,
) -> anyhow::Result<Image> {
    let architecture = Architecture::of_program(&program.bytes)
        .with_context(|| format!("the program of {name} cannot be packed"))?;
    let files = [
        // Readable and executable by everyone: the runtime chooses the user.
        LayerEntry { path: name.to_owned(), mode: 0o755, bytes: program.bytes.clone() },
        // Image scanners look here.
        LayerEntry {
            path: format!("usr/share/sbom/{name}.cdx.json"),
            mode: 0o644,
            bytes: program.sbom.clone(),
        },
    ];
    // The program comes first: two packages of one commit that differ in metadata share this layer.
    let mut layers = vec![layer::pack_layer(&files, about.time)?];
    layers.extend(package);
    let start = Start { entrypoint: vec![format!("/{name}")], user: USER.to_owned(), ports };
    Image::new(
        architecture,
        &start,
        layers,
        &image_annotations(name, description, about),
        &format_creation_time(about)?,
    )
}

fn package_layer(stream: &str, about: &BuildInfo) -> anyhow::Result<Layer> {
    let file = LayerEntry { path: "package.yaml".to_owned(), mode: 0o644, bytes: stream.as_bytes().to_vec() };
    let mut layer = layer::pack_layer(&[file], about.time)?;
    layer.annotations.insert(XPKG.to_owned(), XPKG_BASE.to_owned());
    Ok(layer)
}

fn image_annotations(name: &str, description: &str, about: &BuildInfo) -> Annotations {
    let mut annotations = Annotations::from(
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

fn format_creation_time(about: &BuildInfo) -> anyhow::Result<String> {
    let time = i64::try_from(about.time).ok().and_then(|time| jiff::Timestamp::from_second(time).ok());
    Ok(time.with_context(|| format!("{} seconds since 1970 is not a time", about.time))?.to_string())
}
