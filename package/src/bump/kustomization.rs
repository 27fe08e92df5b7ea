//! The `resources` and `components` of a kustomization, line by line, checked against the parsed YAML.

use serde_json::Value;

use super::list_entry::{ListEntry, Section};
use super::pin::is_remote;
use super::text::{self, Line, Splice, split_lines};
use super::{Pin, Problem, pin};

/// A kustomization that can be edited line by line.
#[derive(Clone, Debug)]
pub struct Kustomization {
    pub path: String,
    pub text: String,
    /// The lines of both lists, in the order of the file.
    pub entries: Vec<ListEntry>,
    /// The parsed document.
    pub value: Value,
}

impl Kustomization {
    /// Reads a kustomization. It refuses lists that are not one entry per line, because an edit could miss some.
    pub fn read(path: &str, bytes: &[u8]) -> Result<Self, Problem> {
        let mut documents = text::parse_documents(path, bytes)?;
        let (Some(value @ Value::Object(_)), true) = (documents.pop(), documents.is_empty()) else {
            return Err(Problem::new(path, "no kustomization", "a kustomization is one mapping").at_line(1));
        };
        let text = text::utf8(path, bytes)?.to_owned();
        let entries = parse_entries(&text);
        for section in Section::ALL {
            if let Err((what, help)) = compare_entries(section, &entries, &value) {
                let line = line_of(&text, section.key());
                return Err(Problem::new(path, format!("{} {what}", section.key()), help).at_line(line));
            }
        }
        Ok(Self { path: path.to_owned(), text, entries, value })
    }

    /// The entries of one list.
    pub fn section_entries(&self, section: Section) -> impl Iterator<Item = &ListEntry> {
        self.entries.iter().filter(move |entry| entry.section == section)
    }

    /// References of the entries.
    pub fn list_references(&self) -> impl Iterator<Item = (&ListEntry, pin::EntryReference)> {
        self.entries.iter().map(|entry| (entry, pin::parse_reference(entry)))
    }

    /// The pins.
    pub fn list_pins(&self) -> impl Iterator<Item = Pin> {
        self.list_references().filter_map(|(_, reference)| match reference {
            pin::EntryReference::Pinned(pin) => Some(pin),
            _ => None,
        })
    }

    /// A new entry of `resources`: before the first remote one, else after the last, in the format of its neighbours.
    pub fn insert_entry(&self, value: &str) -> Result<Splice, Problem> {
        if let Some(entry) = self.section_entries(Section::Resources).find(|entry| is_remote(&entry.value)) {
            let end = if entry.end.is_empty() { "\n" } else { &entry.end };
            return Ok((entry.start..entry.start, format!("{}{value}{end}", entry.dash)));
        }
        let Some(entry) = self.section_entries(Section::Resources).last() else {
            let help = format!("add `resources` with `- {value}` by hand");
            return Err(Problem::new(&self.path, "no resources", help).at_line(1));
        };
        let new = if entry.end.is_empty() {
            format!("\n{}{value}", entry.dash)
        } else {
            format!("{}{value}{}", entry.dash, entry.end)
        };
        Ok((entry.after..entry.after, new))
    }

    /// The text with the edits, parsed again and compared: `expected` are the entries of the result, each with its list.
    pub fn apply_edits(
        &self,
        splices: Vec<Splice>,
        expected: &[(Section, String)],
    ) -> Result<String, Problem> {
        let text = text::apply_splices(&self.text, splices);
        let reparsed = Self::read(&self.path, text.as_bytes())?;
        let rest = |value: &Value| {
            let mut value = value.clone();
            for section in Section::ALL {
                value.as_object_mut().map(|map| map.remove(section.key()));
            }
            value
        };
        let has = reparsed.entries.iter().map(|entry| (entry.section, &entry.value));
        let same = has.eq(expected.iter().map(|(section, value)| (*section, value)))
            && rest(&reparsed.value) == rest(&self.value);
        if same {
            return Ok(text);
        }
        let help = "edit it by hand and report the file, it should not happen";
        Err(Problem::new(&self.path, "an edit would change more than it should", help).at_line(1))
    }
}

/// Compares the entries of a list with the parsed document; else problem and remedy.
fn compare_entries(
    section: Section,
    entries: &[ListEntry],
    value: &Value,
) -> Result<(), (&'static str, &'static str)> {
    let expected: Option<Vec<&str>> = match value.get(section.key()) {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(Value::as_str).collect(),
        Some(_) => None,
    };
    let Some(meant) = expected else { return Err(("is not a list of texts", "correct the file")) };
    let written = entries.iter().filter(|entry| entry.section == section);
    if written.map(|entry| entry.value.as_str()).eq(meant) {
        return Ok(());
    }
    Err(("is not written one entry a line", "write each entry on a line of its own, as `- entry`"))
}

/// The line of a section, also where its key is in quotes.
fn line_of(text: &str, key: &str) -> usize {
    split_lines(text)
        .find(|line| line.section().is_some_and(|name| name.trim_matches(['"', '\'']) == key))
        .map_or(1, |line| line.number)
}

fn parse_entries(text: &str) -> Vec<ListEntry> {
    let mut section = None;
    let mut entries = Vec::new();
    for line in split_lines(text) {
        if let Some(name) = line.section() {
            section = Section::ALL.into_iter().find(|section| section.key() == name);
        } else if let Some(section) = section
            && let Some(entry) = parse_entry(section, &line)
        {
            entries.push(entry);
        }
    }
    entries
}

fn parse_entry(section: Section, line: &Line) -> Option<ListEntry> {
    let indentation = line.text.len() - line.text.trim_start().len();
    let rest = line.text.get(indentation..)?.strip_prefix('-')?;
    let raw = rest.trim_start();
    if raw.len() == rest.len() || raw.is_empty() {
        return None;
    }
    let offset = line.text.len() - raw.len();
    let raw = raw.trim_end();
    // The YAML reader handles quotes, escapes and comments.
    let value = match serde_saphyr::from_str::<Value>(raw) {
        Ok(Value::String(value)) => value,
        _ => raw.to_owned(),
    };
    Some(ListEntry {
        section,
        line: line.number,
        verbatim: value == raw,
        value,
        value_start: line.start + offset,
        dash: line.text.get(..offset)?.to_owned(),
        start: line.start,
        after: line.after(),
        end: line.end.to_owned(),
    })
}
