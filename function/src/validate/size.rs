//! How large a claim may be.
//!
//! provider-kubernetes keeps a manifest twice in one Object, as it is asked for and as the hub has it. If both do not fit into what
//! etcd takes, it can report nothing any more, not even why the hub refuses.

use serde_json::Value;

use super::Problem;
use crate::templates::COMPANIONS;

/// The most that is handed to a hub, in bytes of JSON: two of it and the rest of an Object stay below the 1.5 MiB that etcd takes of one object by
/// default (`--max-request-bytes`).
pub(crate) const MOST: usize = 512 << 10;

/// The most of a block that picks a cluster out of a pool, in bytes on the wire. All claims are counted by it, so that it has to be short.
pub(crate) const MOST_OF_A_CHOICE: usize = 8 << 10;

/// Whether a field is too large to be handed to a hub.
pub(super) fn judge(field: &str, value: &Value) -> Option<Problem> {
    let size = stored(value);
    (size > MOST).then(|| Problem {
        field: field.to_owned(),
        sentence: format!("has {size} bytes of JSON, and a hub is given at most {MOST}; make it shorter"),
    })
}

/// Whether what a claim says beside its template is too large together: it is told of the largest.
pub(crate) fn judge_companions(spec: &Value) -> Option<Problem> {
    let sizes = COMPANIONS.iter().chain(&["byoc"]).map(|name| (stored(&spec[*name]), *name));
    let (sum, largest) = sizes.fold((0, (0, "")), |(sum, largest), size| (sum + size.0, largest.max(size)));
    (sum > MOST).then(|| Problem {
        field: format!("spec.{}", largest.1),
        sentence: format!(
            "has {} bytes of JSON, and all that belongs to a template may have {MOST}; make it shorter",
            largest.0
        ),
    })
}

/// Bytes of a value as API servers store it: Go's JSON, in which some characters have six.
fn stored(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(is) => 5 - usize::from(*is),
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => stored_text(text),
        Value::Array(items) => 2 + items.iter().map(|item| stored(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(name, field)| stored_text(name) + stored(field) + 2).sum::<usize>()
        }
    }
}

fn stored_text(text: &str) -> usize {
    let wide = |c: char| match c {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    };
    2 + text.chars().map(wide).sum::<usize>()
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
            assert_eq!(stored(&value), size, "{value}");
        }
    }
}
