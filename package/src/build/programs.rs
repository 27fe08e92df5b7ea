//! Calls of cargo: building the programs and listing their content. The only part of a build that runs other programs.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail, ensure};
use cargo_metadata::{Message, Metadata, MetadataCommand};

use super::{Platform, Program, cross::CrossCompiler, platform::OperatingSystem, sbom};
use crate::oci::Architecture;

/// The workspace that is built.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
    cargo: PathBuf,
    cargo_home: Option<PathBuf>,
    target: PathBuf,
    /// Output of `cargo metadata`.
    metadata: Metadata,
}

impl Workspace {
    /// Reads cargo's metadata of the workspace at `root`.
    ///
    /// # Errors
    /// If cargo cannot be run, or `Cargo.lock` is not up to date.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let cargo = path_variable("CARGO").unwrap_or_else(|| "cargo".into());
        let metadata = MetadataCommand::new()
            .cargo_path(&cargo)
            .current_dir(root)
            .other_options(["--locked".to_owned()])
            .exec()
            .context("cargo metadata failed")?;
        let cargo_home = path_variable("CARGO_HOME").or_else(|| Some(path_variable("HOME")?.join(".cargo")));
        let target = metadata.target_directory.clone().into_std_path_buf();
        Ok(Self { root: metadata.workspace_root.clone().into(), cargo, cargo_home, target, metadata })
    }

    /// Root of the workspace.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's target directory.
    pub fn target_directory(&self) -> &Path {
        &self.target
    }

    /// Version of a crate of the workspace.
    pub fn package_version(&self, package: &str) -> Option<String> {
        let packages = self.metadata.workspace_packages();
        packages.into_iter().find(|p| p.name.as_str() == package).map(|p| p.version.to_string())
    }

    /// Whether the workspace has such a program.
    pub fn has_program(&self, program: &str) -> bool {
        let mut packages = self.metadata.workspace_packages().into_iter();
        packages
            .any(|p| p.name.as_str() == program && p.targets.iter().any(|t| t.is_bin() && t.name == program))
    }

    /// The Linux platforms that this machine can build for: those whose standard library is installed.
    ///
    /// # Errors
    /// If the compiler cannot be run, or no platform remains.
    pub fn list_platforms(&self) -> anyhow::Result<Vec<Platform>> {
        let installed = self.installed_targets()?;
        let found: Vec<_> = Architecture::ALL
            .into_iter()
            .filter(|architecture| has_library(&installed, architecture.target_triple()))
            .map(Platform::linux)
            .collect();
        ensure!(
            !found.is_empty(),
            "the compiler has no target to build for; install one with rustup target add {}",
            Architecture::ALL.map(Architecture::target_triple).join(" or ")
        );
        Ok(found)
    }

    /// Checks that this machine can build for a platform, before a build for another takes minutes.
    ///
    /// # Errors
    /// If the standard library or a compiler is missing.
    pub fn check_platform(&self, platform: Platform) -> anyhow::Result<()> {
        let target = platform.target_triple();
        // Cargo builds the standard library itself if this variable says so.
        ensure!(
            path_variable("CARGO_UNSTABLE_BUILD_STD").is_some()
                || has_library(&self.installed_targets()?, target),
            "{platform} needs Rust's standard library for {target}; install it with rustup target add {target}, or leave out {platform}"
        );
        CrossCompiler::find(platform).map(|_| ())
    }

    /// Directory with a folder for each installed target of the compiler.
    fn installed_targets(&self) -> anyhow::Result<PathBuf> {
        let output = Command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(&self.root)
            .output()
            .context("cannot run rustc")?;
        let sysroot = String::from_utf8(output.stdout).context("rustc names no sysroot")?;
        Ok(Path::new(sysroot.trim()).join("lib/rustlib"))
    }

    /// Builds a program, which prints `commit` with its version, and its bill of materials.
    ///
    /// # Errors
    /// If the build fails.
    pub fn build_program(
        &self,
        program: &str,
        platform: Platform,
        commit: Option<&str>,
    ) -> anyhow::Result<Program> {
        let target = platform.target_triple();
        let compiler = CrossCompiler::find(platform)?;
        let output = Command::new(&self.cargo)
            .arg(compiler.subcommand)
            .args(cargo_arguments(program))
            .args(["--target", target, "--message-format", "json-render-diagnostics"])
            .env("CARGO_ENCODED_RUSTFLAGS", self.rust_flags(platform))
            .envs(compiler.variables)
            .env_remove("RUSTFLAGS")
            // Set even if the commit is unknown: git is not asked a second time, and the same arguments give the same bytes.
            .env("TESTPLATFORM_COMMIT", commit.unwrap_or_default())
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
        if platform.is_native() {
            verify_start(executable.as_std_path())?;
        }
        let bytes = fs::read(&executable).with_context(|| format!("cannot read {executable}"))?;
        Ok(Program { bytes, sbom: self.describe_program(program, platform)? })
    }

    /// Reads a program that was built before.
    ///
    /// # Errors
    /// If the file cannot be read, or is no program that an image can contain.
    pub fn read_program(&self, program: &str, file: &Path) -> anyhow::Result<Program> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let platform = Platform::of_program(&bytes)
            .with_context(|| format!("{} cannot be packed as {program}", file.display()))?;
        Ok(Program { bytes, sbom: self.describe_program(program, platform)? })
    }

    fn describe_program(&self, program: &str, platform: Platform) -> anyhow::Result<Vec<u8>> {
        let output = Command::new(&self.cargo)
            .args(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"])
            .args(["--format", "{p}", "--package", program, "--target", platform.target_triple()])
            .current_dir(&self.root)
            .output()
            .context("cannot run cargo")?;
        if !output.status.success() {
            bail!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let lock = fs::read_to_string(self.root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
        sbom::build_bill(program, &self.metadata, &String::from_utf8_lossy(&output.stdout), &lock)
    }

    /// Compiler flags for a static program without the paths of this machine, which would end up in panic messages and change the bytes.
    /// Crates get the same name in every location: in cargo's home, below the name of a registry or its mirror, or in `vendor/` (with
    /// `--versioned-dirs`). rustc uses the last prefix that matches.
    fn rust_flags(&self, platform: Platform) -> OsString {
        let mut prefixes = vec![(self.root.clone(), "/src"), (self.root.join("vendor"), "/cargo")];
        if let Some(home) = &self.cargo_home {
            prefixes.push((home.clone(), "/cargo"));
            let sources = fs::read_dir(home.join("registry/src")).into_iter().flatten();
            prefixes.extend(sources.flatten().map(|source| (source.path(), "/cargo")));
        }
        prefixes.push((self.target.clone(), "/target"));
        let mut flags = OsString::from("-Ctarget-feature=+crt-static");
        // The kernel chooses the load address of a program, so thousands of addresses are relocated at start. As ranges they take 3 % less
        // of the file. C libraries support that since glibc 2.36.
        if platform.os == OperatingSystem::Linux {
            flags.push("\x1f-Clink-arg=-Wl,-z,pack-relative-relocs");
        }
        // Many generic functions compile to the same instructions for several types. rustc's own linker, its default for this architecture
        // alone, merges them. No code here compares function addresses.
        if platform == Platform::linux(Architecture::Amd64) {
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

fn has_library(installed: &Path, target: &str) -> bool {
    installed.join(target).join("lib").is_dir()
}

/// Runs a static program once. It contains this machine's C library, which may be too old for the link flags; the program then crashes at
/// start.
fn verify_start(program: &Path) -> anyhow::Result<()> {
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

/// Arguments of cargo that build a program, on every machine.
pub const fn cargo_arguments(program: &str) -> [&str; 6] {
    ["--locked", "--release", "--package", program, "--bin", program]
}

/// The commit that is checked out at `root`, with `-dirty` if files differ from it; none without git.
pub fn read_revision(root: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "HEAD"])?;
    let clean = git(&["status", "--porcelain"])?.is_empty();
    Some(if clean { commit } else { format!("{commit}-dirty") })
}

fn path_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
