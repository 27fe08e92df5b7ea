//! What a change of a schema means to objects that exist.

use std::fmt;

use serde_json::Value;

use super::schema::{Change, PROPERTY};

/// How a change is felt, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// By readers only.
    Cosmetic,
    /// Everything that was accepted still is.
    Compatible,
    /// Accepted, but it may mean something else.
    Behaviour,
    /// Objects that the new schema does not allow may exist.
    MayBreak,
    /// Objects that exist are refused, or lose data.
    Breaks,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cosmetic => "cosmetic",
            Self::Compatible => "compatible",
            Self::Behaviour => "changes behaviour",
            Self::MayBreak => "may break claims in flight",
            Self::Breaks => "breaks claims in flight",
        })
    }
}

/// The verdict on one change.
pub fn verdict(change: &Change) -> Verdict {
    let sides = (change.before.as_ref(), change.after.as_ref());
    match (change.keyword.as_str(), sides) {
        ("description" | "title" | "example" | "externalDocs", _) => Verdict::Cosmetic,
        (PROPERTY, (None, _)) if change.demanded => Verdict::Breaks,
        (PROPERTY, (None, _)) => Verdict::Compatible,
        // Strict clients are refused, the others' data is pruned; a list that becomes a map is neither's friend.
        (PROPERTY | "type" | "format" | "items" | "x-kubernetes-int-or-string", _) => Verdict::Breaks,
        ("required", (before, after)) => {
            if subset(after, before) {
                Verdict::Compatible
            } else {
                Verdict::Breaks
            }
        }
        ("enum", (None, _)) => Verdict::MayBreak,
        ("enum", (_, None)) => Verdict::Compatible,
        ("enum", (before, after)) => tightened(!subset(before, after)),
        ("default", _) => Verdict::Behaviour,
        ("nullable", (_, after)) => tightened(after != Some(&Value::Bool(true))),
        ("x-kubernetes-preserve-unknown-fields", (_, after)) => {
            if after == Some(&Value::Bool(true)) {
                Verdict::Compatible
            } else {
                Verdict::Breaks
            }
        }
        ("additionalProperties", (_, after)) => {
            let opened = after.is_none() || after == Some(&Value::Bool(true));
            if opened { Verdict::Compatible } else { Verdict::Breaks }
        }
        ("x-kubernetes-list-type" | "x-kubernetes-list-map-keys" | "x-kubernetes-map-type", _) => {
            // Server-side apply merges by them.
            Verdict::Breaks
        }
        (keyword, (before, after)) => tightened(is_tighter(keyword, before, after)),
    }
}

fn tightened(tighter: bool) -> Verdict {
    if tighter { Verdict::MayBreak } else { Verdict::Compatible }
}

/// Whether every member of the one list is in the other; no list has no members.
fn subset(inner: Option<&Value>, outer: Option<&Value>) -> bool {
    let list = |side: Option<&Value>| side.and_then(Value::as_array).cloned().unwrap_or_default();
    let outer = list(outer);
    list(inner).iter().all(|member| outer.contains(member))
}

/// What is not known is taken for a restriction.
fn is_tighter(keyword: &str, before: Option<&Value>, after: Option<&Value>) -> bool {
    let Some(after) = after else { return false };
    let Some(before) = before else { return true };
    let numbers = before.as_f64().zip(after.as_f64());
    match (keyword, numbers) {
        (_, Some((before, after))) if keyword.starts_with("min") => after > before,
        (_, Some((before, after))) if keyword.starts_with("max") => after < before,
        ("x-kubernetes-validations", _) => {
            let rules = |side: &Value| -> Vec<Value> {
                side.as_array().into_iter().flatten().map(|rule| rule["rule"].clone()).collect()
            };
            let old = rules(before);
            rules(after).iter().any(|rule| !old.contains(rule))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sync::compare;

    fn worst(before: &Value, after: &Value) -> Verdict {
        compare("spec", before, after).iter().map(verdict).max().unwrap()
    }

    /// The compatibility table, row by row.
    #[test]
    fn each_kind_of_change_has_its_verdict() {
        use Verdict::{Behaviour, Breaks, Compatible, Cosmetic, MayBreak};
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
            (with(json!({ "description": "x" })), with(json!({ "description": "y" })), Cosmetic),
            (json!({ "required": ["a"] }), json!({ "required": [] }), Compatible),
            (json!({}), json!({ "required": ["a"] }), Breaks),
            (json!({}), json!({ "required": ["a"], "properties": { "a": {} } }), Breaks),
        ] {
            assert_eq!(worst(&before, &after), expected, "{before} -> {after}");
        }
    }
}
