//! Effect of a schema change on existing objects.
//!
//! The table is that of `cargo xpkg bump`, which compares one release of an XRD with the next.

use serde_json::{Map, Value, json};

use super::schema::{Change, PROPERTY};
use crate::bump::schema::{Verdict, compare_schemas};

/// Keywords without effect on objects.
const COSMETIC: [&str; 4] = ["description", "title", "example", "externalDocs"];
const UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";

/// Whether a change affects only readers.
pub fn is_cosmetic(change: &Change) -> bool {
    COSMETIC.contains(&change.keyword.as_str())
}

/// The verdict on one change: that on two schemas with no other difference.
pub fn evaluate_change(change: &Change) -> Verdict {
    let side = |value: &Option<Value>| -> Value {
        let schema = match (change.keyword.as_str(), value) {
            (_, None) => Map::new(),
            (PROPERTY, Some(schema)) => {
                let required = if change.demanded { json!(["field"]) } else { json!([]) };
                Map::from_iter([
                    ("properties".to_owned(), json!({ "field": schema })),
                    ("required".to_owned(), required),
                ])
            }
            (keyword, Some(value)) => Map::from_iter([(keyword.to_owned(), value.clone())]),
        };
        Value::Object(schema)
    };
    let differences = compare_schemas(&side(&change.before), &side(&change.after));
    let worst = differences.iter().map(|change| change.verdict).max();
    worst.unwrap_or(match change.keyword.as_str() {
        // No difference: more fields are preserved than before, or a rule was removed.
        UNKNOWN | "x-kubernetes-validations" => Verdict::Fine,
        // A change outside of the table counts as a restriction.
        _ => Verdict::Maybe,
    })
}

/// A verdict as text.
pub fn describe_verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fine => "compatible",
        Verdict::Warn => "changes behaviour",
        Verdict::Maybe => "may break claims in flight",
        Verdict::Breaking => "breaks claims in flight",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sync::diff_schemas;

    fn worst(before: &Value, after: &Value) -> Verdict {
        diff_schemas("spec", before, after).iter().map(evaluate_change).max().unwrap()
    }

    #[test]
    fn descriptions_are_for_readers() {
        let described = |text: &str| json!({ "description": text });
        assert!(diff_schemas("spec", &described("x"), &described("y")).iter().all(is_cosmetic));
    }

    /// The compatibility table, row by row.
    #[test]
    fn each_kind_of_change_has_its_verdict() {
        use Verdict::{Breaking as Breaks, Fine as Compatible, Maybe as MayBreak, Warn as Behaviour};
        let with = |field: Value| json!({ "type": "object", "properties": { "a": field } });
        let none = json!({ "type": "object", "properties": {} });
        for (before, after, expected) in [
            (none.clone(), with(json!({ "type": "string" })), Compatible),
            (with(json!({ "type": "string" })), none, Breaks),
            (with(json!({ "type": "string" })), with(json!({ "type": "integer" })), Breaks),
            (with(json!({ "type": "array", "items": {} })), with(json!({ "type": "object" })), Breaks),
            (with(json!({ "enum": ["x", "y"] })), with(json!({ "enum": ["x"] })), MayBreak),
            (with(json!({ "enum": ["x"] })), with(json!({ "enum": ["y", "x"] })), Compatible),
            (with(json!({})), with(json!({ "pattern": "x" })), MayBreak),
            (with(json!({ "pattern": "x" })), with(json!({})), Compatible),
            (with(json!({ "pattern": "x" })), with(json!({ "pattern": "y" })), MayBreak),
            (with(json!({ "minimum": 1 })), with(json!({ "minimum": 2 })), MayBreak),
            (with(json!({ "minimum": 2 })), with(json!({ "minimum": 1 })), Compatible),
            (with(json!({ "maxLength": 2 })), with(json!({ "maxLength": 1 })), MayBreak),
            (with(json!({ "maxLength": 1 })), with(json!({ "maxLength": 2 })), Compatible),
            (with(json!({})), with(json!({ "x-kubernetes-validations": [{ "rule": "true" }] })), MayBreak),
            (with(json!({})), with(json!({ "default": 1 })), Behaviour),
            (with(json!({ "default": 1 })), with(json!({ "default": 2 })), Behaviour),
            (with(json!({ "nullable": true })), with(json!({})), MayBreak),
            (with(json!({})), with(json!({ "nullable": true })), Compatible),
            (with(json!({})), with(json!({ "x-kubernetes-list-type": "set" })), Breaks),
            (with(json!({ "x-kubernetes-preserve-unknown-fields": true })), with(json!({})), Breaks),
            (
                with(json!({ "additionalProperties": true })),
                with(json!({ "additionalProperties": {} })),
                Breaks,
            ),
            (json!({ "required": ["a"] }), json!({ "required": [] }), Compatible),
            (json!({}), json!({ "required": ["a"] }), Breaks),
            (json!({}), json!({ "required": ["a"], "properties": { "a": {} } }), Breaks),
        ] {
            assert_eq!(worst(&before, &after), expected, "{before} -> {after}");
        }
    }
}
