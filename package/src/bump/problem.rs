//! Problems that prevent a bump.

use std::fmt;

use serde::Serialize;

/// Place, problem and remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, relative to the repository; an option's name if the request itself is wrong.
    pub file: String,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The problem.
    pub what: String,
    /// The remedy.
    pub help: String,
}

impl Problem {
    /// A problem of a whole file, or of an option.
    pub fn new(file: impl Into<String>, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, what: what.into(), help: help.into() }
    }

    /// The same problem at a line.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
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
