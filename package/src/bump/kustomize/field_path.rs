//! Paths of fields as replacements and variables write them, such as `spec.containers.[name=main].image`.

use regex_lite::Regex;
use serde_json::{Map, Value};

use crate::bump::text;

/// Reason why a path leads to no field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathError {
    /// kustomize refuses it.
    Refused(String),
    /// Releases of kustomize differ, or the result depends on the notation in the file.
    Unknown(String),
}

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    /// A key of a mapping.
    Field(String),
    /// An element of a list by its index.
    Index(usize),
    /// Every element of a list.
    Elements,
    /// Elements of a list whose field has a value; without a field, elements with that value.
    Matching { field: String, value: String },
}

/// A path of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(Vec<PathStep>);

impl FieldPath {
    /// Reads a path. Brackets and backslashes protect dots.
    pub fn parse(path: &str) -> Result<Self, PathError> {
        let parts = join_brackets(&split_escaped(path, '.'));
        parts.iter().map(|part| parse_step(part)).collect::<Result<_, _>>().map(Self)
    }

    /// The last key of a mapping in it.
    pub fn last_field(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|step| match step {
            PathStep::Field(name) => Some(name.as_str()),
            PathStep::Index(_) | PathStep::Elements | PathStep::Matching { .. } => None,
        })
    }

    /// The one field at the path, of a source.
    pub fn look_up<'v>(&self, value: &'v Value) -> Result<Option<&'v Value>, PathError> {
        let mut found = value;
        for step in &self.0 {
            let next = match (step, found) {
                (_, Value::Null) => None,
                (PathStep::Field(name), Value::Object(fields)) => fields.get(name),
                (PathStep::Index(index), Value::Array(items)) => items.get(*index),
                (PathStep::Matching { field, value }, Value::Array(items)) => {
                    items.iter().find(|item| element_text(item, field).as_deref() == Some(value))
                }
                (PathStep::Elements, _) => {
                    return Err(PathError::Refused("a source cannot name every element with *".to_owned()));
                }
                (_, other) => return Err(wrong_kind(step, other)),
            };
            let Some(next) = next else { return Ok(None) };
            found = next;
        }
        Ok(Some(found))
    }

    /// Calls `set` with every field at the path of a target, and whether the field is new. Returns how many fields there are. `create`
    /// adds missing fields.
    pub fn set_fields(
        &self,
        value: &mut Value,
        create: bool,
        set: &mut dyn FnMut(&mut Value, bool) -> Result<(), PathError>,
    ) -> Result<usize, PathError> {
        set_below(&self.0, value, create, false, set)
    }
}

fn set_below(
    steps: &[PathStep],
    value: &mut Value,
    create: bool,
    is_new: bool,
    set: &mut dyn FnMut(&mut Value, bool) -> Result<(), PathError>,
) -> Result<usize, PathError> {
    let Some((step, rest)) = steps.split_first() else { return set(value, is_new).map(|()| 1) };
    match (step, value) {
        (_, Value::Null) if create => {
            Err(PathError::Unknown("it creates a field below an empty one".to_owned()))
        }
        (_, Value::Null) => Ok(0),
        (PathStep::Field(name), Value::Object(fields)) => {
            let is_absent = !fields.contains_key(name);
            if is_absent && !create {
                return Ok(0);
            }
            let field = fields.entry(name.clone()).or_insert_with(|| empty_field(rest));
            set_below(rest, field, create, is_absent, set)
        }
        (PathStep::Index(index), Value::Array(items)) => {
            let is_absent = items.len() == *index && create;
            if is_absent {
                items.push(empty_field(rest));
            }
            let length = items.len();
            let Some(item) = items.get_mut(*index) else {
                return Err(PathError::Refused(format!("it names element {index} of {length}")));
            };
            set_below(rest, item, create, is_absent, set)
        }
        (PathStep::Elements, Value::Array(items)) => {
            let each = items.iter_mut().map(|item| set_below(rest, item, create, false, set));
            each.sum()
        }
        (PathStep::Matching { field, value }, Value::Array(items)) => {
            set_matching(rest, items, (field, value), create, set)
        }
        (step, other) => Err(wrong_kind(step, other)),
    }
}

