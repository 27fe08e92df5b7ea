//! The Go toolchain: its version, and builds with it.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};

use crate::{
    artifacts::{Artifact, Content, GoModule, repository},
    report,
};

/// Flags of every build: reproducible paths, and no debugging information, which would take a twentieth of the time.
pub(crate) const BUILD_FLAGS: [&str; 4] =
    ["-mod=readonly", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false"];
/// Garbage collection of Go's compiler, in percent. At its default of 100 it takes a quarter of the compiler's time.
const COMPILER_GOGC: &str = "400";
/// Interval between messages that a build is still running.
const HEARTBEAT: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(100);

/// The `go` command and its version.
#[derive(Clone, Debug)]
pub struct Toolchain {
    go: PathBuf,
    /// As `go env GOVERSION` prints it: `go1.26.8`.
    pub version: String,
}

/// The platform of this machine, as Go names it.
#[must_use]
pub fn platform() -> String {
    let (os, architecture) = go_platform();
    format!("{os}-{architecture}")
}

fn go_platform() -> (&'static str, &'static str) {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        architecture => architecture,
    };
    (os, architecture)
}

impl Toolchain {
    /// The toolchain that builds a module, or none if `go` cannot be run.
    #[must_use]
    pub fn detect(go: &Path, module: &GoModule) -> Option<Self> {
        let toolchain = Self { go: go.to_owned(), version: String::new() };
        let version = toolchain.run(module, &["env", "GOVERSION"]).ok()?;
        Some(Self { version: version.trim().to_owned(), ..toolchain })
    }

    /// Builds programs of one module into `directory/<artifact>/bin`, and copies manifests into `directory/<artifact>/crds`.
    ///
    /// # Errors
    ///
    /// If Go fails; the error has the end of its output.
    pub fn build(&self, module: &GoModule, artifacts: &[&Artifact], directory: &Path) -> anyhow::Result<()> {
        self.build_programs(module, artifacts, directory)?;
        for artifact in artifacts {
            let to = directory.join(artifact.name).join("crds");
            match artifact.content {
                Content::Program { .. } => {}
                Content::Manifests { module: source, directory: below } => {
                    copy_yaml(&self.module_directory(module, source)?.join(below), &to)?;
                }
                Content::Configurations { of, .. } => {
                    for one in of {
                        let from = self.module_directory(module, one.module)?.join(one.directory);
                        copy_yaml(&from.join("crd/bases"), &to.join(one.name).join("crds"))?;
                        copy_file(
                            &from.join("webhook/manifests.yaml"),
                            &to.join(one.name).join("webhooks.yaml"),
                        )?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Directory of a Go module that this one requires.
    fn module_directory(&self, module: &GoModule, required: &str) -> anyhow::Result<PathBuf> {
        let root = self.run(module, &["list", "-m", "-f", "{{.Dir}}", required])?;
        Ok(PathBuf::from(root.trim()))
    }

    fn build_programs(
        &self,
        module: &GoModule,
        artifacts: &[&Artifact],
        directory: &Path,
    ) -> anyhow::Result<()> {
        let programs: Vec<_> = artifacts
            .iter()
            .filter_map(|artifact| match artifact.content {
                Content::Program { package, output, .. } => Some((artifact.name, package, output)),
                Content::Manifests { .. } | Content::Configurations { .. } => None,
            })
            .collect();
        if programs.is_empty() {
            return Ok(());
        }
        let mut linker_flags = "-s -w".to_owned();
        for (variable, source) in module.versions {
            let version = self.run(module, &["list", "-m", "-f", "{{.Version}}", source])?;
            linker_flags = format!("{linker_flags} -X {variable}={}", version.trim());
        }
        for (variable, value) in module.linker_values {
            linker_flags = format!("{linker_flags} -X {variable}={value}");
        }
        let names: Vec<_> = programs.iter().map(|(name, ..)| *name).collect();
        let names = names.join(", ");
        report(&format!("building {names}: once per machine, about {} on two cores", module.build_time));
        let started = Instant::now();
        for batch in distinct_outputs(programs) {
            let out = directory.join("out");
            fs::create_dir_all(&out)?;
            // One command for all of them: Go loads the packages that they share once.
            let mut command = self.command(module);
            command.arg("build").args(BUILD_FLAGS).args(["-ldflags", &linker_flags, "-o"]).arg(&out);
            command.args(batch.iter().map(|(_, package, _)| package));
            run_with_heartbeat(&mut command)
                .with_context(|| format!("cannot build {names} in {}", module.directory))?;
            for (name, _, output) in batch {
                let bin = directory.join(name).join("bin");
                fs::create_dir_all(&bin)?;
                fs::rename(out.join(output), bin.join(name))
                    .with_context(|| format!("go build made no {output}"))?;
            }
        }
        report(&format!("built {names} in {} s", started.elapsed().as_secs()));
        Ok(())
    }

    fn command(&self, module: &GoModule) -> Command {
        let (os, architecture) = go_platform();
        let mut command = Command::new(&self.go);
        command.current_dir(repository().join(module.directory)).envs([
            ("GOOS", os),
            ("GOARCH", architecture),
            ("CGO_ENABLED", "0"),
            ("GOGC", COMPILER_GOGC),
        ]);
        command
    }

    fn run(&self, module: &GoModule, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.command(module).args(arguments).output().context("cannot run go")?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("go {} failed in {}: {}", arguments.join(" "), module.directory, message.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Name, package and output of a program.
type Program = (&'static str, &'static str, &'static str);

/// Batches of programs, in each of which no two have the same output: `go build` would write one over the other.
fn distinct_outputs(programs: Vec<Program>) -> Vec<Vec<Program>> {
    let mut batches: Vec<Vec<Program>> = Vec::new();
    for program in programs {
        let has_output = |batch: &Vec<Program>| batch.iter().any(|(.., output)| *output == program.2);
        match batches.iter_mut().find(|batch| !has_output(batch)) {
            Some(batch) => batch.push(program),
            None => batches.push(vec![program]),
        }
    }
    batches
}

/// Runs a command, and reports once a minute that it is still running.
fn run_with_heartbeat(command: &mut Command) -> anyhow::Result<()> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run go")?;
    let mut pipe = child.stderr.take().context("go has no output")?;
    let output = thread::spawn(move || {
        let mut output = Vec::new();
        let _ = pipe.read_to_end(&mut output);
        String::from_utf8_lossy(&output).into_owned()
    });
    let (started, mut next) = (Instant::now(), HEARTBEAT);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() >= next {
            report(&format!("still building after {} min", next.as_secs() / 60));
            next += HEARTBEAT;
        }
        thread::sleep(POLL);
    };
    if status.success() {
        return Ok(());
    }
    let output = output.join().unwrap_or_default();
    let lower = output.to_lowercase();
    if ["no space left on device", "disk quota exceeded"].iter().any(|it| lower.contains(it)) {
        bail!(
            "the disk is full: building needs about 5 GB in Go's caches (GOCACHE, GOMODCACHE, TMPDIR), and 1 GB in the cache of \
             engine programs (XDG_CACHE_HOME)"
        );
    }
    let lines: Vec<_> = output.lines().collect();
    bail!("go build ended with {status}:\n{}", lines[lines.len().saturating_sub(20)..].join("\n"))
}

fn copy_yaml(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|e| e == "yaml")) {
            copy_file(&path, &to.join(name))?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> anyhow::Result<()> {
    // Not `copy`, which would make it read-only like the files in Go's module cache.
    let content = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    Ok(fs::write(to, content)?)
}
