//! `check` and `report`, which are read-only.

use std::process::Command;

use super::{
    BTreeMap, BTreeSet, CHECK_FAILED, CheckoutArgs, Commit, Failure, Finding, FindingSeverity, Kustomization,
    Path, Problem, Tree, UNCHANGED, Write, check_upstream, disk, git, json, list_overlays, online,
    print_json, print_progress,
};
use crate::bump::{ReportRow, Rings, build_report};

/// Checks the checkout in its current state.
pub fn run_check(
    place: &CheckoutArgs,
    base: Option<&str>,
    render: Option<&Path>,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Result<u8, Failure> {
    let rings = place.read_rings()?;
    let crd = place.read_crd()?;
    let tree = disk::read_checkout(&place.repo, &place.component)?;
    let mut ranges = Vec::new();
    if let Some(clone) = &place.clone {
        let directories = place.pinned_directories(&tree, &rings);
        for commit in &pinned_commits(place, &tree, &rings) {
            if !git::has_commit(clone, commit)? {
                continue;
            }
            print_progress(err, &format!("reading {} from {}", commit.short(), clone.display()))?;
            ranges.push(git::read_range(clone, commit, commit, &directories)?);
        }
    }
    let mut context = place.build_context(&rings, &ranges)?;
    if let Some(base) = base {
        context.changed = git::changed_files(&place.repo, base)?;
    }
    let mut findings = crate::bump::run_checks(&tree, &context);
    for range in &ranges {
        let at = |finding: Finding| Finding {
            message: format!("{}: {}", range.to.short(), finding.message),
            ..finding
        };
        let of_range = check_upstream(range, crd.as_ref(), false, &place.registry);
        findings.extend(of_range.into_iter().filter(|finding| finding.id != "B02").map(at));
    }
    if place.online {
        let pinned =
            online::pinned_references(&tree, &list_overlays(&tree, &place.component, &rings), &ranges);
        findings.extend(online::check_references(place, &pinned, err)?);
    }
    if let Some(program) = render {
        check_rendering(place, program, &tree, &rings, &mut findings, err)?;
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) = (count(FindingSeverity::Error), count(FindingSeverity::Warning));
    if place.json {
        print_json(out, &json!({ "findings": findings, "errors": errors, "warnings": warnings }))?;
    } else {
        for finding in &findings {
            writeln!(out, "{finding}")?;
        }
        writeln!(out, "{errors} errors, {warnings} warnings")?;
    }
    Ok(if errors > 0 { CHECK_FAILED } else { UNCHANGED })
}

/// B10: every overlay renders. This includes B09, because kustomize refuses a patch without effect.
fn check_rendering(
    place: &CheckoutArgs,
    program: &Path,
    tree: &Tree,
    rings: &Rings,
    findings: &mut Vec<Finding>,
    err: &mut impl Write,
) -> Result<(), Failure> {
    for overlay in list_overlays(tree, &place.component, rings) {
        print_progress(err, &format!("rendering {}", overlay.directory))?;
        let run = Command::new(program)
            .args(["build", "--enable-helm"])
            .arg(place.repo.join(&overlay.directory))
            .output()
            .map_err(|error| {
                let what = format!("cannot be run: {error}");
                Problem::new(program.display().to_string(), what, "give a kustomize program with --render")
            })?;
        if !run.status.success() {
            let message = String::from_utf8_lossy(&run.stderr);
            let message = message.lines().next_back().unwrap_or("it says nothing");
            findings.push(
                Finding::error("B10", format!("does not render: {message}")).in_file(&overlay.kustomization),
            );
        }
    }
    Ok(())
}

/// Commits that the source is pinned to.
fn pinned_commits(place: &CheckoutArgs, tree: &Tree, rings: &Rings) -> BTreeSet<Commit> {
    list_overlays(tree, &place.component, rings)
        .iter()
        .filter_map(|overlay| {
            Kustomization::read(&overlay.kustomization, tree.get(&overlay.kustomization)?).ok()
        })
        .flat_map(|file| file.list_pins().collect::<Vec<_>>())
        .filter(|pin| pin.source == place.source)
        .map(|pin| pin.commit)
        .collect()
}

/// Prints all pins.
pub fn run_report(place: &CheckoutArgs, out: &mut impl Write, err: &mut impl Write) -> Result<u8, Failure> {
    let rings = place.read_rings()?;
    let tree = disk::read_checkout(&place.repo, &place.component)?;
    let mut behind = BTreeMap::new();
    if let Some(clone) = &place.clone {
        git::head_commit(clone)?;
        for commit in pinned_commits(place, &tree, &rings) {
            print_progress(err, &format!("counting commits after {}", commit.short()))?;
            if let Some(count) = git::count_behind(clone, &commit) {
                behind.insert(commit, count);
            }
        }
    }
    let rows = build_report(&tree, &place.component, &rings, &behind)?;
    if place.json {
        print_json(out, &json!({ "pins": rows }))?;
        return Ok(UNCHANGED);
    }
    let table: Vec<[String; 6]> =
        std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(row_cells)).collect();
    for row in &table {
        for (index, cell) in row.iter().enumerate() {
            let width = table.iter().map(|row| row[index].chars().count()).max().unwrap_or_default();
            let last = index + 1 == row.len();
            if last { writeln!(out, "{cell}")? } else { write!(out, "{cell:width$}  ")? }
        }
    }
    Ok(UNCHANGED)
}

const HEAD: [&str; 6] = ["ENVIRONMENT", "RING", "CLUSTER", "SOURCE", "BEHIND", "COMMIT"];

fn row_cells(row: &ReportRow) -> [String; 6] {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    [
        row.environment.to_string(),
        or_dash(&row.ring),
        row.cluster.clone().unwrap_or_else(|| "(shared)".to_owned()),
        row.source.clone(),
        row.behind.map_or_else(|| "-".to_owned(), |count| count.to_string()),
        row.commits.iter().map(Commit::as_str).collect::<Vec<_>>().join(" "),
    ]
}
