//! Tables as kubectl prints them, and that of `get`.

use std::fmt::Write as _;

use jiff::Timestamp;
use testplatform_apis::{phase::Phase, text::bounded};

use super::{
    claim::{Claim, text, time},
    span::{ago, human},
};

/// Which columns there are beside the usual ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Columns {
    /// The namespace.
    pub namespace: bool,
    /// The kind before the name, as both are there.
    pub kind: bool,
    /// The message.
    pub wide: bool,
}

/// The table, line by line.
pub fn table(claims: &[Claim], columns: Columns, now: Timestamp) -> Vec<String> {
    let mut head = vec!["NAME", "PHASE", "BACKEND", "VERSION", "EXPIRES IN", "HUB", "AGE"];
    if columns.namespace {
        head.insert(0, "NAMESPACE");
    }
    if columns.wide {
        head.push("MESSAGE");
    }
    let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    rows.extend(claims.iter().map(|claim| claim_row(claim, columns, now)));
    align_columns(&rows)
}

/// Rows of as many cells each, one below the other.
pub fn align_columns<R: AsRef<[String]>>(rows: &[R]) -> Vec<String> {
    let rows: Vec<&[String]> = rows.iter().map(AsRef::as_ref).collect();
    let columns = rows.first().map_or(0, |row| row.len());
    let width = |at: usize| rows.iter().map(|r| r[at].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &&[String]| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}   ");
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn claim_row(claim: &Claim, columns: Columns, now: Timestamp) -> Vec<String> {
    let object = &claim.object;
    let name = if columns.kind { claim.label() } else { claim.name().to_owned() };
    let made = time(object, "/metadata/creationTimestamp");
    let mut row = vec![
        name,
        claim.phase_word().to_owned(),
        text(object, "/status/backend/kind").to_owned(),
        text(object, "/status/version").to_owned(),
        format_expiry(claim, now),
        text(object, "/status/hub/name").to_owned(),
        ago(made, now),
    ];
    if columns.namespace {
        row.insert(0, claim.namespace().to_owned());
    }
    if columns.wide {
        row.push(claim.message());
    }
    // Any value stays in its cell.
    row.iter().map(|cell| bounded(cell, 600)).collect()
}

/// In how long it ends by itself; of one that is gone, nothing.
fn format_expiry(claim: &Claim, now: Timestamp) -> String {
    let lives = !matches!(claim.phase(), Some(Phase::Deprovisioned | Phase::Failed));
    claim.expires_at().filter(|_| lives).map_or_else(String::new, |end| human(end.duration_since(now)))
}
