//! The command line of `cargo xpkg sync`.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::Value;

use super::{
    Change, Crd, Difference, compare,
    compatibility::{in_words, is_cosmetic, verdict},
    differences::told,
    read_crd, read_differences, spec_of_xrd, unexpected, unsafe_statuses, unsafe_versions,
    with_our_descriptions,
};
use testplatform_apis::yaml::sort_keys;

use crate::{bump::schema::Verdict, registry::command::download};

/// Take over what changed in the `EphemeralCluster` CRD, and say what that means to claims that exist.
///
/// The structure of spec.ciOperator is the CRD's; our descriptions stay, and so do the differences that package/sync/differences.yaml lists.
/// Of the CRD's status and versions it says what would refuse or lose what is written and stored.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// The CRD ephemeralclusters.ci.openshift.io, as a file or an https address.
    #[arg(long, value_name = "FILE|URL")]
    crd: String,
    /// Change nothing; exit with 3 if the CRD says something else than our schema.
    #[arg(long)]
    check: bool,
    /// The CRD that the hub has now, as a file or an https address: check what an update to the other one does to stored objects, too.
    #[arg(long, value_name = "FILE|URL", requires = "check", conflicts_with = "xrd")]
    running: Option<String>,
    /// Take over a CRD that breaks claims in flight.
    #[arg(long, conflicts_with = "check")]
    accept_breaking: bool,
    /// Check this XRD instead of ours. The list of differences is about ours, so none is allowed for.
    #[arg(long, value_name = "FILE", requires = "check")]
    xrd: Option<PathBuf>,
}

const SCHEMA: &str = "apis/src/ci_operator.schema.json";
const XRD: &str = "xrds/xtestplatformclusters.ci.openshift.org.yaml";
const SHIPPED: &str = "crds/ephemeralclusters.ci.openshift.io.yaml";
const DIFFERENCES: &str = "sync/differences.yaml";

/// Compares, updates and prints; false if `--check` found drift, or if the CRD was refused.
///
/// # Errors
/// If something cannot be read. Nothing is changed then.
pub fn run(arguments: &Arguments, package: &Path, out: &mut impl Write) -> anyhow::Result<bool> {
    let crd = definition(&arguments.crd)?;
    if let Some(xrd) = &arguments.xrd {
        let theirs = spec_of_xrd(&xrd.display().to_string(), &read(xrd)?)?;
        let drift: Vec<_> = structural(compare("spec", &crd.spec, &theirs)).iter().map(told).collect();
        return report(out, &drift, &format!("{} is in step with the CRD", xrd.display()));
    }
    let path = package.parent().unwrap_or(package).join(SCHEMA);
    let ours: Value =
        serde_json::from_str(&read(&path)?).with_context(|| format!("{} is not JSON", path.display()))?;
    let changes = structural(compare("spec.ciOperator", &ours, crd.ci_operator()));
    if arguments.check {
        let mut drift: Vec<_> =
            changes.iter().map(|change| format!("{change} ({})", in_words(verdict(change)))).collect();
        // While the data lags behind, the XRD does too, and would repeat all of it.
        if drift.is_empty() {
            drift = beside_the_block(&crd, package, |_| true)?;
        }
        let running = arguments.running.as_deref().map(definition).transpose()?;
        drift.extend(beside_the_spec(&crd, running.as_ref(), package)?);
        return report(out, &drift, "in step with the CRD; every difference is a listed one");
    }
    if changes.is_empty() {
        writeln!(out, "{SCHEMA} is up to date")?;
    } else {
        for change in &changes {
            writeln!(out, "{change} ({})", in_words(verdict(change)))?;
        }
        let worst = changes.iter().map(verdict).max();
        if worst == Some(Verdict::Breaking) && !arguments.accept_breaking {
            writeln!(
                out,
                "{SCHEMA} is left as it is, because this CRD breaks claims in flight; is it an old one? With --accept-breaking it is taken over"
            )?;
            return Ok(false);
        }
        let updated = sort_keys(&with_our_descriptions(crd.ci_operator(), &ours));
        let mut text = serde_json::to_string_pretty(&updated)?;
        text.push('\n');
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        let worst = worst.map_or("", in_words);
        writeln!(out, "wrote {SCHEMA}: {worst}; now run `cargo xpkg generate`")?;
    }
    // What is not in the block is ours to write: sync can only tell.
    let mut by_hand = beside_the_block(&crd, package, |path| !path.starts_with("spec.ciOperator"))?;
    by_hand.extend(beside_the_spec(&crd, None, package)?);
    for text in by_hand {
        writeln!(out, "by hand: {text}")?;
    }
    Ok(true)
}

/// Reads the CRD from a file or an address.
fn definition(name: &str) -> anyhow::Result<Crd> {
    let text = if name.contains("://") {
        String::from_utf8(download(name)?).with_context(|| format!("{name}:1: not text"))?
    } else {
        read(Path::new(name))?
    };
    read_crd(name, &text)
}

/// Dangers to statuses and stored objects.
fn beside_the_spec(crd: &Crd, running: Option<&Crd>, package: &Path) -> anyhow::Result<Vec<String>> {
    let shipped = package.join(SHIPPED);
    let ours = read_crd(&shipped.display().to_string(), &read(&shipped)?)?;
    let mut found = unsafe_statuses(&crd.status, &ours.status, &listed(package)?);
    found.extend(unsafe_versions(crd, running));
    Ok(found)
}

fn listed(package: &Path) -> anyhow::Result<Vec<Difference>> {
    let list = package.join(DIFFERENCES);
    read_differences(&read(&list)?).with_context(|| list.display().to_string())
}

/// What our XRD says differently from the CRD and the list does not mean.
fn beside_the_block(crd: &Crd, package: &Path, counts: impl Fn(&str) -> bool) -> anyhow::Result<Vec<String>> {
    let xrd = package.join(XRD);
    let claim = spec_of_xrd(&xrd.display().to_string(), &read(&xrd)?)?;
    let mut list = listed(package)?;
    list.retain(|difference| !difference.is_of_status());
    let mut changes = compare("spec", &crd.spec, &claim);
    changes.retain(|change| counts(&change.path));
    // One that means the block alone cannot be missed where the block is left out.
    list.retain(|difference| counts(&difference.at));
    Ok(unexpected(&changes, &list, &claim))
}

fn structural(mut changes: Vec<Change>) -> Vec<Change> {
    changes.retain(|change| !is_cosmetic(change));
    changes
}

fn report(out: &mut impl Write, drift: &[String], clean: &str) -> anyhow::Result<bool> {
    for line in drift {
        writeln!(out, "drift: {line}")?;
    }
    if drift.is_empty() {
        writeln!(out, "{clean}")?;
    }
    Ok(drift.is_empty())
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
