//! Numbers and booleans in place of strings: YAML reads an unquoted 4.20 as the number 4.2.
//!
//! Input: a schema, and a value with its source lines. Output: the value with the original strings in those places, and the quotes to add.
//! The rest of the check reads the corrected value, so one such mistake hides no other.

use std::sync::LazyLock;

use serde_json::{Value, json};
use testplatform_apis::{catalogue, template::parameter::join_path};

use super::lines::Lines;

/// Corrections: path and message of each.
pub(super) type Unquoted = Vec<(String, String)>;

/// The value with strings wherever the schema has strings.
pub(super) fn quote_texts(schema: &Value, value: &Value, path: &str, lines: &Lines) -> (Value, Unquoted) {
    let mut reader = TextReader { root: schema, lines, unquoted: Unquoted::new() };
    let corrected = reader.read_value(schema, value, path);
    (corrected, reader.unquoted)
}

struct TextReader<'a> {
    /// Schema with the definitions of all references.
    root: &'a Value,
    lines: &'a Lines,
    unquoted: Unquoted,
}

impl TextReader<'_> {
    fn read_value(&mut self, schema: &Value, value: &Value, path: &str) -> Value {
        let schema = resolve_schema(self.root, schema);
        match value {
            Value::Object(members) => {
                let inner =
                    |key: &String| schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
                let read = members.iter().map(|(key, member)| {
                    (key.clone(), self.read_value(inner(key), member, &join_path(path, key)))
                });
                Value::Object(read.collect())
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items
                    .map(|(i, item)| self.read_value(&schema["items"], item, &format!("{path}[{i}]")))
                    .collect()
            }
            Value::Number(_) if is_text(schema) => self.quote_scalar(value, path, "number"),
            Value::Bool(_) if is_text(schema) => self.quote_scalar(value, path, "boolean"),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    fn quote_scalar(&mut self, value: &Value, path: &str, kind: &str) -> Value {
        // An alias has another source location and text.
        let written = self
            .lines
            .scalar_text(path)
            .filter(|text| serde_saphyr::from_str(text).ok().as_ref() == Some(value));
        let text = written.unwrap_or_else(|| value.to_string());
        let sentence = format!("must be a text, and {text} is a {kind} in YAML: quote it, as in \"{text}\"");
        self.unquoted.push((path.to_owned(), sentence));
        Value::String(text)
    }
}

/// Maximum length of a duration. A number there lacks more than quotes; the parser of durations has the better message.
static DURATION_LENGTH: LazyLock<Value> = LazyLock::new(|| {
    let schema = json!(catalogue::build_schema());
    schema["$defs"]["Pool"]["properties"]["maxLifetime"]["maxLength"].clone()
});

/// Whether any string is valid: neither an enum nor a duration.
fn is_text(schema: &Value) -> bool {
    let is_string = match &schema["type"] {
        Value::String(type_) => type_ == "string",
        Value::Array(types) => types.iter().all(|type_| type_ == "string" || type_ == "null"),
        _ => false,
    };
    let chosen = ["enum", "const", "pattern", "format"].iter().any(|rule| !schema[rule].is_null());
    is_string && !chosen && schema["maxLength"] != *DURATION_LENGTH
}

/// Resolves a reference, and of an optional schema the schema of its value.
pub(super) fn resolve_schema<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let some = schema["anyOf"].as_array().and_then(|any| any.iter().find(|one| one["type"] != "null"));
    let schema = some.unwrap_or(schema);
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}
