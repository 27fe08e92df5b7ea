//! Comparison of two schemas.
//!
//! Input: `OpenAPI` v3 schemas of CRDs. Output: the differences with their paths. No I/O.

use std::{collections::BTreeSet, fmt};

use serde_json::{Map, Value};

/// A keyword of one level that differs, or a whole property, with the values of both sides; none if a side lacks it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Path, such as `spec.ciOperator.releases.*.release`; `*` is any key of a map, `[]` any item of a list.
    pub path: String,
    /// Keyword, such as `required`; `property` for the field itself.
    pub keyword: String,
    /// Value on the first side.
    pub before: Option<Value>,
    /// Value on the second side.
    pub after: Option<Value>,
    /// Whether an added property is required and has no default.
    pub demanded: bool,
}

/// Keyword of a [`Change`] that concerns a field as a whole.
pub const PROPERTY: &str = "property";

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, keyword, .. } = self;
        let kind = |schema: &Value| schema["type"].as_str().unwrap_or("of any type").to_owned();
        match (keyword.as_str(), &self.before, &self.after) {
            (PROPERTY, None, Some(schema)) => {
                write!(f, "{path}: added ({}{})", kind(schema), if self.demanded { ", required" } else { "" })
            }
            (PROPERTY, Some(schema), _) => write!(f, "{path}: removed ({})", kind(schema)),
            ("description", ..) => write!(f, "{path}: described otherwise"),
            (_, None, Some(after)) => write!(f, "{path}: {keyword} {after} added"),
            (_, Some(before), None) => write!(f, "{path}: {keyword} {before} removed"),
            (_, before, after) => {
                let [before, after] = [before, after].map(|side| side.clone().unwrap_or_default());
                write!(f, "{path}: {keyword} {before} became {after}")
            }
        }
    }
}

/// Compares two schemas. The order of keys and of `required` does not count.
pub fn diff_schemas(path: &str, before: &Value, after: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    diff_level(path, before, after, &mut changes);
    changes
}

fn diff_level(path: &str, before: &Value, after: &Value, changes: &mut Vec<Change>) {
    let empty = Map::new();
    let [old, new] = [before, after].map(|schema| schema.as_object().unwrap_or(&empty));
    let keywords: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for keyword in keywords {
        let sides = (old.get(keyword), new.get(keyword));
        match (keyword.as_str(), sides) {
            ("properties", (old_properties, new_properties)) => {
                diff_properties(path, new, old_properties, new_properties, changes);
            }
            ("items", (Some(Value::Object(_)), Some(Value::Object(_)))) => {
                diff_level(&format!("{path}[]"), &old[keyword], &new[keyword], changes);
            }
            ("additionalProperties", (Some(Value::Object(_)), Some(Value::Object(_)))) => {
                diff_level(&format!("{path}.*"), &old[keyword], &new[keyword], changes);
            }
            (name, (before, after)) if !is_same_value(name, before, after) => changes.push(Change {
                path: path.to_owned(),
                keyword: name.to_owned(),
                before: before.cloned(),
                after: after.cloned(),
                demanded: false,
            }),
            _ => {}
        }
    }
}

fn diff_properties(
    path: &str,
    parent: &Map<String, Value>,
    before: Option<&Value>,
    after: Option<&Value>,
    changes: &mut Vec<Change>,
) {
    let empty = Map::new();
    let [old, new] = [before, after].map(|side| side.and_then(Value::as_object).unwrap_or(&empty));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let path = format!("{path}.{name}");
        match (old.get(name), new.get(name)) {
            (Some(before), Some(after)) => diff_level(&path, before, after, changes),
            (before, after) => {
                let required = parent.get("required").and_then(Value::as_array);
                let required = required.is_some_and(|names| names.iter().any(|other| other == name.as_str()));
                let filled_in = after.is_some_and(|schema| schema.get("default").is_some());
                changes.push(Change {
                    path,
                    keyword: PROPERTY.to_owned(),
                    before: before.cloned(),
                    after: after.cloned(),
                    demanded: required && !filled_in,
                });
            }
        }
    }
}

pub(super) fn is_same_value(keyword: &str, before: Option<&Value>, after: Option<&Value>) -> bool {
    match (keyword, before.and_then(Value::as_array), after.and_then(Value::as_array)) {
        ("required" | "enum", Some(before), Some(after)) => {
            before.len() == after.len() && before.iter().all(|value| after.contains(value))
        }
        _ => before == after,
    }
}

/// The new structure with the descriptions of the old one, wherever the old one has some.
pub fn keep_descriptions(new: &Value, old: &Value) -> Value {
    let Value::Object(map) = new else { return new.clone() };
    let mut result = map.clone();
    if let Some(ours) = old.get("description") {
        result.insert("description".to_owned(), ours.clone());
    }
    if let Some(Value::Object(properties)) = result.get_mut("properties") {
        for (name, schema) in properties {
            *schema = keep_descriptions(schema, &old["properties"][name]);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(schema) = result.get_mut(keyword) {
            *schema = keep_descriptions(schema, &old[keyword]);
        }
    }
    Value::Object(result)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changes(before: &Value, after: &Value) -> Vec<String> {
        diff_schemas("spec", before, after).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_level_is_compared() {
        let before = json!({ "type": "object", "required": ["a", "b"], "properties": {
            "a": { "type": "array", "items": { "type": "string" } },
            "b": { "type": "object", "additionalProperties": { "properties": { "c": { "type": "string" } } } },
            "gone": { "type": "integer" },
        } });
        let after = json!({ "type": "object", "required": ["b", "a", "new"], "properties": {
            "a": { "type": "array", "items": { "type": "integer" } },
            "b": { "type": "object", "additionalProperties": { "properties": { "c": { "type": "string", "maxLength": 3 } } } },
            "new": { "type": "boolean" },
        } });
        assert_eq!(
            changes(&before, &after),
            [
                "spec.a[]: type \"string\" became \"integer\"",
                "spec.b.*.c: maxLength 3 added",
                "spec.gone: removed (integer)",
                "spec.new: added (boolean, required)",
                "spec: required [\"a\",\"b\"] became [\"b\",\"a\",\"new\"]",
            ]
        );
        assert!(changes(&before, &before).is_empty());
    }

    #[test]
    fn our_descriptions_stay_and_new_fields_bring_theirs() {
        let old = json!({ "description": "ours", "properties": { "a": { "description": "ours", "type": "string" } } });
        let new = json!({ "description": "theirs", "properties": {
            "a": { "description": "theirs", "type": "integer" },
            "b": { "items": { "description": "theirs" } },
        } });
        assert_eq!(
            keep_descriptions(&new, &old),
            json!({ "description": "ours", "properties": {
                "a": { "description": "ours", "type": "integer" },
                "b": { "items": { "description": "theirs" } },
            } })
        );
    }
}
