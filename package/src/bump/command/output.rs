//! Output of `plan` and `apply`.

use super::{BTreeMap, ChangeArgs, Failure, FindingSeverity, PullRequestFacts, Write, json, print_json};
use crate::bump::{delta, unified_diff};

/// Prints all changes. Nothing is written before the output is complete.
pub fn print_changes(
    change: &ChangeArgs,
    facts: &PullRequestFacts,
    applied: bool,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Result<(), Failure> {
    let edits = &facts.plan.edits;
    if change.place.json {
        let files: Vec<_> = edits
            .iter()
            .map(|(path, edit)| json!({ "file": path, "new": edit.before.is_none(), "diff": unified_diff(path, edit) }))
            .collect();
        let (level, reason) = delta::assess_risk(facts.ranges, facts.findings);
        let commits: BTreeMap<_, _> =
            facts.ranges.iter().map(|range| (range.from.as_str(), &range.commits)).collect();
        print_json(
            out,
            &json!({
                "source": facts.request.source,
                "to": facts.request.to,
                "changed": !edits.is_empty(),
                "applied": applied && !edits.is_empty(),
                "files": files,
                "pins": facts.plan.moves,
                "commits": commits,
                "findings": facts.findings,
                "risk": { "level": level, "reason": reason },
            }),
        )?;
        return Ok(out.flush()?);
    }
    for (path, edit) in edits {
        out.write_all(unified_diff(path, edit).as_bytes())?;
    }
    for finding in facts.findings.iter().filter(|finding| finding.severity > FindingSeverity::Note) {
        writeln!(err, "{finding}")?;
    }
    Ok(out.flush()?)
}

/// Summary for people.
pub fn print_summary(
    change: &ChangeArgs,
    facts: &PullRequestFacts,
    (applied, failed): (bool, bool),
    err: &mut impl Write,
) -> Result<(), Failure> {
    if change.place.json {
        return Ok(());
    }
    let pins = facts.plan.moves.len();
    let summary = match (facts.plan.edits.len(), applied) {
        _ if failed => "a check failed: nothing was changed (--force goes on)".to_owned(),
        (0, _) => format!("no change: everything in scope is at {}", facts.request.to.short()),
        (files, true) => format!("changed {}, {}", format_count(files, "file"), format_count(pins, "pin")),
        (files, false) => {
            format!("would change {}, {}", format_count(files, "file"), format_count(pins, "pin"))
        }
    };
    Ok(writeln!(err, "{summary}")?)
}

fn format_count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
