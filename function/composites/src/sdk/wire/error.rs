//! Decoding error, with its path in the object.

use std::fmt::{self, Write as _};

use serde::{
    de::{self, Expected, Unexpected},
    ser,
};

/// Longest piece of foreign text that a path or message repeats.
const MAX_QUOTED: usize = 64;

/// Why bytes could not be read or a value could not be written.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>); // boxed: results are passed through every level of an object

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    /// Innermost first, because that is the order in which they become known.
    path: Vec<Segment>,
    message: String,
}

#[derive(Clone, PartialEq, Eq)]
enum Segment {
    Key(String),
    Index(usize),
}

impl Error {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Inner { path: Vec::new(), message: message.into() }))
    }

    pub(super) fn under(mut self, key: &str) -> Self {
        self.0.path.push(Segment::Key(key.to_owned()));
        self
    }

    pub(super) fn at(mut self, index: usize) -> Self {
        self.0.path.push(Segment::Index(index));
        self
    }

    /// Where, as in `spec.items[2].name`; empty for the object as a whole.
    /// A key that is not a plain word is quoted: `metadata.annotations["example.org/x"]`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for segment in self.0.path.iter().rev() {
            // Writing to a string cannot fail.
            let _ = match segment {
                Segment::Index(index) => write!(path, "[{index}]"),
                Segment::Key(key) if !is_word(key) => write!(path, "[\"{}\"]", quoted(key)),
                Segment::Key(key) if path.is_empty() => write!(path, "{key}"),
                Segment::Key(key) => write!(path, ".{key}"),
            };
        }
        path
    }

    /// The message, without the path and without the offending value.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

fn is_word(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= MAX_QUOTED
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Foreign text made safe for one line of log: escaped and cut.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == MAX_QUOTED {
            out.push('…');
            break;
        }
        out.extend(c.escape_debug());
    }
    out
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.is_empty() {
            f.write_str(&path)?;
            f.write_str(": ")?;
        }
        f.write_str(self.message())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wire::Error({self})")
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found {}", kind(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = kind(found);
        let found = found.split_once(' ').map_or(found, |(_, noun)| noun);
        Self::new(format!("expected {expected}, found another {found}"))
    }

    fn unknown_variant(found: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown value \"{}\", expected {}", quoted(found), one_of(expected)))
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        // The path already ends in the field's name.
        Self::new(format!("unknown field, expected {}", one_of(expected)))
    }
}

/// Type that serde found, without the content.
fn kind(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "an integer",
        Unexpected::Float(_) => "a number with a fraction",
        Unexpected::Char(_) | Unexpected::Str(_) => "a string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "a list",
        Unexpected::Map => "an object",
        _ => "something else",
    }
}

fn one_of(expected: &[&str]) -> String {
    let mut out = String::from(if expected.len() > 1 { "one of " } else { "" });
    for (i, word) in expected.iter().enumerate() {
        let _ = write!(out, "{}{word}", if i > 0 { ", " } else { "" });
    }
    if expected.is_empty() { "none".to_owned() } else { out }
}
