//! Check of a value against a schema: undeclared fields, and errors in declared ones.
//!
//! Only keywords of structural schemas of Kubernetes are supported: `type`, `properties`, `additionalProperties`, `items`, `required`,
//! `nullable`. A schema that says something else about a value is taken to allow it: the hub has the last word. Output is sorted, bounded
//! and safe to show to a tenant: it names paths and types, never values.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Maximum number of listed findings; the rest is counted. A condition message has room for about this many.
const MAX_FINDINGS: usize = 20;
/// Maximum depth. Deeper than any of our schemas; bounds the stack on hostile values.
const MAX_DEPTH: usize = 64;
/// Maximum length of one key within a path, in characters. Keys are the tenant's text and may be 64 KiB long.
const MAX_KEY: usize = 64;

/// Paths of the fields in `block` that `schema` does not declare, such as `releases.latest.release.relative` or
/// `buildRoot.project_image.build_args[0].secret`. A subtree that is not declared is named once, by its top.
///
/// Sorted; after 20 paths a last entry says `and N more`. Whether the schema preserves unknown fields makes no difference.
pub fn unknown_fields(schema: &Value, block: &Map<String, Value>) -> Vec<String> {
    let mut found = BTreeSet::new();
    inspect_block(schema, block, &mut |path, finding| {
        if matches!(finding, Finding::Unknown) {
            found.insert(path.to_owned());
        }
    });
    let more = found.len().saturating_sub(MAX_FINDINGS);
    let mut listed: Vec<String> = found.into_iter().take(MAX_FINDINGS).collect();
    if more > 0 {
        listed.push(format!("and {more} more"));
    }
    listed
}

/// Finds the values in `block` that the hub's schema would refuse: the path of a field, and a sentence about it (a value of a wrong type,
/// or a required field that is missing). The path of the block itself is empty.
///
/// Sorted by path; after 20 findings a last one with an empty path says `and N more`. Null counts as absent, as in an API server.
pub fn find_problems(schema: &Value, block: &Map<String, Value>) -> Vec<(String, String)> {
    let mut found = BTreeSet::new();
    inspect_block(schema, block, &mut |path, finding| match finding {
        Finding::Unknown => {}
        Finding::Missing => {
            found.insert((path.to_owned(), "is required".to_owned()));
        }
        Finding::Type { wanted, got } => {
            found.insert((
                path.to_owned(),
                format!("must be {}, not {}", with_article(wanted), with_article(got)),
            ));
        }
    });
    let more = found.len().saturating_sub(MAX_FINDINGS);
    let mut listed: Vec<(String, String)> = found.into_iter().take(MAX_FINDINGS).collect();
    if more > 0 {
        listed.push((String::new(), format!("and {more} more")));
    }
    listed
}

enum Finding<'a> {
    Unknown,
    Missing,
    Type { wanted: &'a str, got: &'static str },
}

/// Receiver of findings.
type Report<'a> = &'a mut dyn FnMut(&str, Finding<'_>);

/// The whole block, at its top.
fn inspect_block(schema: &Value, block: &Map<String, Value>, report: Report<'_>) {
    let Some(schema) = schema.as_object() else { return };
    inspect_members(schema, block, &mut String::new(), MAX_DEPTH, report);
}

fn inspect_value(schema: &Value, value: &Value, path: &mut String, depth: usize, report: Report<'_>) {
    let (Some(depth), Some(schema)) = (depth.checked_sub(1), schema.as_object()) else { return };
    let wanted = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    if !matches_type(wanted, value) {
        report(path, Finding::Type { wanted, got: type_of(value) });
        return;
    }
    match value {
        Value::Object(members) => self::inspect_members(schema, members, path, depth, report),
        Value::Array(items) => {
            if let Some(inner) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    let length = path.len();
                    let _ = write!(path, "[{index}]");
                    inspect_value(inner, item, path, depth, report);
                    path.truncate(length);
                }
            }
        }
        _ => {}
    }
}

/// Each member of an object, and those that it lacks.
fn inspect_members(
    schema: &Map<String, Value>,
    members: &Map<String, Value>,
    path: &mut String,
    depth: usize,
    report: Report<'_>,
) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let additional = schema.get("additionalProperties");
    for (key, member) in members.iter().filter(|(_, member)| !member.is_null()) {
        let length = push_key(path, key);
        if let Some(inner) = properties.and_then(|properties| properties.get(key)) {
            inspect_value(inner, member, path, depth, report);
        } else if let Some(inner) = additional.filter(|inner| **inner != Value::Bool(false)) {
            inspect_value(inner, member, path, depth, report);
        } else if properties.is_some() || additional.is_some() {
            report(path, Finding::Unknown);
        }
        path.truncate(length);
    }
    for key in
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        if members.get(key).is_none_or(Value::is_null) {
            let length = push_key(path, key);
            report(path, Finding::Missing);
            path.truncate(length);
        }
    }
}

/// Appends a key and returns the length to go back to. A key that would be ambiguous or unprintable in a path is quoted.
pub(crate) fn push_key(path: &mut String, key: &str) -> usize {
    let length = path.len();
    let plain = !key.is_empty()
        && key.len() <= MAX_KEY
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/'));
    if plain {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
    } else {
        let mut short: String = key.chars().take(MAX_KEY).collect();
        if short.len() < key.len() {
            short.push('…');
        }
        // Writing to a String cannot fail.
        let _ = write!(path, "[{short:?}]");
    }
    length
}

/// An integer may be written as `2.0`: numbers travel as doubles through protobuf.
pub(crate) fn matches_type(wanted: &str, value: &Value) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => true,
    }
}

pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

pub(crate) fn with_article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => "a list".to_owned(),
        "integer" => "a whole number".to_owned(),
        "object" => "an object".to_owned(),
        other => format!("a {other}"),
    }
}
