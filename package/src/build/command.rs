//! The command line of `cargo xpkg build`.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::{BuildInfo, Program, images, programs, programs::Workspace, stream};
use crate::{
    names::{CONFIGURATION, FUNCTION, PLUGIN, PROVIDER},
    oci::{Architecture, Artifact, Digest, Image, archive, digest_of, layout},
    registry::Reference,
};

/// Build the function's package, the provider's image, the Configuration and the kubectl plugin, and print the digest of each.
///
/// Each becomes an OCI layout (a folder, for `cargo xpkg push`) and an archive for each architecture (.xpkg, and .tar for the provider). The
/// plugin is a static program for each architecture.
#[derive(clap::Args, Clone, Debug)]
pub struct BuildArgs {
    /// Folder to write to [default: xpkg in cargo's target directory].
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Static program to use as the function instead of building it; once for each architecture.
    #[arg(long, value_name = "FILE")]
    function_binary: Vec<PathBuf>,
    /// Static program to use as the provider instead of building it; once for each architecture.
    #[arg(long, value_name = "FILE")]
    provider_binary: Vec<PathBuf>,
    /// Static program to use as the kubectl plugin instead of building it; once for each architecture.
    #[arg(long, value_name = "FILE")]
    plugin_binary: Vec<PathBuf>,
    /// Build for this architecture only [default: all whose target is installed].
    #[arg(long, value_name = "amd64|arm64", value_parser = parse_architecture)]
    architecture: Vec<Architecture>,
    /// Build nothing but the Configuration, for a function that was built elsewhere: REGISTRY/REPOSITORY@sha256:…
    #[arg(long, value_name = "REF", conflicts_with_all = ["function_binary", "provider_binary", "plugin_binary", "architecture", "registry"])]
    function: Option<Reference>,
    /// Registry, and path in it, that the function will be pushed to. The Configuration names it.
    #[arg(long, value_name = "HOST[/PATH]", default_value = "xpkg.example.org")]
    registry: String,
    /// Commit that the sources are from [default: what git says].
    #[arg(long, value_name = "COMMIT")]
    revision: Option<String>,
    /// Time of all files, in seconds since 1970.
    #[arg(long, env = "SOURCE_DATE_EPOCH", value_name = "SECONDS", default_value_t = 0)]
    source_date_epoch: u64,
}

fn parse_architecture(text: &str) -> Result<Architecture, String> {
    let found = Architecture::ALL.into_iter().find(|architecture| architecture.as_str() == text);
    found.ok_or_else(|| "one of amd64 and arm64".to_owned())
}

/// Builds, writes and prints. `package` is the directory of this crate, with the files to pack.
///
/// # Errors
/// If something cannot be built, read or written.
pub fn run(arguments: &BuildArgs, package: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let root = package.parent().context("the crate lies in no workspace")?;
    let workspace = Workspace::read(root)?;
    let output = arguments.output.clone().unwrap_or_else(|| workspace.target_directory().join("xpkg"));
    let about = BuildInfo {
        version: workspace.package_version(FUNCTION).context("the workspace has no function")?,
        revision: arguments.revision.clone().or_else(|| programs::read_revision(root)),
        time: arguments.source_date_epoch,
    };
    let (repository, digest) = if let Some(function) = &arguments.function {
        let digest =
            function.digest.clone().context("the function is named without a digest; add @sha256:…")?;
        (function.repository(), digest)
    } else {
        let repository = format!("{}/{FUNCTION}", arguments.registry.trim_end_matches('/'));
        // Refuse bad arguments before a build takes minutes.
        repository.parse::<Reference>().context("--registry cannot be used")?;
        let programs = obtain_programs(arguments, &workspace, FUNCTION, &arguments.function_binary)?;
        let stream = stream::render_function(&read_documents(&package.join("input"))?)?;
        let digest = write_package(
            &output,
            FUNCTION,
            "xpkg",
            images::build_function(&programs, &stream, &about)?,
            out,
        )?;
        if !arguments.provider_binary.is_empty() || workspace.has_program(PROVIDER) {
            let programs =
                self::obtain_programs(arguments, &workspace, PROVIDER, &arguments.provider_binary)?;
            write_package(&output, PROVIDER, "tar", images::build_provider(&programs, &about)?, out)?;
        } else {
            eprintln!("note: {PROVIDER} is left out: this workspace has no such program");
        }
        for program in self::obtain_programs(arguments, &workspace, PLUGIN, &arguments.plugin_binary)? {
            write_plugin(&output, &program.bytes, out)?;
        }
        (repository, digest)
    };
    let [xrds, compositions] = ["xrds", "compositions"].map(|folder| read_documents(&package.join(folder)));
    let stream = stream::render_configuration(&xrds?, &compositions?, &repository, &digest)?;
    write_package(&output, CONFIGURATION, "xpkg", vec![images::build_configuration(&stream, &about)?], out)?;
    eprintln!("{CONFIGURATION} depends on {repository}@{digest}");
    eprintln!("written to {}", output.display());
    Ok(())
}

fn obtain_programs(
    arguments: &BuildArgs,
    workspace: &Workspace,
    name: &str,
    given: &[PathBuf],
) -> anyhow::Result<Vec<Program>> {
    if !given.is_empty() {
        return given.iter().map(|file| workspace.read_program(name, file)).collect();
    }
    let architectures = match arguments.architecture.as_slice() {
        [] => workspace.list_architectures()?,
        chosen => chosen.to_vec(),
    };
    architectures.into_iter().map(|architecture| workspace.build_program(name, architecture)).collect()
}

/// Writes one package in both formats, and prints its digest.
fn write_package(
    output: &Path,
    name: &str,
    extension: &str,
    images: Vec<Image>,
    out: &mut impl Write,
) -> anyhow::Result<Digest> {
    let several = images.len() > 1;
    fs::create_dir_all(output).with_context(|| format!("cannot make {}", output.display()))?;
    for image in &images {
        let file = if several {
            format!("{name}-{}.{extension}", image.architecture)
        } else {
            format!("{name}.{extension}")
        };
        let path = output.join(file);
        fs::write(&path, archive::write(image)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let artifact = Artifact::of(images)?;
    let digest = artifact.root.digest().clone();
    layout::write(&output.join(name), &artifact, name)?;
    writeln!(out, "{name} {digest}").context("cannot print")?;
    Ok(digest)
}

/// Writes the plugin for one architecture, and prints its digest.
fn write_plugin(output: &Path, program: &[u8], out: &mut impl Write) -> anyhow::Result<()> {
    let name = format!("{PLUGIN}-linux-{}", Architecture::of_program(program)?);
    let path = output.join(&name);
    let write = || {
        // Never write over a running program: the kernel refuses that.
        let _ = fs::remove_file(&path);
        fs::write(&path, program)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
    };
    write().with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(out, "{name} {}", digest_of(program)).context("cannot print")
}

/// The YAML files of a directory, sorted by name. Kustomizations are skipped: they are no part of a package.
fn read_documents(folder: &Path) -> anyhow::Result<Vec<Value>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.retain(|file| file.file_name().is_some_and(|name| name != crate::KUSTOMIZATION));
    files.sort();
    ensure!(!files.is_empty(), "{} has no YAML files", folder.display());
    let read = |file: &PathBuf| {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_saphyr::from_str(&text).with_context(|| format!("{} is not YAML", file.display()))
    };
    files.iter().map(read).collect()
}
