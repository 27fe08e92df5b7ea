//! What keeps a bump from being made.

use std::fmt;

use serde::Serialize;

/// Where, what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, relative to the repository; an option's name where the request itself is wrong.
    pub file: String,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub help: String,
}

impl Problem {
    /// A problem of a file as a whole, or of an option.
    pub fn new(file: impl Into<String>, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, what: what.into(), help: help.into() }
    }

    /// The same, at a line.
    #[must_use]
    pub fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "{}:{line}: {}; {}", self.file, self.what, self.help),
            None => write!(out, "{}: {}; {}", self.file, self.what, self.help),
        }
    }
}
