//! Lines of a file that is edited in place, and its parsed YAML.

use std::ops::Range;

use serde_json::Value;

use super::Problem;

/// A line without its end.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// From 1.
    pub number: usize,
    /// Offset of its first byte.
    pub start: usize,
    /// Its text. A carriage return before the line feed belongs to the end.
    pub text: &'a str,
    /// `\n`, `\r\n`, or nothing at the end of the file.
    pub end: &'a str,
}

impl Line<'_> {
    /// Offset after its end.
    pub fn after(&self) -> usize {
        self.start + self.text.len() + self.end.len()
    }

    /// The key at the left margin, where a kustomization's sections start.
    pub fn section(&self) -> Option<&str> {
        let first = self.text.chars().next()?;
        if first.is_whitespace() || matches!(first, '#' | '-' | '.' | '%') {
            return None;
        }
        Some(self.text.split_once(':').map_or(self.text, |(key, _)| key).trim_end())
    }
}

/// The lines of a text, in order.
pub fn split_lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    text.split_inclusive('\n').enumerate().map(move |(index, whole)| {
        let body = whole.strip_suffix('\n').unwrap_or(whole);
        let body = body.strip_suffix('\r').filter(|_| whole.ends_with('\n')).unwrap_or(body);
        let line = Line { number: index + 1, start, text: body, end: &whole[body.len()..] };
        start += whole.len();
        line
    })
}

/// The first line that contains `needle`, from 1.
pub fn find_line(bytes: &[u8], needle: &str) -> Option<usize> {
    let text = std::str::from_utf8(bytes).ok()?;
    split_lines(text).find(|line| line.text.contains(needle)).map(|line| line.number)
}

/// A replacement of a range of bytes; an empty range inserts.
pub type Splice = (Range<usize>, String);

/// `text` with the replacements, which must not overlap.
pub fn apply_splices(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len());
    let mut value_at = 0;
    for (range, with) in splices {
        out.push_str(text.get(value_at..range.start).unwrap_or_default());
        out.push_str(&with);
        value_at = range.end;
    }
    out.push_str(text.get(value_at..).unwrap_or_default());
    out
}

/// A file's text.
pub fn utf8<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        Problem::new(file, "not UTF-8", "write the file as UTF-8").at_line(line)
    })
}

/// The YAML documents of a file, without the empty ones.
pub fn parse_documents(file: &str, bytes: &[u8]) -> Result<Vec<Value>, Problem> {
    parse_with(serde_saphyr::Options::default(), file, bytes)
}

/// The same of a file with objects, in which kustomize reads `yes`, `on` and `y` as texts, and not as it reads its own files.
pub fn parse_objects(file: &str, bytes: &[u8]) -> Result<Vec<Value>, Problem> {
    parse_with(serde_saphyr::options! { strict_booleans: true }, file, bytes)
}

fn parse_with(options: serde_saphyr::Options, file: &str, bytes: &[u8]) -> Result<Vec<Value>, Problem> {
    let text = utf8(file, bytes)?;
    serde_saphyr::from_multiple_with_options::<Value>(text, options)
        .map(|documents| documents.into_iter().filter(|document| !document.is_null()).collect())
        .map_err(|error| {
            let line = error.location().and_then(|location| usize::try_from(location.line()).ok());
            let message = error.to_string();
            let message = message.lines().next().unwrap_or_default().trim_end_matches('.');
            let problem = Problem::new(file, format!("not readable as YAML: {message}"), "correct the file");
            problem.at_line(line.filter(|line| *line > 0).unwrap_or(1))
        })
}

/// A string as a YAML scalar: bare if that parses as the same string, else quoted.
pub fn quote_scalar(text: &str) -> String {
    match serde_saphyr::from_str::<Value>(text) {
        Ok(Value::String(read)) if read == text => text.to_owned(),
        _ => Value::from(text).to_string(),
    }
}

/// A value for a message: one line, truncated if long, quoted if it would not read as one word.
pub fn quote_excerpt(value: &str) -> String {
    const MAX_CHARS: usize = 60;
    let mut short: String = value.chars().take(MAX_CHARS).collect();
    if short.len() < value.len() {
        short.push('…');
    }
    let is_word = |character: char| character.is_alphanumeric() || "-_./:=*$…".contains(character);
    if !short.is_empty() && short.chars().all(is_word) { short } else { format!("{short:?}") }
}

/// The value below `path`, a list of keys.
pub fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// The text below `path`.
pub fn str_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path).and_then(Value::as_str)
}

/// The elements of the list below `path`; none without a list.
pub fn items_at<'a>(value: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a Value> {
    at(value, path).and_then(Value::as_array).into_iter().flatten()
}