/// In targets the value is a regular expression that may match anywhere in a text.
fn set_matching(
    rest: &[PathStep],
    items: &mut Vec<Value>,
    (field, pattern): (&str, &str),
    create: bool,
    set: &mut dyn FnMut(&mut Value, bool) -> Result<(), PathError>,
) -> Result<usize, PathError> {
    let expression = Regex::new(pattern).map_err(|error| {
        PathError::Refused(format!("{} is not a regular expression: {error}", text::quote_excerpt(pattern)))
    })?;
    let mut count = 0;
    for item in items.iter_mut() {
        if !element_text(item, field).is_some_and(|text| expression.is_match(&text)) {
            continue;
        }
        // kustomize ignores the rest of the path below a plain element.
        let below = if field.is_empty() { &[] } else { rest };
        count += set_below(below, item, create, false, set)?;
    }
    if count > 0 || !create {
        return Ok(count);
    }
    let named = Map::from_iter([(field.to_owned(), Value::from(pattern))]);
    items.push(if field.is_empty() { Value::from(pattern) } else { Value::Object(named) });
    let Some(item) = items.last_mut() else { return Ok(0) };
    set_below(if field.is_empty() { &[] } else { rest }, item, create, false, set)
}

/// The text of an element, or of its field.
fn element_text(item: &Value, field: &str) -> Option<String> {
    scalar_text(if field.is_empty() { item } else { item.get(field)? })
}

/// A scalar as a file has it. None for lists, mappings, and numbers with a fraction, whose notation the parsed value does not tell.
pub fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        Value::Number(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A container for the rest of the path.
fn empty_field(rest: &[PathStep]) -> Value {
    match rest.first() {
        None => Value::Null,
        Some(PathStep::Index(_) | PathStep::Matching { .. }) => Value::Array(Vec::new()),
        Some(PathStep::Field(_) | PathStep::Elements) => Value::Object(Map::new()),
    }
}

fn wrong_kind(step: &PathStep, found: &Value) -> PathError {
    if let Value::String(content) = found
        && matches!(serde_saphyr::from_str(content), Ok(Value::Object(_) | Value::Array(_)))
    {
        return PathError::Unknown("it leads into YAML or JSON in a text".to_owned());
    }
    let expected = match step {
        PathStep::Field(name) => format!("a mapping with {}", text::quote_excerpt(name)),
        PathStep::Index(_) | PathStep::Elements | PathStep::Matching { .. } => "a list".to_owned(),
    };
    let found = match found {
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => "a scalar",
    };
    PathError::Refused(format!("it expects {expected}, and finds {found}"))
}

fn parse_step(part: &str) -> Result<PathStep, PathError> {
    if let Ok(index) = part.parse() {
        return Ok(PathStep::Index(index));
    }
    if let Some(inner) = part.strip_prefix('[').and_then(|part| part.strip_suffix(']')) {
        let Some((field, value)) = inner.split_once('=') else {
            return Err(PathError::Refused(format!("{} has no =", text::quote_excerpt(part))));
        };
        return Ok(PathStep::Matching { field: field.to_owned(), value: value.to_owned() });
    }
    match part {
        "*" => Ok(PathStep::Elements),
        "" | "-" => Err(PathError::Unknown(format!("{part:?} is a part of it"))),
        field => Ok(PathStep::Field(field.to_owned())),
    }
}

/// Splits a path at a separator that no backslash escapes. A separator at the start is ignored.
pub fn split_escaped(path: &str, separator: char) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.strip_prefix(separator).unwrap_or(path).split(separator) {
        match parts.last_mut().filter(|last| last.ends_with('\\')) {
            Some(last) => {
                last.pop();
                last.push(separator);
                last.push_str(part);
            }
            None => parts.push(part.to_owned()),
        }
    }
    parts
}

/// Joins the parts of an element in brackets. Only one with `=` keeps them.
fn join_brackets(parts: &[String]) -> Vec<String> {
    let mut joined = Vec::new();
    let mut parts = parts.iter();
    while let Some(part) = parts.next() {
        if !part.starts_with('[') || part.ends_with(']') {
            joined.push(part.clone());
            continue;
        }
        let mut element = part.clone();
        for more in parts.by_ref() {
            element.push('.');
            element.push_str(more);
            if more.ends_with(']') {
                break;
            }
        }
        joined.push(if element.contains('=') {
            element
        } else {
            element.trim_matches(['[', ']']).to_owned()
        });
    }
    joined
}
