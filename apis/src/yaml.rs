//! YAML that reads well and means the same to YAML 1.1 and 1.2 readers.

mod read;

pub use read::{InvalidYaml, parse_documents, parse_one};

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::DoubleQuoted;

use crate::collect;

/// Writes a value as a YAML document: keys sorted (so that the bytes do not depend on how a map was built), texts of several
/// lines as literal blocks, others on one line each, quoted where a reader of YAML 1.1 (Go, Python) would see something else in them.
///
/// # Errors
/// Never for values from JSON; the writer's own errors are passed on.
pub fn to_yaml(value: &Value) -> Result<String, serde_saphyr::SerializeError> {
    let options = serde_saphyr::ser_options! {
        // Longer than any text of ours: only texts of several lines become blocks.
        folded_wrap_chars: 10_000_000,
    };
    let mut text = serde_saphyr::to_string_with_options(&Written(&sort_keys(value)), options)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// A value, with those texts quoted that the writer would make blocks of which Go reads nothing.
struct Written<'a>(&'a Value);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if begins_with_tab(text) => DoubleQuoted(text).serialize(serializer),
            Value::Array(items) => serializer.collect_seq(items.iter().map(Written)),
            Value::Object(map) => {
                serializer.collect_map(map.iter().map(|(key, value)| (key, Written(value))))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.0.serialize(serializer)
            }
        }
    }
}

/// Whether the first line that is not empty begins with a tab: that is no indentation, and a block would need to say how deep it is.
fn begins_with_tab(text: &str) -> bool {
    text.trim_start_matches('\n').starts_with('\t')
}

/// The same value with its keys sorted: JSON maps keep or sort theirs depending on a feature that any crate in the build may
/// turn on.
pub fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            Value::Object(collect::to_object(
                entries.into_iter().map(|(key, value)| (key.clone(), sort_keys(value))),
            ))
        }
        Value::Array(items) => Value::Array(items.iter().map(sort_keys).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_block_does_not_begin_with_a_tab() {
        let value = json!({ "list": ["\tfoo\nbar"], "text": "\n\tfoo\n" });
        let text = to_yaml(&value).unwrap();
        assert_eq!(text, "list:\n- \"\\tfoo\\nbar\"\ntext: \"\\n\\tfoo\\n\"\n");
        let block = json!({ "text": "foo\n\tbar\n" });
        assert_eq!(to_yaml(&block).unwrap(), "text: |\n  foo\n  \tbar\n");
    }
}
