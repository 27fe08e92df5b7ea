//! Pages of the documentation about reasons.

use testplatform_apis::reason::{self, Action, Reason};

/// Alerts in advice. They are no reasons of claims.
const ALERTS: [&str; 2] = ["FunctionDown", "FunctionErrors"];

/// The page about a reason, with the entry if the runbook has one.
pub fn entry_of(reason: &str) -> String {
    let page = match reason::find(reason) {
        Some((_, Reason { action: Action::Entry(page), .. })) => page.file(),
        None if ALERTS.contains(&reason) => "alerts-konflux",
        _ => return format!("docs/reference/reasons.md, {reason}"),
    };
    format!("docs/runbook/{page}.md#{}", reason.to_ascii_lowercase())
}
