//! `cargo xpkg`: see the library for its output.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use jiff::Timestamp;
use testplatform_package::{build, bump, check, hub, offers, registry, release, signature, sync};

/// Builds and checks what users install.
#[derive(Parser)]
#[command(name = "cargo xpkg", bin_name = "cargo xpkg", version = testplatform_version::version!())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the CRD, the XRD, the schema of the function's input and the packages' metadata, and print the files that changed.
    #[command(args_conflicts_with_subcommands = true)]
    Generate {
        /// Directory to write into.
        #[arg(long, default_value = env!("CARGO_MANIFEST_DIR"), value_name = "DIRECTORY", hide_default_value = true)]
        output: PathBuf,
        #[command(subcommand)]
        other: Option<GenerateTarget>,
    },
    Build(Box<build::command::BuildArgs>),
    Push(registry::command::PushArgs),
    Check(check::command::CheckArgs),
    Sync(sync::command::SyncArgs),
    Bump(Box<bump::command::BumpArgs>),
    HubKubeconfig(hub::command::HubKubeconfigArgs),
    Notes(release::command::NotesArgs),
    Checksums(release::command::ChecksumsArgs),
    Krew(release::command::KrewArgs),
    Sign(signature::command::SignArgs),
    Verify(signature::command::VerifyArgs),
}

/// Files that are generated from other sources than the types.
#[derive(Subcommand)]
enum GenerateTarget {
    Offers(offers::command::OffersArgs),
}

/// Directory of this crate: the tool runs in the checkout that it was built in.
const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");
/// Exit code for problems found by `check`, `verify`, `sync` and `generate offers`. Every other failure is 1, also on the command line.
const EXIT_PROBLEMS: u8 = 3;

fn main() -> ExitCode {
    let arguments = match Cli::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // For `bump` 2 means a change, so a mistake on the command line is 1 like every other error. A failed print cannot be reported
            // to anyone.
            let _ = error.print();
            return ExitCode::from(u8::from(error.use_stderr()));
        }
    };
    run(arguments.command).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let clean = match command {
        Command::Generate { other: Some(GenerateTarget::Offers(arguments)), .. } => {
            offers::command::run(&arguments, &mut out)?
        }
        Command::Generate { output, other: None } => {
            let files = testplatform_package::generate_files()?;
            let written = testplatform_package::write_files(&output, &files)?;
            print_written(&mut out, &output, files.len(), &written).context("cannot print")?;
            true
        }
        Command::Build(arguments) => {
            build::command::run(&arguments, PACKAGE.as_ref(), &mut out).map(|()| true)?
        }
        Command::Push(arguments) => registry::command::run(&arguments, &mut out).map(|()| true)?,
        Command::Check(arguments) => {
            check::command::run(&arguments, &mut out, Timestamp::from_second(unix_now())?)?
        }
        Command::Sync(arguments) => sync::command::run(&arguments, PACKAGE.as_ref(), &mut out)?,
        Command::HubKubeconfig(arguments) => {
            hub::command::run(&arguments, &mut out, Timestamp::from_second(unix_now())?).map(|()| true)?
        }
        Command::Notes(arguments) => {
            let root = Path::new(PACKAGE).parent().context("the crate lies in no workspace")?;
            release::command::print_notes(&arguments, root, &mut out).map(|()| true)?
        }
        Command::Checksums(arguments) => {
            release::command::write_checksums(&arguments, &mut out).map(|()| true)?
        }
        Command::Krew(arguments) => release::command::write_krew(&arguments, &mut out).map(|()| true)?,
        Command::Sign(arguments) => signature::command::sign(&arguments, &mut out).map(|()| true)?,
        Command::Verify(arguments) => signature::command::verify(&arguments, &mut out)?,
        Command::Bump(arguments) => {
            let mut err = std::io::stderr().lock();
            return bump::command::run(&arguments, &mut out, &mut err, unix_now())
                .map(ExitCode::from)
                .context("cannot print");
        }
    };
    Ok(if clean { ExitCode::SUCCESS } else { EXIT_PROBLEMS.into() })
}

/// Unix seconds.
#[expect(clippy::disallowed_methods, reason = "the clock is read here and handed on")]
fn unix_now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn print_written(
    out: &mut impl std::io::Write,
    output: &std::path::Path,
    all: usize,
    written: &[PathBuf],
) -> std::io::Result<()> {
    for path in written {
        writeln!(out, "wrote {}", path.strip_prefix(output).unwrap_or(path).display())?;
    }
    if written.is_empty() {
        writeln!(out, "{all} files are up to date")?;
    }
    Ok(())
}
