//! The command line of `cargo xpkg generate offers`.

use std::{collections::BTreeSet, fs, io::Write, path::PathBuf};

use anyhow::Context as _;
use testplatform_apis::{names::ObjectName, offer};

use super::{config_map, generate_offers};

/// Write ConfigMap testplatform-offers, what may be asked for, out of the catalogues of templates and pools. Exits with 0 if it is
/// written or up to date. Exits with 3 if a catalogue has a flaw or names a hub or a tenant, or if --check finds another file. Exits with 1
/// after any other error. Nothing is written but with 0.
#[derive(clap::Args, Clone, Debug)]
pub struct OffersArgs {
    /// YAML files: entries of the catalogue of templates, catalogues of pools, and ProviderConfigs, so that their names are not said.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// File to write; without it the ConfigMap is printed.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write nothing, and exit with 3 if the file is not what would be written.
    #[arg(long, requires = "output")]
    check: bool,
    /// Namespace of the ConfigMap.
    #[arg(long, default_value = offer::NAMESPACE, value_parser = parse_namespace)]
    namespace: String,
    /// A name of a hub or a tenant that offers may say, because it is a word like any other. May be given several times.
    #[arg(long, value_name = "WORD")]
    may_say: Vec<String>,
}

fn parse_namespace(text: &str) -> Result<String, String> {
    let fits = text.len() <= 63 && !text.contains('.') && ObjectName::try_from(text).is_ok();
    if fits { Ok(text.to_owned()) } else { Err("is not a name of a namespace".to_owned()) }
}

/// Builds the ConfigMap; false if there is a problem.
///
/// # Errors
/// If a file cannot be read or written, or the ConfigMap would be too large.
pub fn run(arguments: &OffersArgs, out: &mut impl Write) -> anyhow::Result<bool> {
    let read = |path: &PathBuf| -> anyhow::Result<(String, String)> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((path.display().to_string(), text))
    };
    let texts: Vec<(String, String)> = arguments.files.iter().map(read).collect::<Result<_, _>>()?;
    let sayable: BTreeSet<String> = arguments.may_say.iter().map(|word| word.to_lowercase()).collect();
    let made = match generate_offers(&texts, &sayable) {
        Ok(made) => made,
        Err(problems) => {
            for problem in &problems {
                writeln!(out, "{problem}").context("cannot print")?;
            }
            return Ok(false);
        }
    };
    let text = config_map(&made.offers, &arguments.namespace)?;
    let Some(path) = &arguments.output else {
        out.write_all(text.as_bytes()).context("cannot print")?;
        return Ok(true);
    };
    let same = fs::read_to_string(path).is_ok_and(|there| there == text);
    if !same && !arguments.check {
        fs::write(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let path = path.display();
    let done = match (same, arguments.check) {
        (true, _) => format!("{path} is up to date"),
        (false, false) => format!("wrote {path}"),
        (false, true) => format!("error: {path} is not what the catalogues say: run this without --check"),
    };
    let number = made.offers.offers.len();
    let all = made.omitted.iter().map(|what| format!("left out {what}"));
    for line in all.chain([format!("{done}, {number} offer{}", if number == 1 { "" } else { "s" })]) {
        writeln!(out, "{line}").context("cannot print")?;
    }
    Ok(same || !arguments.check)
}
