//! YAML as a reader of YAML 1.1, such as Go's, understands it too.

use serde_json::Value;

/// Writes a value: keys sorted, so that the same value gives the same bytes; texts of several lines as blocks, others on one line.
pub fn to_yaml(value: &Value) -> Result<String, serde_saphyr::SerializeError> {
    let options = serde_saphyr::ser_options! {
        // Longer than any text: only texts of several lines become blocks.
        folded_wrap_chars: 10_000_000,
    };
    let mut text = serde_saphyr::to_string_with_options(&sorted(value), options)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// JSON maps keep or sort their keys depending on a feature that any crate in the build may turn on.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
