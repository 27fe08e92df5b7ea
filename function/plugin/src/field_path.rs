//! Order of claims by a field, as `kubectl get --sort-by` has it.

use std::cmp::Ordering;

use serde_json::Value;

/// Columns of the table that have a field, and that field.
const COLUMNS: [(&str, &str); 8] = [
    ("namespace", ".metadata.namespace"),
    ("name", ".metadata.name"),
    ("phase", ".status.phase"),
    ("backend", ".status.backend.kind"),
    ("version", ".status.version"),
    ("expires", ".status.expiresAt"),
    ("hub", ".status.hub.name"),
    ("age", ".metadata.creationTimestamp"),
];

/// The path of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    expression: String,
    keys: Vec<String>,
}

impl FieldPath {
    /// Names of columns that can be sorted by.
    pub fn column_names() -> impl Iterator<Item = &'static str> {
        COLUMNS.into_iter().map(|(name, _)| name)
    }

    /// Reads the name of a column, or a path such as `.metadata.creationTimestamp`, with or without braces and the first dot.
    /// None if it is anything else that kubectl may know, such as a filter.
    pub fn parse(text: &str) -> Option<Self> {
        let column = COLUMNS.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        let path = column.map_or(text, |(_, path)| path);
        let path = path.strip_prefix('{').and_then(|path| path.strip_suffix('}')).unwrap_or(path);
        let path = path.strip_prefix('.').unwrap_or(path);
        let keys = split_keys(path)?;
        Some(Self { expression: format!("{{.{path}}}"), keys })
    }

    /// The path as a `JSONPath` expression of kubectl.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    fn find_value<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        let step = |value: &'a Value, key: &String| match value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            value => value.get(key),
        };
        self.keys.iter().try_fold(object, step).filter(|value| !value.is_null())
    }

    /// `true` if an object has the field.
    pub fn is_in(&self, object: &Value) -> bool {
        self.find_value(object).is_some()
    }

    /// Which of two objects comes first. Objects without the field come before those with it, as in kubectl.
    pub fn compare(&self, one: &Value, other: &Value) -> Ordering {
        match (self.find_value(one), self.find_value(other)) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(one), Some(other)) => match (one.as_f64(), other.as_f64()) {
                (Some(one), Some(other)) => one.total_cmp(&other),
                _ => sort_text(one).cmp(&sort_text(other)),
            },
        }
    }
}

fn sort_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The keys between dots that no backslash precedes. `[0]` is an index.
fn split_keys(path: &str) -> Option<Vec<String>> {
    let mut keys = vec![String::new()];
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        let key = keys.last_mut()?;
        match letter {
            '\\' => key.push(letters.next()?),
            '.' => keys.push(String::new()),
            '[' => {
                let index: String = letters.by_ref().take_while(|c| *c != ']').collect();
                index.parse::<usize>().ok()?;
                keys.push(index);
            }
            plain if plain.is_ascii_alphanumeric() || "-_/".contains(plain) => key.push(plain),
            _ => return None,
        }
    }
    keys.iter().all(|key| !key.is_empty()).then_some(keys)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_those_of_kubectl() {
        let object = json!({
            "metadata": { "name": "demo", "labels": { "a.b/c": "x" } },
            "status": { "conditions": [{ "type": "Ready" }], "nodes": { "ready": 3 } },
        });
        for path in [
            "name",
            "NAME",
            ".metadata.name",
            "metadata.name",
            "{.metadata.name}",
            r".metadata.labels.a\.b/c",
            ".status.conditions[0].type",
        ] {
            assert!(FieldPath::parse(path).unwrap().is_in(&object), "{path}");
        }
        assert_eq!(FieldPath::parse("age").unwrap().expression(), "{.metadata.creationTimestamp}");
        assert!(!FieldPath::parse(".status.nodes.desired").unwrap().is_in(&object));
        for wrong in ["", ".", ".a..b", "{.items[?(@.a)]}", "{range .items}", "a b", ".a[x]"] {
            assert_eq!(FieldPath::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_have_their_own_order_and_absent_fields_come_first() {
        let path = FieldPath::parse(".n").unwrap();
        let mut objects = vec![json!({ "n": 10 }), json!({ "n": 9 }), json!({})];
        objects.sort_by(|one, other| path.compare(one, other));
        assert_eq!(objects, [json!({}), json!({ "n": 9 }), json!({ "n": 10 })]);
        let text = FieldPath::parse(".t").unwrap();
        assert_eq!(text.compare(&json!({ "t": "b" }), &json!({ "t": "a" })), Ordering::Greater);
    }
}
