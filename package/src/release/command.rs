//! The command lines of `cargo xpkg notes`, `checksums` and `krew`.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};

use super::{
    checksums::{CHECKSUMS, DIGESTS, is_listed, render_checksums, render_digests},
    krew::{NAME, ReleaseInfo, build_manifest},
    notes::cut_notes,
};
use crate::{
    build::{Platform, plugin_archive::archive_name},
    oci::{digest_of, layout},
    to_yaml,
};

/// Print the release notes of a version: its section of CHANGELOG.md.
#[derive(clap::Args, Clone, Debug)]
pub struct NotesArgs {
    /// Version or tag, such as 0.1.0 or v0.1.0.
    #[arg(value_name = "VERSION")]
    version: String,
}

/// Write `digests` with the digest of each package of a folder, and SHA256SUMS, which `sha256sum --check` reads, for its files.
#[derive(clap::Args, Clone, Debug)]
pub struct ChecksumsArgs {
    /// Output of `cargo xpkg build`. The digest of a folder with an OCI layout is that of its image.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Write testplatform.yaml, by which krew installs the plugin, for the archives of a folder.
#[derive(clap::Args, Clone, Debug)]
pub struct KrewArgs {
    /// Output of `cargo xpkg build`, with the archives of the plugin.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Address below which the archives will be published.
    #[arg(long, value_name = "URL")]
    url: String,
    /// Address of the project.
    #[arg(long, value_name = "URL")]
    homepage: String,
}

/// Prints the notes. `root` is the root of the repository.
///
/// # Errors
/// If the changelog has no such section.
pub fn print_notes(arguments: &NotesArgs, root: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let path = root.join("CHANGELOG.md");
    let changelog = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    writeln!(out, "{}", cut_notes(&changelog, &arguments.version)?).context("cannot print")
}

/// Writes the checksums, and prints them.
///
/// # Errors
/// If the folder has no file, or one cannot be read.
pub fn write_checksums(arguments: &ChecksumsArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let folder = &arguments.folder;
    write_digests(folder)?;
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_file() && is_listed(&name) {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            files.push((name, bytes));
        }
    }
    ensure!(!files.is_empty(), "{} has no files; `cargo xpkg build` writes them", folder.display());
    let text = render_checksums(files);
    let path = folder.join(CHECKSUMS);
    fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    write!(out, "{text}").context("cannot print")
}

fn write_digests(folder: &Path) -> anyhow::Result<()> {
    let mut packages = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.join("index.json").is_file() {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            packages.push((name, layout::open(&path)?.root.digest().to_string()));
        }
    }
    if packages.is_empty() {
        return Ok(());
    }
    let path = folder.join(DIGESTS);
    fs::write(&path, render_digests(packages)).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the manifest for krew, and prints its path.
///
/// # Errors
/// If the folder has no archive of the plugin.
pub fn write_krew(arguments: &KrewArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let mut archives = Vec::new();
    for platform in Platform::ALL {
        let path = arguments.folder.join(archive_name(platform));
        if path.is_file() {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            archives.push((platform, digest_of(&bytes)));
        }
    }
    let release = ReleaseInfo {
        version: env!("CARGO_PKG_VERSION"),
        url: arguments.url.trim_end_matches('/'),
        homepage: &arguments.homepage,
    };
    let text = to_yaml(&build_manifest(release, &archives)?)?;
    let path = arguments.folder.join(format!("{NAME}.yaml"));
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(out, "{}", path.display()).context("cannot print")
}
