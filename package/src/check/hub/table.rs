//! The table of what hubs need, in the guide to installing.

use super::needs::{Plan, READS, Subject, WATCHES, WRITES};
use testplatform_apis::hub::CONFIG_MAP;

/// The lines between which the table stands.
const MARKS: [&str; 2] = [
    "<!-- Made by `cargo xpkg generate` from package/src/check/hub/needs.rs. -->",
    "<!-- End of what is made. -->",
];

/// The table.
pub fn table() -> String {
    let plan = Plan::default();
    let mut out = String::from(
        "| `--backend` | claims with | served | rights of the Konflux identity | advised, in every namespace |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    for subject in Subject::EVERY {
        let kinds = subject.kinds();
        let all = |of: &dyn Fn(&testplatform_apis::hub::Kind) -> String| {
            kinds.iter().map(of).collect::<Vec<_>>().join(", ")
        };
        let served = all(&|kind| format!("`{}.{}` {}", kind.plural, kind.group, kind.versions.join(" or ")));
        let plurals = all(&|kind| kind.plural.to_owned());
        let mut rights = vec![
            format!("{} {plurals} in `{}`", WRITES.join(", "), plan.namespace(subject)),
            format!("{} secrets in `{}`", READS.join(", "), plan.credentials(subject)),
        ];
        if let Subject::Template(_) = subject {
            rights.push(format!(
                "advised: {} configmap `{CONFIG_MAP}` in `{}`",
                READS.join(", "),
                plan.facts
            ));
        }
        let (word, block) = (subject.as_str(), subject.block());
        let watched = format!("{} {plurals}", WATCHES.join(", "));
        let cells = [word.to_owned(), format!("`{block}`"), served, rights.join("; "), watched];
        out.push_str("| ");
        out.push_str(&cells.join(" | "));
        out.push_str(" |\n");
    }
    out
}

/// A guide with the table of today. None: it has no place for one.
pub fn spliced(guide: &str) -> Option<String> {
    let [begin, end] = MARKS;
    let (before, rest) = guide.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{}{end}{after}", table()))
}
