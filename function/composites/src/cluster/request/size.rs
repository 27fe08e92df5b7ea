//! Limits of a claim: sizes, and nesting.
//!
//! provider-kubernetes stores a manifest twice in one Object: as requested and as the hub has it. If both together exceed the limit of
//! etcd, it cannot report anything any more, not even a refusal of the hub.

use serde_json::Value;

use crate::{cluster::request::COMPANIONS, sdk::composite::FieldProblem};

/// The most that is handed to a hub, in bytes of JSON: two of it and the rest of an Object stay below the 1.5 MiB that etcd takes of one object by
/// default (`--max-request-bytes`).
pub(crate) const MAX_BYTES: usize = 512 << 10;

/// Whether a field is too large to be handed to a hub.
pub(crate) fn block_problem(field: &str, value: &Value) -> Option<FieldProblem> {
    let size = stored_size(value);
    (size > MAX_BYTES).then(|| FieldProblem {
        field: field.to_owned(),
        sentence: format!(
            "has {size} bytes of JSON, and a hub is given at most {MAX_BYTES}; make it shorter"
        ),
    })
}

/// Whether what a claim says beside its template is too large together: it is told of the largest.
pub(crate) fn companions_problem(spec: &Value) -> Option<FieldProblem> {
    let sizes = COMPANIONS.iter().chain(&["byoc"]).map(|name| (stored_size(&spec[*name]), *name));
    let (sum, largest) = sizes.fold((0, (0, "")), |(sum, largest), size| (sum + size.0, largest.max(size)));
    (sum > MAX_BYTES).then(|| FieldProblem {
        field: format!("spec.{}", largest.1),
        sentence: format!(
            "has {} bytes of JSON, and all that belongs to a template may have {MAX_BYTES}; make it shorter",
            largest.0
        ),
    })
}

/// Bytes of a value as API servers store it: Go's JSON, in which some characters have six.
fn stored_size(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(is) => 5 - usize::from(*is),
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => stored_text_size(text),
        Value::Array(items) => 2 + items.iter().map(|item| stored_size(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields
                .iter()
                .map(|(name, field)| stored_text_size(name) + stored_size(field) + 2)
                .sum::<usize>()
        }
    }
}

fn stored_text_size(text: &str) -> usize {
    let wide = |c: char| match c {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    };
    2 + text.chars().map(wide).sum::<usize>()
}

/// Whether objects and lists are nested within a depth.
pub(crate) fn is_within(value: &Value, depth: usize) -> bool {
    match (value, depth.checked_sub(1)) {
        (Value::Array(items), Some(depth)) => items.iter().all(|item| is_within(item, depth)),
        (Value::Object(fields), Some(depth)) => fields.values().all(|field| is_within(field, depth)),
        (Value::Array(_) | Value::Object(_), None) => false,
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_those_that_go_writes() {
        // Each was counted from what json.Marshal of Go 1.26 writes, and a separator that the last member of an object or list has not.
        for (value, size) in [
            (json!(null), 4),
            (json!(true), 4),
            (json!(false), 5),
            (json!(-12), 3),
            (json!(1.5), 3),
            (json!("a\"b\\c\nd"), 12),
            (json!("<&>\u{2028}\u{1}ä"), 34),
            (json!([1, 2]), 5 + 1),
            (json!({ "a": "b" }), 9 + 1),
            (json!({}), 2),
        ] {
            assert_eq!(stored_size(&value), size, "{value}");
        }
    }
}
