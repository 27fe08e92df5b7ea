//! The command line of `cargo xpkg sync`.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::Value;

use super::{
    Change, Crd, Difference,
    compatibility::{describe_verdict, evaluate_change, is_cosmetic},
    diff_schemas,
    differences::describe_change,
    keep_descriptions, list_unexpected, read_crd, read_differences, spec_of_xrd, unsafe_statuses,
    unsafe_versions,
};
use testplatform_apis::yaml::sort_keys;

use crate::{bump::schema::Verdict, registry::command::download_file};

/// Adopt changes of the `EphemeralCluster` CRD, and report their effect on existing claims.
///
/// The structure of spec.ciOperator is the CRD's; our descriptions stay, and so do the differences that package/sync/differences.yaml lists.
/// Of the CRD's status and versions it says what would refuse or lose what is written and stored.
#[derive(clap::Args, Clone, Debug)]
pub struct SyncArgs {
    /// The CRD ephemeralclusters.ci.openshift.io, as a file or an https address.
    #[arg(long, value_name = "FILE|URL")]
    crd: String,
    /// Change nothing; exit with 3 if the CRD differs from our schema.
    #[arg(long)]
    check: bool,
    /// The CRD that the hub has now, as a file or an https address: check what an update to the other one does to stored objects, too.
    #[arg(long, value_name = "FILE|URL", requires = "check", conflicts_with = "xrd")]
    running: Option<String>,
    /// Adopt a CRD that breaks claims in flight.
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

/// Compares, updates and prints; false if `--check` found drift, or the CRD was refused.
///
/// # Errors
/// If an input cannot be read. Nothing is changed then.
pub fn run(arguments: &SyncArgs, package: &Path, out: &mut impl Write) -> anyhow::Result<bool> {
    let crd = read_definition(&arguments.crd)?;
    if let Some(xrd) = &arguments.xrd {
        let theirs = spec_of_xrd(&xrd.display().to_string(), &read_text(xrd)?)?;
        let drift: Vec<_> = structural_changes(diff_schemas("spec", &crd.spec, &theirs))
            .iter()
            .map(describe_change)
            .collect();
        return print_drift(out, &drift, &format!("{} is in step with the CRD", xrd.display()));
    }
    let path = package.parent().unwrap_or(package).join(SCHEMA);
    let ours: Value = serde_json::from_str(&read_text(&path)?)
        .with_context(|| format!("{} is not JSON", path.display()))?;
    let changes = structural_changes(diff_schemas("spec.ciOperator", &ours, crd.ci_operator()));
    if arguments.check {
        let mut drift: Vec<_> = changes
            .iter()
            .map(|change| format!("{change} ({})", describe_verdict(evaluate_change(change))))
            .collect();
        // Outdated data also makes the XRD outdated, which would repeat all changes.
        if drift.is_empty() {
            drift = compare_remaining_spec(&crd, package, |_| true)?;
        }
        let running = arguments.running.as_deref().map(read_definition).transpose()?;
        drift.extend(check_status_and_versions(&crd, running.as_ref(), package)?);
        return print_drift(out, &drift, "in step with the CRD; every difference is a listed one");
    }
    if changes.is_empty() {
        writeln!(out, "{SCHEMA} is up to date")?;
    } else {
        for change in &changes {
            writeln!(out, "{change} ({})", describe_verdict(evaluate_change(change)))?;
        }
        let worst = changes.iter().map(evaluate_change).max();
        if worst == Some(Verdict::Breaking) && !arguments.accept_breaking {
            writeln!(
                out,
                "{SCHEMA} is left as it is, because this CRD breaks claims in flight; is it an old one? With --accept-breaking it is taken over"
            )?;
            return Ok(false);
        }
        let updated = sort_keys(&keep_descriptions(crd.ci_operator(), &ours));
        let mut text = serde_json::to_string_pretty(&updated)?;
        text.push('\n');
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        let worst = worst.map_or("", describe_verdict);
        writeln!(out, "wrote {SCHEMA}: {worst}; now run `cargo xpkg generate`")?;
    }
    // The rest of the spec is written by hand: sync only reports it.
    let mut by_hand = compare_remaining_spec(&crd, package, |path| !path.starts_with("spec.ciOperator"))?;
    by_hand.extend(check_status_and_versions(&crd, None, package)?);
    for text in by_hand {
        writeln!(out, "by hand: {text}")?;
    }
    Ok(true)
}

/// Reads the CRD from a file or a URL.
fn read_definition(name: &str) -> anyhow::Result<Crd> {
    let text = if name.contains("://") {
        String::from_utf8(download_file(name)?).with_context(|| format!("{name}:1: not text"))?
    } else {
        read_text(Path::new(name))?
    };
    read_crd(name, &text)
}

/// Finds dangers to statuses and stored objects.
fn check_status_and_versions(
    crd: &Crd,
    running: Option<&Crd>,
    package: &Path,
) -> anyhow::Result<Vec<String>> {
    let shipped = package.join(SHIPPED);
    let ours = read_crd(&shipped.display().to_string(), &read_text(&shipped)?)?;
    let mut found = unsafe_statuses(&crd.status, &ours.status, &read_listed(package)?);
    found.extend(unsafe_versions(crd, running));
    Ok(found)
}

fn read_listed(package: &Path) -> anyhow::Result<Vec<Difference>> {
    let list = package.join(DIFFERENCES);
    read_differences(&read_text(&list)?).with_context(|| list.display().to_string())
}

/// Differences between our XRD and the CRD that the list does not contain.
fn compare_remaining_spec(
    crd: &Crd,
    package: &Path,
    counts: impl Fn(&str) -> bool,
) -> anyhow::Result<Vec<String>> {
    let xrd = package.join(XRD);
    let claim = spec_of_xrd(&xrd.display().to_string(), &read_text(&xrd)?)?;
    let mut list = read_listed(package)?;
    list.retain(|difference| !difference.is_of_status());
    let mut changes = diff_schemas("spec", &crd.spec, &claim);
    changes.retain(|change| counts(&change.path));
    // A listed difference of the block alone is not stale here, because the block is excluded.
    list.retain(|difference| counts(&difference.at));
    Ok(list_unexpected(&changes, &list, &claim))
}

fn structural_changes(mut changes: Vec<Change>) -> Vec<Change> {
    changes.retain(|change| !is_cosmetic(change));
    changes
}

fn print_drift(out: &mut impl Write, drift: &[String], clean: &str) -> anyhow::Result<bool> {
    for line in drift {
        writeln!(out, "drift: {line}")?;
    }
    if drift.is_empty() {
        writeln!(out, "{clean}")?;
    }
    Ok(drift.is_empty())
}

fn read_text(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
