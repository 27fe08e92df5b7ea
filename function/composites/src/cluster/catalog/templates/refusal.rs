//! Refusals, listed together so that all of them can be corrected at once.

use testplatform_apis::{condition::Request, text::bounded};

use crate::cluster::request::AdmissionIssue;

/// Something that cannot be had: all of them are said at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldRefusal {
    /// Subject of the refusal.
    pub reason: Request,
    /// Path of the field.
    pub path: String,
    /// A sentence without its end.
    pub sentence: String,
}

/// Collected refusals.
pub(super) struct Refusals(pub Vec<FieldRefusal>);

impl Refusals {
    pub(super) fn add(&mut self, reason: Request, path: impl Into<String>, sentence: impl Into<String>) {
        self.0.push(FieldRefusal { reason, path: path.into(), sentence: sentence.into() });
    }
}

/// The most refusals that are said in full.
const MAX_LISTED: usize = 10;

/// Refusals as one sentence: the weightiest reason, every path.
pub(super) fn combine_refusals(refusals: &[FieldRefusal]) -> AdmissionIssue {
    let reason = refusals.iter().map(|r| r.reason).min().unwrap_or(Request::FieldRefused);
    AdmissionIssue::new(
        reason,
        format!("{}; correct the claim", join_problems(refusals.iter().map(|r| (&r.path, &r.sentence)))),
    )
}

pub(super) fn join_problems<'a>(all: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let words: Vec<String> =
        all.map(|(path, sentence)| format!("{} {}", bounded(path, 256), bounded(sentence, 512))).collect();
    let more = words.len().saturating_sub(MAX_LISTED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", words[..words.len().min(MAX_LISTED)].join("; "))
}
