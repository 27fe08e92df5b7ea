//! The command line of `cargo xpkg build`.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::{
    BuildInfo, Platform, Program, images,
    platform::OperatingSystem,
    plugin_archive::{archive_name, pack_plugin},
    programs,
    programs::Workspace,
    stream,
};
use crate::{
    names::{CONFIGURATION, FUNCTION, PLUGIN, PROVIDER},
    oci::{Artifact, Digest, Image, archive, digest_of, layout},
    registry::Reference,
};

/// Build the function's package, the provider's image, the Configuration and the kubectl plugin, and print the digest of each.
///
/// Each becomes an OCI layout (a folder, for `cargo xpkg push`) and an archive for each architecture (.xpkg, and .tar for the provider), with a
/// bill of materials for each program (.cdx.json). The plugin is a program and a .tar.gz for each platform.
#[derive(clap::Args, Clone, Debug)]
pub struct BuildArgs {
    /// Folder to write to [default: xpkg in cargo's target directory].
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Static program to use as the function instead of building it; once for each platform.
    #[arg(long, value_name = "FILE")]
    function_binary: Vec<PathBuf>,
    /// Static program to use as the provider instead of building it; once for each platform.
    #[arg(long, value_name = "FILE")]
    provider_binary: Vec<PathBuf>,
    /// Program to use as the kubectl plugin instead of building it; once for each platform.
    #[arg(long, value_name = "FILE")]
    plugin_binary: Vec<PathBuf>,
    /// Build for these platforms [default: Linux on all architectures whose target is installed]. Images are for Linux; macOS
    /// (darwin/amd64, darwin/arm64) has the plugin alone.
    #[arg(long, value_name = "OS/ARCHITECTURE", value_delimiter = ',', value_parser = parse_platform)]
    platform: Vec<Platform>,
    /// Build nothing but the Configuration, for a function that was built elsewhere: REGISTRY/REPOSITORY@sha256:…
    #[arg(long, value_name = "REF", conflicts_with_all = ["function_binary", "provider_binary", "plugin_binary", "platform", "registry"])]
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

fn parse_platform(text: &str) -> Result<Platform, String> {
    text.parse().map_err(|error: anyhow::Error| error.to_string())
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
        build_programs(arguments, &workspace, package, &output, &about, out)?
    };
    let [xrds, compositions] = ["xrds", "compositions"].map(|folder| read_documents(&package.join(folder)));
    let stream = stream::render_configuration(&xrds?, &compositions?, &repository, &digest)?;
    write_package(&output, CONFIGURATION, "xpkg", vec![images::build_configuration(&stream, &about)?], out)?;
    eprintln!("{CONFIGURATION} depends on {repository}@{digest}");
    eprintln!("written to {}", output.display());
    Ok(())
}

/// Builds and writes everything with a program. Returns the function's repository and digest.
fn build_programs(
    arguments: &BuildArgs,
    workspace: &Workspace,
    package: &Path,
    output: &Path,
    about: &BuildInfo,
    out: &mut impl Write,
) -> anyhow::Result<(String, Digest)> {
    let repository = format!("{}/{FUNCTION}", arguments.registry.trim_end_matches('/'));
    // Refuse bad arguments before a build takes minutes.
    repository.parse::<Reference>().context("--registry cannot be used")?;
    let platforms = select_platforms(arguments, workspace)?;
    let linux: Vec<Platform> =
        platforms.iter().copied().filter(|platform| platform.os == OperatingSystem::Linux).collect();
    let obtain = |name: &str, files: &[PathBuf], platforms: &[Platform]| -> anyhow::Result<Vec<Program>> {
        if files.is_empty() {
            let build =
                |platform: &Platform| workspace.build_program(name, *platform, about.revision.as_deref());
            return platforms.iter().map(build).collect();
        }
        files.iter().map(|file| workspace.read_program(name, file)).collect()
    };

    let programs = obtain(FUNCTION, &arguments.function_binary, &linux)?;
    let stream = stream::render_function(&read_documents(&package.join("input"))?)?;
    let images = images::build_function(&programs, &stream, about)?;
    let digest = write_package(output, FUNCTION, "xpkg", images, out)?;
    write_bills(output, FUNCTION, &programs)?;
    if !arguments.provider_binary.is_empty() || workspace.has_program(PROVIDER) {
        let programs = obtain(PROVIDER, &arguments.provider_binary, &linux)?;
        write_package(output, PROVIDER, "tar", images::build_provider(&programs, about)?, out)?;
        write_bills(output, PROVIDER, &programs)?;
    } else {
        eprintln!("note: {PROVIDER} is left out: this workspace has no such program");
    }
    let licence = workspace.root().join("LICENSE");
    let licence = fs::read(&licence).with_context(|| format!("cannot read {}", licence.display()))?;
    let programs = obtain(PLUGIN, &arguments.plugin_binary, &platforms)?;
    for program in &programs {
        write_plugin(output, &program.bytes, &licence, about.time, out)?;
    }
    write_bills(output, PLUGIN, &programs)?;
    Ok((repository, digest))
}

/// The platforms to build for, each once. Fails for one that this machine cannot build for.
fn select_platforms(arguments: &BuildArgs, workspace: &Workspace) -> anyhow::Result<Vec<Platform>> {
    let given = [&arguments.function_binary, &arguments.provider_binary, &arguments.plugin_binary];
    if given.into_iter().all(|files| !files.is_empty()) {
        return Ok(vec![]);
    }
    if arguments.platform.is_empty() {
        return workspace.list_platforms();
    }
    let platforms: BTreeSet<Platform> = arguments.platform.iter().copied().collect();
    ensure!(
        platforms.iter().any(|platform| platform.os == OperatingSystem::Linux),
        "--platform has no Linux platform, which images need; add linux/amd64 or linux/arm64"
    );
    platforms.iter().try_for_each(|platform| workspace.check_platform(*platform))?;
    Ok(platforms.into_iter().collect())
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

/// Writes the bill of materials of each program.
fn write_bills(output: &Path, name: &str, programs: &[Program]) -> anyhow::Result<()> {
    for program in programs {
        let platform = Platform::of_program(&program.bytes)?;
        let path = output.join(format!("{name}-{}.cdx.json", platform.file_name()));
        fs::write(&path, &program.sbom).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Writes the plugin for one platform, as a program and as an archive, and prints their digests.
fn write_plugin(
    output: &Path,
    program: &[u8],
    licence: &[u8],
    time: u64,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let platform = Platform::of_program(program)?;
    let name = format!("{PLUGIN}-{}", platform.file_name());
    let path = output.join(&name);
    let write = || {
        // Never write over a running program: the kernel refuses that.
        let _ = fs::remove_file(&path);
        fs::write(&path, program)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
    };
    write().with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(out, "{name} {}", digest_of(program)).context("cannot print")?;
    let archive = pack_plugin(program, licence, time)?;
    let name = archive_name(platform);
    let path = output.join(&name);
    fs::write(&path, &archive).with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(out, "{name} {}", digest_of(&archive)).context("cannot print")
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
