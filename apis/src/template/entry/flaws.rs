//! Errors of an entry, as they are found.

use super::EntryFlaw;

/// Collects errors, each with its path.
pub(super) struct Flaws<'a>(pub(super) &'a mut Vec<EntryFlaw>);

impl Flaws<'_> {
    /// Adds an error, unless one for the same path is known: an unreadable member is not also reported as missing.
    pub(super) fn add_flaw(&mut self, path: &str, sentence: impl Into<String>) {
        let path = format!("data.{path}");
        let within = |flaw: &EntryFlaw| {
            flaw.path.starts_with(&path)
                && !flaw.path[path.len()..].starts_with(|c: char| c.is_alphanumeric())
        };
        if !self.0.iter().any(within) {
            self.0.push(EntryFlaw { path, sentence: sentence.into() });
        }
    }
}
