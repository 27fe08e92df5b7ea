//! The command line of `cargo xpkg check`.

use std::{io::Write, path::Path};

use anyhow::Context as _;

use super::{is_bad, package};
use crate::{
    oci::layout,
    registry::{self, Reference, command::Connection},
};

/// Check what was built or installed. Exits with 3 if something is wrong, with 1 if it cannot be checked.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum Subject {
    /// Read a package as Crossplane's package manager does, and say everything that is wrong with it.
    Xpkg {
        /// An OCI layout (a folder), an archive (.xpkg), or a reference in a registry.
        #[arg(value_name = "FILE|REF")]
        package: String,
        #[command(flatten)]
        connection: Connection,
    },
}

/// Checks and prints; false if something is wrong.
///
/// # Errors
/// If the package cannot be had at all.
pub fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<bool> {
    let Subject::Xpkg { package: name, connection } = &arguments.subject;
    let path = Path::new(name);
    let artifact = if path.exists() {
        layout::open(path)?
    } else {
        let reference: Reference =
            name.parse().with_context(|| format!("{name} is no file here, and no reference either"))?;
        registry::command::pull(&reference, *connection)?
    };
    let (summary, problems) = package(&artifact);
    print(out, &artifact.root.digest, &summary, &problems).context("cannot print")?;
    Ok(!is_bad(&problems))
}

fn print(
    out: &mut impl Write,
    digest: &crate::oci::Digest,
    summary: &super::Summary,
    problems: &[super::Problem],
) -> std::io::Result<()> {
    let unknown = |text: &str| if text.is_empty() { "?".to_owned() } else { text.to_owned() };
    writeln!(out, "{} {} {digest}", unknown(&summary.kind), unknown(&summary.name))?;
    writeln!(out, "platforms: {}", unknown(&summary.platforms.join(", ")))?;
    for object in &summary.objects {
        writeln!(out, "has {object}")?;
    }
    for problem in problems {
        writeln!(out, "{problem}")?;
    }
    if problems.is_empty() {
        writeln!(out, "nothing is wrong with it")?;
    }
    Ok(())
}
