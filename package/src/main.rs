//! `cargo xpkg`: see the library for its output.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use jiff::Timestamp;
use testplatform_package::{build, bump, check, hub, offers, registry, sync};

/// Makes what users install.
#[derive(Parser)]
#[command(name = "cargo xpkg", bin_name = "cargo xpkg", version)]
struct Arguments {
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
        other: Option<Generated>,
    },
    Build(Box<build::command::Arguments>),
    Push(registry::command::Arguments),
    Check(check::command::Arguments),
    Sync(sync::command::Arguments),
    Bump(Box<bump::command::Bump>),
    HubKubeconfig(hub::command::Arguments),
}

/// What is made of other things than the types.
#[derive(Subcommand)]
enum Generated {
    Offers(offers::command::Arguments),
}

/// Directory of this crate: the tool runs in the checkout that it was built in.
const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");
/// Exit code for problems found by `check`, `sync` and `generate offers`. Every other failure is 1, also on the command line.
const FOUND: u8 = 3;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
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
        Command::Generate { other: Some(Generated::Offers(arguments)), .. } => {
            offers::command::run(&arguments, &mut out)?
        }
        Command::Generate { output, other: None } => {
            let files = testplatform_package::generate()?;
            let written = testplatform_package::write(&output, &files)?;
            print(&mut out, &output, files.len(), &written).context("cannot print")?;
            true
        }
        Command::Build(arguments) => {
            build::command::run(&arguments, PACKAGE.as_ref(), &mut out).map(|()| true)?
        }
        Command::Push(arguments) => registry::command::run(&arguments, &mut out).map(|()| true)?,
        Command::Check(arguments) => {
            check::command::run(&arguments, &mut out, Timestamp::from_second(now())?)?
        }
        Command::Sync(arguments) => sync::command::run(&arguments, PACKAGE.as_ref(), &mut out)?,
        Command::HubKubeconfig(arguments) => {
            hub::command::run(&arguments, &mut out, Timestamp::from_second(now())?).map(|()| true)?
        }
        Command::Bump(arguments) => {
            let mut err = std::io::stderr().lock();
            return bump::command::run(&arguments, &mut out, &mut err, now())
                .map(ExitCode::from)
                .context("cannot print");
        }
    };
    Ok(if clean { ExitCode::SUCCESS } else { FOUND.into() })
}

/// Unix seconds.
#[expect(clippy::disallowed_methods, reason = "the clock is read here and handed on")]
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn print(
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
