//! `cargo xpkg`: see the library for what it makes.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

/// Makes what users install.
#[derive(Parser)]
#[command(name = "cargo xpkg", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the CRD, the XRD and the schema of the function's input, made from the types, and print the files that changed.
    Generate {
        /// Directory to write into.
        #[arg(long, default_value = env!("CARGO_MANIFEST_DIR"), value_name = "DIRECTORY", hide_default_value = true)]
        output: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Generate { output } => {
            let files = testplatform_package::generate()?;
            let written = testplatform_package::write(&output, &files)?;
            let mut out = std::io::stdout().lock();
            print(&mut out, &output, files.len(), &written).context("cannot print")
        }
    }
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
