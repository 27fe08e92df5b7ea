//! Numbers and booleans where a text belongs: YAML reads an unquoted 4.20 as the number 4.2.
//!
//! Input: a schema, and a value with the lines it was written on. Output: the value as it was written, with texts in those places, and what
//! to quote. The rest of the check reads the corrected value, so that one such mistake hides no other.

use std::sync::LazyLock;

use serde_json::{Value, json};
use testplatform_apis::{catalogue, template::parameter::join_path};

use super::{lines::Lines, strict::resolved};

/// A correction: path and sentence of each.
pub(super) type Unquoted = Vec<(String, String)>;

/// The value with texts where the schema has texts.
pub(super) fn quote_texts(schema: &Value, value: &Value, path: &str, lines: &Lines) -> (Value, Unquoted) {
    let mut reader = TextReader { root: schema, lines, unquoted: Unquoted::new() };
    let corrected = reader.read_value(schema, value, path);
    (corrected, reader.unquoted)
}

struct TextReader<'a> {
    /// The schema that references lead into.
    root: &'a Value,
    lines: &'a Lines,
    unquoted: Unquoted,
}

impl TextReader<'_> {
    fn read_value(&mut self, schema: &Value, value: &Value, path: &str) -> Value {
        let schema = resolved(self.root, schema);
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
        // An alias is written elsewhere, and as something else.
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

/// How long the text of a duration may be. A number lacks more than quotes there, which the reader of durations says better.
static DURATION_LENGTH: LazyLock<Value> = LazyLock::new(|| {
    let schema = json!(catalogue::build_schema());
    schema["$defs"]["Pool"]["properties"]["maxLifetime"]["maxLength"].clone()
});

/// Whether any text will do: it is no choice of some texts, and no duration.
fn is_text(schema: &Value) -> bool {
    let is_string = match &schema["type"] {
        Value::String(type_) => type_ == "string",
        Value::Array(types) => types.iter().all(|type_| type_ == "string" || type_ == "null"),
        _ => false,
    };
    let chosen = ["enum", "const", "pattern", "format"].iter().any(|rule| !schema[rule].is_null());
    is_string && !chosen && schema["maxLength"] != *DURATION_LENGTH
}
