//! What cargo is asked: to build the programs, and what is in them. The only part of a build that runs other programs.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail, ensure};
use cargo_metadata::{Message, Metadata, MetadataCommand};

use super::{Program, sbom};
use crate::oci::Architecture;

/// The workspace that is built.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
    cargo: PathBuf,
    cargo_home: Option<PathBuf>,
    target: PathBuf,
    /// What cargo says about all crates.
    metadata: Metadata,
}

impl Workspace {
    /// Reads what cargo knows about the workspace at `root`.
    ///
    /// # Errors
    /// If cargo cannot be run, or `Cargo.lock` is not up to date.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let cargo = variable("CARGO").unwrap_or_else(|| "cargo".into());
        let metadata = MetadataCommand::new()
            .cargo_path(&cargo)
            .current_dir(root)
            .other_options(["--locked".to_owned()])
            .exec()
            .context("cargo metadata failed")?;
        let cargo_home = variable("CARGO_HOME").or_else(|| Some(variable("HOME")?.join(".cargo")));
        let target = metadata.target_directory.clone().into_std_path_buf();
        Ok(Self { root: metadata.workspace_root.clone().into(), cargo, cargo_home, target, metadata })
    }

    /// Where cargo builds.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The version of the workspace's crates.
    pub fn version(&self, package: &str) -> Option<String> {
        let packages = self.metadata.workspace_packages();
        packages.into_iter().find(|p| p.name.as_str() == package).map(|p| p.version.to_string())
    }

    /// Whether there is such a program.
    pub fn has(&self, program: &str) -> bool {
        let mut packages = self.metadata.workspace_packages().into_iter();
        packages
            .any(|p| p.name.as_str() == program && p.targets.iter().any(|t| t.is_bin() && t.name == program))
    }

    /// The architectures that can be built for: this machine's and those whose standard library is installed.
    ///
    /// # Errors
    /// If the compiler cannot be run, or none is left.
    pub fn architectures(&self) -> anyhow::Result<Vec<Architecture>> {
        let output = Command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(&self.root)
            .output()
            .context("cannot run rustc")?;
        let sysroot = String::from_utf8(output.stdout).context("rustc names no sysroot")?;
        let installed = Path::new(sysroot.trim()).join("lib/rustlib");
        let found: Vec<_> = Architecture::ALL
            .into_iter()
            .filter(|architecture| installed.join(architecture.target()).join("lib").is_dir())
            .collect();
        ensure!(
            !found.is_empty(),
            "the compiler has no target to build for; install one with rustup target add {}",
            Architecture::ALL.map(Architecture::target).join(" or ")
        );
        Ok(found)
    }

    /// Builds a program, and makes its bill of materials.
    ///
    /// # Errors
    /// If the build fails.
    pub fn build(&self, program: &str, architecture: Architecture) -> anyhow::Result<Program> {
        let target = architecture.target();
        let output = Command::new(&self.cargo)
            .arg("build")
            .args(what(program))
            .args(["--target", target, "--message-format", "json-render-diagnostics"])
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags(architecture))
            .env_remove("RUSTFLAGS")
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .context("cannot run cargo")?;
        ensure!(output.status.success(), "{program} cannot be built for {target}; cargo says why above");
        let mut executable = None;
        for message in Message::parse_stream(output.stdout.as_slice()) {
            if let Message::CompilerArtifact(artifact) = message.context("cargo's messages cannot be read")?
                && artifact.target.name == program
            {
                executable = artifact.executable.or(executable);
            }
        }
        let executable = executable.with_context(|| format!("cargo does not say where {program} is"))?;
        if architecture.is_here() {
            starts(executable.as_std_path())?;
        }
        let bytes = fs::read(&executable).with_context(|| format!("cannot read {executable}"))?;
        Ok(Program { bytes, sbom: self.bill(program, architecture)? })
    }

    /// Takes a program that was built before.
    ///
    /// # Errors
    /// If the file cannot be read or is no program that an image can hold.
    pub fn given(&self, program: &str, file: &Path) -> anyhow::Result<Program> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let architecture = Architecture::of_program(&bytes)
            .with_context(|| format!("{} cannot be packed as {program}", file.display()))?;
        Ok(Program { bytes, sbom: self.bill(program, architecture)? })
    }

    fn bill(&self, program: &str, architecture: Architecture) -> anyhow::Result<Vec<u8>> {
        let output = Command::new(&self.cargo)
            .args(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"])
            .args(["--format", "{p}", "--package", program, "--target", architecture.target()])
            .current_dir(&self.root)
            .output()
            .context("cannot run cargo")?;
        if !output.status.success() {
            bail!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let lock = fs::read_to_string(self.root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
        sbom::bill(program, &self.metadata, &String::from_utf8_lossy(&output.stdout), &lock)
    }

    /// Static, and without the paths of this machine, which would end up in the texts of panics and make the bytes depend on them.
    /// Crates get one name wherever they lie: in cargo's home, under the name of a registry or of its mirror, or
    /// in `vendor/` (with `--versioned-dirs`). Of several prefixes that fit the last is taken.
    fn flags(&self, architecture: Architecture) -> OsString {
        let mut prefixes = vec![(self.root.clone(), "/src"), (self.root.join("vendor"), "/cargo")];
        if let Some(home) = &self.cargo_home {
            prefixes.push((home.clone(), "/cargo"));
            let sources = fs::read_dir(home.join("registry/src")).into_iter().flatten();
            prefixes.extend(sources.flatten().map(|source| (source.path(), "/cargo")));
        }
        prefixes.push((self.target.clone(), "/target"));
        // Where a program is loaded is for the kernel to choose, so it has thousands of addresses to put right when it starts: written as
        // ranges they take 3 % less of it. C libraries know that from glibc 2.36 on.
        let mut flags =
            OsString::from("-Ctarget-feature=+crt-static\x1f-Clink-arg=-Wl,-z,pack-relative-relocs");
        // Many generic functions come out as the same instructions for several types; rustc's own linker, which it takes by itself for this
        // architecture alone, keeps one of each. Nothing here tells functions apart by their addresses.
        if architecture == Architecture::Amd64 {
            flags.push("\x1f-Clink-arg=-Wl,--icf=all");
        }
        for (path, name) in prefixes {
            flags.push("\x1f--remap-path-prefix=");
            flags.push(path);
            flags.push("=");
            flags.push(name);
        }
        flags
    }
}

/// A static program has this machine's C library in it, which may be too old for how it is linked: then it ends before it has begun.
fn starts(program: &Path) -> anyhow::Result<()> {
    let output = Command::new(program).arg("--version").env_clear().stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{} cannot be run", program.display()))?;
    ensure!(
        output.status.success(),
        "{} was built and does not start ({}): it takes a static C library of glibc 2.36 or newer",
        program.display(),
        output.status
    );
    Ok(())
}

/// What cargo is asked to build, wherever that is done.
pub const fn what(program: &str) -> [&str; 6] {
    ["--locked", "--release", "--package", program, "--bin", program]
}

/// The commit that is checked out at `root`, with `-dirty` where files differ from it; nothing where there is no git.
pub fn revision(root: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "HEAD"])?;
    let clean = git(&["status", "--porcelain"])?.is_empty();
    Some(if clean { commit } else { format!("{commit}-dirty") })
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
