//! Findings of checks.

use std::fmt;

use serde::Serialize;

/// Severity of a finding. Only errors fail a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// Information only.
    Note,
    /// A person should look at it.
    Warning,
    /// The check failed.
    Error,
}

/// One sentence about one place, with the stable id of its check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// B01 to B17.
    pub id: &'static str,
    /// How much it weighs.
    pub severity: FindingSeverity,
    /// The file, relative to the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The fact, and the remedy if it is not obvious.
    pub message: String,
}

impl Finding {
    /// The check failed.
    pub fn error(id: &'static str, message: impl Into<String>) -> Self {
        Self { id, severity: FindingSeverity::Error, file: None, line: None, message: message.into() }
    }

    /// A person should look at it.
    pub fn warning(id: &'static str, message: impl Into<String>) -> Self {
        Self { severity: FindingSeverity::Warning, ..Self::error(id, message) }
    }

    /// Information only.
    pub fn note(id: &'static str, message: impl Into<String>) -> Self {
        Self { severity: FindingSeverity::Note, ..Self::error(id, message) }
    }

    /// In a file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// At a line of that file, if known.
    #[must_use]
    pub fn at_line(mut self, line: Option<usize>) -> Self {
        self.line = line;
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            FindingSeverity::Note => "note",
            FindingSeverity::Warning => "warning",
            FindingSeverity::Error => "error",
        };
        write!(out, "{severity}[{}]: ", self.id)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(out, "{file}:{line}: ")?,
            (Some(file), None) => write!(out, "{file}: ")?,
            (None, _) => {}
        }
        out.write_str(&self.message)
    }
}
