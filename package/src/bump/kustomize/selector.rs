//! The target of a patch: regular expressions, anchored at both ends, and selectors of labels and annotations.

use regex_lite::Regex;
use serde::Deserialize;

use super::object::{Object, ObjectId};
use crate::bump::text;

/// `target` as a kustomization writes it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TargetSpec {
    group: Option<String>,
    version: Option<String>,
    kind: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    label_selector: Option<String>,
    annotation_selector: Option<String>,
}

impl TargetSpec {
    /// Its fields, for a message.
    pub fn summary(&self) -> String {
        let fields = [
            ("group", &self.group),
            ("version", &self.version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("namespace", &self.namespace),
            ("labelSelector", &self.label_selector),
            ("annotationSelector", &self.annotation_selector),
        ];
        let given = fields.into_iter().filter_map(|(field, value)| Some((field, value.as_deref()?)));
        given
            .map(|(field, value)| format!("{field} {}", text::quote_excerpt(value)))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The parsed selector; else the invalid field, and the reason.
    pub fn build_selector(&self) -> Result<Selector, String> {
        let labels = parse_requirements("labelSelector", self.label_selector.as_deref())?;
        let annotations = parse_requirements("annotationSelector", self.annotation_selector.as_deref())?;
        Ok(Selector {
            group: anchored_regex("group", self.group.as_deref())?,
            version: anchored_regex("version", self.version.as_deref())?,
            kind: anchored_regex("kind", self.kind.as_deref())?,
            name: anchored_regex("name", self.name.as_deref())?,
            namespace: anchored_regex("namespace", self.namespace.as_deref())?,
            labels,
            annotations,
        })
    }
}

/// The targeted objects of a patch.
#[derive(Clone, Debug)]
pub struct Selector {
    group: Option<Regex>,
    version: Option<Regex>,
    kind: Option<Regex>,
    name: Option<Regex>,
    namespace: Option<Regex>,
    labels: Vec<Requirement>,
    annotations: Vec<Requirement>,
}

impl Selector {
    /// Whether it selects an object, by any of its current and earlier names and namespaces.
    pub fn matches_object(&self, object: &Object) -> bool {
        let now = object.id();
        let ids: Vec<ObjectId> = object.all_ids().collect();
        let namespace = |id: &ObjectId| {
            fits_pattern(self.namespace.as_ref(), id.namespace.as_deref().unwrap_or_default())
        };
        fits_pattern(self.group.as_ref(), &now.group)
            && fits_pattern(self.version.as_ref(), &now.version)
            && fits_pattern(self.kind.as_ref(), &now.kind)
            && ids.iter().any(|id| fits_pattern(self.name.as_ref(), &id.name))
            && ids.iter().any(namespace)
            && self.meets_requirements(object)
    }

    /// Whether one current or earlier identity fits as a whole, as replacements need it. An object without a namespace has an empty one.
    pub fn selects_identity(&self, object: &Object) -> bool {
        let own = text::str_at(&object.value, &["metadata", "namespace"]).unwrap_or_default();
        let fits = |id: &ObjectId| {
            let is_unset = id.namespace.as_deref() == Some("default") && own.is_empty();
            let namespace = if is_unset { own } else { id.namespace.as_deref().unwrap_or_default() };
            fits_pattern(self.group.as_ref(), &id.group)
                && fits_pattern(self.version.as_ref(), &id.version)
                && fits_pattern(self.kind.as_ref(), &id.kind)
                && fits_pattern(self.name.as_ref(), &id.name)
                && fits_pattern(self.namespace.as_ref(), namespace)
        };
        object.all_ids().any(|id| fits(&id))
    }

    /// Whether an object has the labels and annotations.
    pub fn meets_requirements(&self, object: &Object) -> bool {
        self.labels.iter().all(|requirement| requirement.is_met_by(object, "labels"))
            && self.annotations.iter().all(|requirement| requirement.is_met_by(object, "annotations"))
    }

    /// Whether it requires labels or annotations.
    pub fn has_requirements(&self) -> bool {
        !(self.labels.is_empty() && self.annotations.is_empty())
    }

    /// Whether it selects by group, version, kind, name or namespace.
    pub fn has_identity(&self) -> bool {
        let fields = [&self.group, &self.version, &self.kind, &self.name, &self.namespace];
        fields.into_iter().any(Option::is_some)
    }

    /// Whether it selects by kind at all.
    pub fn names_kind(&self) -> bool {
        self.kind.is_some()
    }
}

fn fits_pattern(pattern: Option<&Regex>, value: &str) -> bool {
    pattern.is_none_or(|pattern| pattern.is_match(value))
}

fn anchored_regex(field: &str, pattern: Option<&str>) -> Result<Option<Regex>, String> {
    let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty()) else { return Ok(None) };
    let anchored = Regex::new(&format!("^(?:{pattern})$"));
    anchored.map(Some).map_err(|error| {
        format!("target.{field} {} is not a regular expression: {error}", text::quote_excerpt(pattern))
    })
}

/// One requirement of a selector, on one key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: KeyTest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum KeyTest {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Requirement {
    fn is_met_by(&self, object: &Object, map: &str) -> bool {
        let value = text::str_at(&object.value, &["metadata", map, &self.key]);
        match &self.test {
            KeyTest::Exists => value.is_some(),
            KeyTest::Absent => value.is_none(),
            KeyTest::In(values) => value.is_some_and(|value| values.iter().any(|other| other == value)),
            KeyTest::NotIn(values) => value.is_none_or(|value| values.iter().all(|other| other != value)),
        }
    }
}

fn parse_requirements(field: &str, selector: Option<&str>) -> Result<Vec<Requirement>, String> {
    let parts = split_selector(selector.unwrap_or_default());
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .map(|part| {
            parse_requirement(part).ok_or_else(|| {
                format!(
                    "target.{field} {} is not readable",
                    text::quote_excerpt(selector.unwrap_or_default())
                )
            })
        })
        .collect()
}

/// Splits a selector at commas outside of parentheses.
fn split_selector(selector: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = selector.split(move |character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    parts.map(str::trim).collect()
}

fn parse_requirement(part: &str) -> Option<Requirement> {
    let new = |key: &str, test: KeyTest| {
        let key = key.trim();
        let is_key = !key.is_empty() && !key.contains(|c: char| c.is_whitespace() || "!=(),".contains(c));
        is_key.then(|| Requirement { key: key.to_owned(), test })
    };
    let one = |value: &str| vec![value.trim().to_owned()];
    if let Some((key, value)) = part.split_once("!=") {
        return new(key, KeyTest::NotIn(one(value)));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return new(key, KeyTest::In(one(value)));
    }
    if let Some((head, values)) = part.strip_suffix(')').and_then(|part| part.split_once('(')) {
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        let (key, operator) = head.trim().rsplit_once(char::is_whitespace)?;
        return match operator {
            "in" => new(key, KeyTest::In(values)),
            "notin" => new(key, KeyTest::NotIn(values)),
            _ => None,
        };
    }
    match part.strip_prefix('!') {
        Some(key) => new(key, KeyTest::Absent),
        None => new(part, KeyTest::Exists),
    }
}
