//! Intended differences, and unexpected ones.

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;

use super::schema::{Change, PROPERTY, is_same_value};

/// An intended difference between CRD and claim. The file explains each field.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// Path, possibly with `**` at its end.
    pub at: String,
    /// Keyword, or `property`.
    pub keyword: String,
    /// Kind of the difference.
    pub change: DifferenceKind,
    /// The value of [`DifferenceKind::Set`].
    #[serde(default)]
    pub value: Option<Value>,
    /// The CRD's value at the time of the decision.
    #[serde(default)]
    pub theirs: Option<Value>,
    /// Whether it applies to every object below.
    #[serde(default)]
    pub every: bool,
    /// The reason.
    pub why: String,
}

/// Kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DifferenceKind {
    /// The CRD has it, the claim does not.
    Dropped,
    /// The claim has its own value.
    Ours,
    /// The claim has exactly this value.
    Set,
    /// The claim has it, the CRD does not.
    Added,
}

/// Reads the list.
///
/// # Errors
/// If its format is wrong.
pub fn read_differences(text: &str) -> anyhow::Result<Vec<Difference>> {
    serde_saphyr::from_str(text).context("the list of differences cannot be read")
}

impl Difference {
    fn is_at(&self, path: &str) -> bool {
        match self.at.strip_suffix(".**") {
            None => self.at == path,
            Some(start) => {
                path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            }
        }
    }

    /// Whether it concerns the status. It may be absent, because hubs differ in their status schema.
    pub(super) fn is_of_status(&self) -> bool {
        self.at.starts_with("status")
    }

    /// Whether it describes this change.
    pub(super) fn matches_change(&self, change: &Change) -> bool {
        let Change { before, after, .. } = change;
        self.keyword == change.keyword
            && self.is_at(&change.path)
            && match self.change {
                DifferenceKind::Dropped => after.is_none(),
                DifferenceKind::Added => before.is_none(),
                DifferenceKind::Ours => after.is_some(),
                DifferenceKind::Set => *after == self.value,
            }
            && self
                .theirs
                .as_ref()
                .is_none_or(|theirs| is_same_value(&self.keyword, before.as_ref(), Some(theirs)))
    }
}

/// Changes from CRD to claim that the list does not contain, and stale entries of the list.
pub fn list_unexpected(changes: &[Change], list: &[Difference], claim: &Value) -> Vec<String> {
    let mut found: Vec<String> = changes
        .iter()
        .filter(|change| !list.iter().any(|difference| difference.matches_change(change)))
        .map(describe_change)
        .collect();
    for difference in list {
        if !changes.iter().any(|change| difference.matches_change(change)) {
            found.push(format!(
                "{}: the difference {:?} ({}) is listed but not there; take it off the list, or bring it back",
                difference.at, difference.name, difference.keyword
            ));
        }
        if difference.every {
            let mut levels = Vec::new();
            collect_objects("spec", claim, &mut levels);
            for (path, schema) in levels {
                if difference.is_at(&path) && schema.get(&difference.keyword) != difference.value.as_ref() {
                    found.push(format!(
                        "{path}: lacks {}, which the difference {:?} puts at every level",
                        difference.keyword, difference.name
                    ));
                }
            }
        }
    }
    found
}

/// Effect of a difference on the author of a claim.
pub fn describe_change(change: &Change) -> String {
    let kind = |schema: &Value| schema["type"].as_str().unwrap_or("any type").to_owned();
    match (change.keyword.as_str(), &change.before, &change.after) {
        (PROPERTY, Some(schema), None) => format!(
            "{}: only in the CRD ({}); an API server drops it from claims without a word, unless unknown fields are kept",
            change.path,
            kind(schema)
        ),
        (PROPERTY, None, Some(schema)) => {
            format!("{}: not in the CRD ({}); the hub drops it or refuses it", change.path, kind(schema))
        }
        (keyword, before, after) => {
            let text_of =
                |side: &Option<Value>| side.as_ref().map_or("nothing".to_owned(), ToString::to_string);
            format!(
                "{}: {keyword} is {} in the CRD and {} here",
                change.path,
                text_of(before),
                text_of(after)
            )
        }
    }
}

/// Every level with properties, with its path.
fn collect_objects<'a>(path: &str, schema: &'a Value, found: &mut Vec<(String, &'a Value)>) {
    if let Some(properties) = schema["properties"].as_object() {
        found.push((path.to_owned(), schema));
        for (name, inner) in properties {
            collect_objects(&format!("{path}.{name}"), inner, found);
        }
    }
    if schema["items"].is_object() {
        collect_objects(&format!("{path}[]"), &schema["items"], found);
    }
    if schema["additionalProperties"].is_object() {
        collect_objects(&format!("{path}.*"), &schema["additionalProperties"], found);
    }
}
