//! The text of the pull request: What, Why, Validation, Risk Assessment.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::upstream::{CommitKind, Upstream};
use super::{Commit, Environment, Finding, FindingSeverity, Plan, Request, delta};

/// Data for the text.
#[derive(Clone, Copy, Debug)]
pub struct PullRequestFacts<'a> {
    /// The request.
    pub request: &'a Request,
    /// The planned changes.
    pub plan: &'a Plan,
    /// The source between old and new commit, one for each commit that remains; empty without a clone.
    pub ranges: &'a [Upstream],
    /// Findings of the checks.
    pub findings: &'a [Finding],
    /// Days since staging got the target.
    pub staged_days: Option<i64>,
    /// The Jira key.
    pub jira: Option<&'a str>,
    /// The reason, as given by the requester.
    pub why: Option<&'a str>,
}

/// The text, as Markdown. The same facts give the same bytes.
pub fn render_pull_request(facts: &PullRequestFacts) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_what(&mut out, facts).and_then(|()| write_why(&mut out, facts));
    let _ = write_validation(&mut out, facts).and_then(|()| write_risk(&mut out, facts));
    out
}

fn changed_clusters(facts: &PullRequestFacts) -> Vec<String> {
    let changed: BTreeSet<&str> = facts.plan.edits.keys().map(String::as_str).collect();
    let mut names: Vec<String> = facts
        .plan
        .overlays
        .iter()
        .filter(|overlay| {
            // A cluster changes with its own overlay and with the base that it shares.
            let shared = facts.plan.overlays.iter().any(|base| {
                base.cluster.is_none()
                    && (base.environment, &base.ring) == (overlay.environment, &overlay.ring)
                    && changed.contains(base.kustomization.as_str())
            });
            shared || changed.contains(overlay.kustomization.as_str())
        })
        .filter_map(|overlay| overlay.cluster.clone())
        .collect();
    names.sort();
    names.dedup();
    names
}

fn environment_names(facts: &PullRequestFacts) -> String {
    let names: Vec<_> =
        facts.request.scope.environments.iter().map(|environment| environment.name()).collect();
    names.join(" and ")
}

fn ring_names(facts: &PullRequestFacts) -> String {
    let names: Vec<String> = facts
        .request
        .scope
        .rings
        .iter()
        .map(|name| {
            facts.request.rings.find_ring(name).map_or_else(|| name.clone(), |ring| ring.name.clone())
        })
        .collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

fn write_what(out: &mut String, facts: &PullRequestFacts) -> std::fmt::Result {
    let (source, to) = (&facts.request.source, &facts.request.to);
    writeln!(out, "## What\n")?;
    writeln!(out, "Move `{source}` to {to} in {}{}.\n", environment_names(facts), ring_names(facts))?;
    if let Some(jira) = facts.jira {
        writeln!(out, "Jira: {jira}\n")?;
    }
    let clusters = changed_clusters(facts);
    if !clusters.is_empty() {
        writeln!(out, "Clusters: {}\n", clusters.join(", "))?;
    }
    let from: BTreeSet<&Commit> = facts.plan.moves.iter().map(|step| &step.from).collect();
    for from in from {
        writeln!(
            out,
            "- from {from}: https://github.com/{source}/compare/{}...{}",
            from.short(),
            to.short()
        )?;
    }
    writeln!(out, "\n| file | change |\n| --- | --- |")?;
    for (path, edit) in &facts.plan.edits {
        let pins = facts.plan.moves.iter().filter(|step| step.file == *path).count();
        let change = match (&edit.before, pins) {
            (None, _) => "new".to_owned(),
            (Some(_), 0) => "changed".to_owned(),
            (Some(_), 1) => "1 pin".to_owned(),
            (Some(_), pins) => format!("{pins} pins"),
        };
        writeln!(out, "| `{path}` | {change} |")?;
    }
    writeln!(out)
}

fn write_why(out: &mut String, facts: &PullRequestFacts) -> std::fmt::Result {
    writeln!(out, "## Why\n")?;
    match facts.why {
        Some(why) => writeln!(out, "{why}\n")?,
        None if facts.request.scope.environments.contains(&Environment::Production) => {
            writeln!(out, "Promote what staging has.\n")?;
        }
        None => writeln!(out, "Keep up with `{}`.\n", facts.request.source)?,
    }
    let mut unique = BTreeSet::new();
    let mut kinds = BTreeMap::<CommitKind, Vec<String>>::new();
    for commit in facts.ranges.iter().flat_map(|range| &range.commits) {
        if unique.insert(&commit.commit) {
            let short = commit.commit.get(..7).unwrap_or(&commit.commit);
            kinds.entry(commit.kind).or_default().push(format!("{short} {}", commit.subject));
        }
    }
    for kind in CommitKind::ALL {
        let Some(commits) = kinds.get(&kind) else { continue };
        writeln!(out, "{} ({}):\n", kind.heading(), commits.len())?;
        // Dozens of these come from a bot, with the same message.
        let shown = if kind <= CommitKind::Digests { 10 } else { usize::MAX };
        for commit in commits.iter().take(shown) {
            writeln!(out, "- {commit}")?;
        }
        if commits.len() > shown {
            writeln!(out, "- and {} more", commits.len() - shown)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_validation(out: &mut String, facts: &PullRequestFacts) -> std::fmt::Result {
    writeln!(out, "## Validation\n")?;
    let errors = facts.findings.iter().filter(|finding| finding.severity == FindingSeverity::Error).count();
    let warnings: Vec<_> =
        facts.findings.iter().filter(|finding| finding.severity == FindingSeverity::Warning).collect();
    let read = if facts.ranges.is_empty() { ", without the source's commits" } else { "" };
    writeln!(out, "- `bump check`{read}: {errors} errors, {} warnings", warnings.len())?;
    if let Some(days) = facts.staged_days {
        writeln!(out, "- in staging for {days} days")?;
    }
    for finding in facts.findings.iter().filter(|finding| finding.severity > FindingSeverity::Note) {
        writeln!(out, "- {finding}")?;
    }
    writeln!(out, "- not done here: rendering of the overlays, signatures and architectures of images\n")
}

fn write_risk(out: &mut String, facts: &PullRequestFacts) -> std::fmt::Result {
    let (level, reason) = delta::assess_risk(facts.ranges, facts.findings);
    let clusters = changed_clusters(facts);
    let blast =
        match (clusters.is_empty(), facts.request.scope.environments.contains(&Environment::Production)) {
            (true, _) => "developers' clusters".to_owned(),
            (false, true) => {
                format!("tests in production, clusters {}", clusters.join(", "))
            }
            (false, false) => format!("developers' clusters and staging: {}", clusters.join(", ")),
        };
    writeln!(out, "## Risk Assessment\n")?;
    writeln!(out, "- Risk Level: {level:?} ({reason})")?;
    writeln!(
        out,
        "- Failure mode: a new Composition acts on running clusters at once; claims that cannot be composed wait, and \
         pipelines that wait for them time out"
    )?;
    writeln!(out, "- Blast radius: {blast}")?;
    writeln!(
        out,
        "- Rollback: revert this pull request. Versions that a CRD got in between stay; objects in flight are composed \
         again by the previous Composition"
    )
}
