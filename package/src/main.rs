//! `cargo xpkg`: see the library for what it makes.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use testplatform_package::{build, check, registry, sync};

/// Makes what users install.
#[derive(Parser)]
#[command(name = "cargo xpkg", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the XRD, the schema of the function's input and the packages' metadata, and print the files that changed.
    Generate {
        /// Directory to write into.
        #[arg(long, default_value = env!("CARGO_MANIFEST_DIR"), value_name = "DIRECTORY", hide_default_value = true)]
        output: PathBuf,
    },
    Build(build::command::Arguments),
    Push(registry::command::Arguments),
    Check(check::command::Arguments),
    Sync(sync::command::Arguments),
}

/// Where the files of this crate are: the tool runs in the checkout that it was built in.
const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");
/// `check` and `sync --check` found something. Every other failure is 1, a command line that cannot be understood is 2.
const FOUND: u8 = 3;

fn main() -> ExitCode {
    run(Arguments::parse().command).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let clean = match command {
        Command::Generate { output } => {
            let files = testplatform_package::generate()?;
            let written = testplatform_package::write(&output, &files)?;
            print(&mut out, &output, files.len(), &written).context("cannot print")?;
            true
        }
        Command::Build(arguments) => {
            build::command::run(&arguments, PACKAGE.as_ref(), &mut out).map(|()| true)?
        }
        Command::Push(arguments) => registry::command::run(&arguments, &mut out).map(|()| true)?,
        Command::Check(arguments) => check::command::run(&arguments, &mut out)?,
        Command::Sync(arguments) => sync::command::run(&arguments, PACKAGE.as_ref(), &mut out)?,
    };
    Ok(if clean { ExitCode::SUCCESS } else { FOUND.into() })
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
