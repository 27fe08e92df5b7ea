//! Fields of a schema as a table in Markdown.

use std::fmt::Write as _;

use serde_json::Value;

/// Depth below which fields are part of their parent's row: foreign objects are explained by their own projects.
const DEEPEST: usize = 6;

/// Text in one cell of a table.
pub fn cell(text: &str) -> String {
    code_cell(text).replace('<', "&lt;")
}

/// Code in one cell of a table, without the marks around it.
pub fn code_cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// The table of all fields of a schema. References are looked up in `root`.
pub fn field_table(schema: &Value, root: &Value) -> String {
    let mut out = String::from("| field | type | default | meaning |\n| --- | --- | --- | --- |\n");
    write_fields(&mut out, "", schema, root, 0);
    out
}

/// A schema without references and without the alternative `null`.
fn resolved<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    if let Some(path) = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        return root.pointer(path).map_or(schema, |target| resolved(target, root));
    }
    let alternatives = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema[*key].as_array());
    let is_some = |schema: &&Value| {
        schema["type"] != "null" && (!schema["$ref"].is_null() || !schema["type"].is_null())
    };
    match alternatives.and_then(|all| all.iter().find(is_some)) {
        Some(first) if schema["properties"].is_null() => resolved(first, root),
        _ => schema,
    }
}

/// Name of a schema's type.
fn type_name(schema: &Value, root: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> =
            words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
        if !words.is_empty() {
            return words.join(", ");
        }
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return "integer or string".to_owned();
    }
    let name = match &schema["type"] {
        Value::String(name) => name.as_str(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("any")
        }
        _ => "any",
    };
    match name {
        "array" => format!("list of {}", type_name(resolved(&schema["items"], root), root)),
        "object" if schema["additionalProperties"].is_object() => "map".to_owned(),
        other => other.to_owned(),
    }
}

fn write_fields(out: &mut String, path: &str, schema: &Value, root: &Value, depth: usize) {
    let schema = resolved(schema, root);
    let Some(properties) = schema["properties"].as_object() else { return };
    for (name, field) in properties {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let whole = resolved(field, root);
        let described = if field["description"].is_null() { whole } else { field };
        let default = match &field["default"] {
            Value::Null => String::new(),
            other => format!("`{}`", code_cell(&other.to_string())),
        };
        let meaning = cell(described["description"].as_str().unwrap_or_default());
        writeln!(out, "| `{path}` | {} | {default} | {meaning} |", type_name(whole, root)).unwrap();
        if depth == DEEPEST {
            continue;
        }
        write_fields(out, &path, whole, root, depth + 1);
        write_fields(out, &format!("{path}[]"), &whole["items"], root, depth + 1);
        write_fields(out, &format!("{path}.*"), &whole["additionalProperties"], root, depth + 1);
    }
}

/// The comparison sees what it is for.
#[test]
fn fields_have_paths_types_and_meanings() {
    let schema = serde_json::json!({
        "properties": {
            "nodes": { "type": "array", "items": { "$ref": "#/$defs/node" }, "description": "All\nnodes | of it." },
            "mode": { "enum": ["on", "off"], "default": "off" },
        },
        "$defs": { "node": { "type": "object", "properties": { "name": { "type": ["string", "null"] } } } },
    });
    let table = field_table(&schema, &schema);
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert_eq!(
        rows,
        [
            "| `mode` | `on`, `off` | `\"off\"` |  |",
            "| `nodes` | list of object |  | All nodes \\| of it. |",
            "| `nodes[].name` | string |  |  |",
        ]
    );
}
