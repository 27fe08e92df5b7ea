//! `cargo xpkg`: see the library for what it makes.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use testplatform_package::bump;

/// Makes what users install.
#[derive(Parser)]
#[command(name = "cargo xpkg", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the XRD and the schema of the function's input, made from the types, and print the files that changed.
    Generate {
        /// Directory to write into.
        #[arg(long, default_value = env!("CARGO_MANIFEST_DIR"), value_name = "DIRECTORY", hide_default_value = true)]
        output: PathBuf,
    },
    Bump(Box<bump::command::Bump>),
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            error.print().context("cannot print")?;
            // 2 means a change here, so a mistake on the command line is 1 as every other error.
            return Ok(ExitCode::from(u8::from(error.use_stderr())));
        }
    };
    match arguments.command {
        Command::Generate { output } => {
            let files = testplatform_package::generate()?;
            let written = testplatform_package::write(&output, &files)?;
            let mut out = std::io::stdout().lock();
            print(&mut out, &output, files.len(), &written).context("cannot print")?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Bump(arguments) => {
            let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr().lock());
            bump::command::run(&arguments, &mut out, &mut err, now())
                .map(ExitCode::from)
                .context("cannot print")
        }
    }
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
