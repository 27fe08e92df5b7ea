//! Overlays: what an entry merges over the documents of which objects are made, and which paths it must leave alone.

use serde_json::{Map, Value};

use crate::ci_operator::inspect::push_key;

/// A document: its name in an entry, what it begins with, and the paths that nothing may be merged over.
pub(super) type Document<'a> = (&'a str, &'a Map<String, Value>, Vec<Vec<String>>);

/// Merges as RFC 7396 says: objects are merged, anything else is replaced, and null removes.
pub fn merge_overlay(document: &mut Map<String, Value>, overlay: Option<&Value>) {
    let Some(Value::Object(overlay)) = overlay else { return };
    for (key, member) in overlay {
        match member {
            Value::Null => {
                document.remove(key);
            }
            Value::Object(_) => {
                let mut inner = match document.remove(key) {
                    Some(Value::Object(inner)) => inner,
                    Some(_) | None => Map::new(),
                };
                merge_overlay(&mut inner, Some(member));
                document.insert(key.clone(), Value::Object(inner));
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                document.insert(key.clone(), member.clone());
            }
        }
    }
}

/// Finds errors in an overlay: the path, with a dot before each member, and a sentence.
pub(super) fn find_flaws(overlay: &Map<String, Value>, documents: &[Document<'_>]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (key, member) in overlay {
        let mut path = String::from("x");
        push_key(&mut path, key);
        let at = path.split_off(1);
        let Some((_, base, guarded)) = documents.iter().find(|(name, _, _)| name == key) else {
            let names: Vec<&str> = documents.iter().map(|(name, _, _)| *name).collect();
            found.push((at, format!("is none of {}", names.join(" and "))));
            continue;
        };
        match member {
            Value::Object(members) => {
                let base = Some(*base);
                Walk { guarded, found: &mut found }.inspect_member(&at, &mut Vec::new(), members, base);
            }
            _ => found.push((at, "is not an object".into())),
        }
    }
    found
}

struct Walk<'a> {
    guarded: &'a [Vec<String>],
    found: &'a mut Vec<(String, String)>,
}

impl Walk<'_> {
    fn inspect_member(
        &mut self,
        at: &str,
        path: &mut Vec<String>,
        members: &Map<String, Value>,
        base: Option<&Map<String, Value>>,
    ) {
        for (key, member) in members {
            let mut at = at.to_owned();
            push_key(&mut at, key);
            path.push(key.clone());
            let below = base.and_then(|base| base.get(key));
            let leads = |guarded: &&Vec<String>| guarded.starts_with(path);
            match (self.guarded.iter().find(leads), member) {
                (Some(guarded), _) if guarded.len() == path.len() => {
                    self.found.push((
                        at,
                        "is written by the function, or a parameter leads there; leave it out".into(),
                    ));
                }
                (_, Value::Object(_)) if below.is_some_and(|below| !below.is_object()) => {
                    self.found.push((at, "goes through what is not an object in backendRef".into()));
                }
                (_, Value::Object(members)) => {
                    self.inspect_member(&at, path, members, below.and_then(Value::as_object));
                }
                (Some(guarded), _) => {
                    let words = format!(
                        "would replace {}, which is written by the function or a parameter",
                        guarded.join(".")
                    );
                    self.found.push((at, words));
                }
                (None, _) => {}
            }
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_merged_and_anything_else_is_replaced_or_removed() {
        let mut document = json!({ "a": { "b": 1, "c": [1, 2] }, "d": "x", "e": { "f": 1 } });
        let overlay = json!({ "a": { "c": [3], "g": { "h": null, "i": true } }, "d": { "j": 1 }, "e": null });
        merge_overlay(document.as_object_mut().unwrap(), Some(&overlay));
        assert_eq!(document, json!({ "a": { "b": 1, "c": [3], "g": { "i": true } }, "d": { "j": 1 } }));
    }
}
