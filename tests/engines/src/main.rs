//! `cargo engines`: lists, obtains, checks and removes the engine programs that this machine has cached.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::SystemTime,
};

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use jiff::Timestamp;
use testplatform_engines::{
    Engines, Entry, Origin, Pins, archive_name,
    artifacts::{MODULES, find_artifact},
    write_archive,
};

/// Engine programs of the testbed, cached once per machine. Without a command: list them.
#[derive(Parser)]
#[command(name = "cargo engines", bin_name = "cargo engines", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// List every cached program with its size, age and state.
    List,
    /// Obtain the programs that are missing: download or build them.
    Build {
        /// Programs to obtain; all of them if none is named.
        names: Vec<String>,
    },
    /// Compare every cached file with its recorded digest; exit code 1 if one differs.
    Verify,
    /// Remove every cached program.
    Clear {
        /// Remove only those that this checkout does not use.
        #[arg(long)]
        stale: bool,
    },
    /// Write release archives of the cached programs into a directory.
    Archive {
        directory: PathBuf,
        /// Record their digests in tests/engines/archives.json.
        #[arg(long)]
        pin: bool,
    },
}

fn main() -> ExitCode {
    let command = Arguments::parse().command.unwrap_or(Command::List);
    match Engines::from_environment().and_then(|engines| run(&engines, command)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(engines: &Engines, command: Command) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    match command {
        Command::List => list(engines, &mut out)?,
        Command::Build { names } => {
            let all = MODULES.iter().flat_map(|module| module.artifacts).map(|artifact| artifact.name);
            let names: Vec<&str> =
                if names.is_empty() { all.collect() } else { names.iter().map(String::as_str).collect() };
            for (name, path) in engines.ensure(&names)? {
                writeln!(out, "{name:24} {}", path.display())?;
            }
        }
        Command::Verify => return verify(engines, &mut out),
        Command::Clear { stale } => clear(engines, stale, &mut out)?,
        Command::Archive { directory, pin } => archive(engines, &directory, pin, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(engines: &Engines, out: &mut impl io::Write) -> anyhow::Result<()> {
    writeln!(out, "{:26}{:>9}  {:12} {:18} STATE", "PROGRAM", "SIZE", "SOURCE", "CACHED")?;
    let entries = engines.cache().entries();
    for entry in &entries {
        let key = &entry.record.key;
        let source = match entry.record.origin {
            Origin::Built => key.go.as_deref().unwrap_or("built"),
            Origin::Downloaded => "downloaded",
        };
        let state = if is_current(engines, entry)? { "current" } else { "stale" };
        let size = megabytes(entry.record.size());
        writeln!(out, "{:26}{size:>9}  {source:12} {:18} {state}", key.artifact, cached_at(entry))?;
    }
    for artifact in MODULES.iter().flat_map(|module| module.artifacts) {
        if !entries.iter().any(|entry| entry.record.key.artifact == artifact.name) {
            writeln!(out, "{:26}{:>9}  {:12} {:18} missing", artifact.name, "", "", "")?;
        }
    }
    let total = entries.iter().map(|entry| entry.record.size()).sum();
    writeln!(out, "{} in {}", megabytes(total), engines.cache().root().display())?;
    Ok(())
}

/// Whether this checkout would use the entry.
fn is_current(engines: &Engines, entry: &Entry) -> anyhow::Result<bool> {
    let recorded = &entry.record.key;
    let Some((module, artifact)) = find_artifact(&recorded.artifact) else { return Ok(false) };
    let key = engines.key(module, artifact)?;
    let same = (&key.sources, &key.platform) == (&recorded.sources, &recorded.platform);
    Ok(same && (key.go.is_none() || recorded.go.is_none() || key.go == recorded.go))
}

fn cached_at(entry: &Entry) -> String {
    let modified = entry.directory.metadata().and_then(|metadata| metadata.modified()).ok();
    let time = modified.and_then(|it: SystemTime| Timestamp::try_from(it).ok());
    time.map(|it| it.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default()
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

fn verify(engines: &Engines, out: &mut impl io::Write) -> anyhow::Result<ExitCode> {
    let mut damaged = 0;
    for entry in engines.cache().entries() {
        match entry.verify() {
            Ok(()) => writeln!(out, "{:26} ok", entry.record.key.artifact)?,
            Err(error) => {
                damaged += 1;
                writeln!(out, "{:26} {error:#}", entry.record.key.artifact)?;
            }
        }
    }
    Ok(if damaged == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn clear(engines: &Engines, stale: bool, out: &mut impl io::Write) -> anyhow::Result<()> {
    let cache = engines.cache();
    let lock = cache.lock()?;
    let removed = if stale {
        let mut removed = 0;
        for entry in cache.entries() {
            if !is_current(engines, &entry)? {
                cache.remove(&lock, &entry)?;
                removed += 1;
            }
        }
        removed
    } else {
        cache.clear(&lock)?
    };
    writeln!(out, "removed {removed} entries from {}", cache.root().display())?;
    Ok(())
}

fn archive(
    engines: &Engines,
    directory: &PathBuf,
    pin: bool,
    out: &mut impl io::Write,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let mut pins = Pins::read()?;
    for entry in engines.cache().entries() {
        if !is_current(engines, &entry)? {
            continue;
        }
        let name = archive_name(&entry.record.key);
        let sha256 = write_archive(&entry, &directory.join(&name))?;
        writeln!(out, "{sha256}  {name}")?;
        pins.set(&entry.record.key, sha256);
    }
    if pin { pins.write() } else { Ok(()) }
}
