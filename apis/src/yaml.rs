//! YAML that reads well and means the same to YAML 1.1 and 1.2 readers.

use serde_json::Value;

use crate::gather;

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
    let mut text = serde_saphyr::to_string_with_options(&sorted(value), options)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// The same value with its keys sorted: JSON maps keep or sort theirs depending on a feature that any crate in the build may
/// turn on.
pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            Value::Object(gather::object(
                entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))),
            ))
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
