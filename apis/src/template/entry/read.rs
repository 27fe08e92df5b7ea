//! JSON → [`Document`], and everything that is wrong with its shape, not the first alone.

use serde_json::{Map, Value, json};

use super::{Document, EntryFlaw};
use crate::ci_operator::inspect::push_key;

/// The members of which each item is read by itself, so that a broken one is named and the others are looked at.
const PARTS: [&str; 9] = [
    "releases",
    "parameters",
    "nodeParameters",
    "allowedNodeClasses",
    "defaultNodeGroups",
    "prerequisites",
    "preCreate",
    "postInstall",
    "preDelete",
];
/// Those of them that are lists.
const LISTS: [&str; 6] =
    ["releases", "defaultNodeGroups", "prerequisites", "preCreate", "postInstall", "preDelete"];

/// Reads the document, with errors for the unreadable rest.
pub(super) fn read_document(data: &Value) -> (Document, Vec<EntryFlaw>) {
    let Some(members) = data.as_object() else {
        let sentence = if data.is_null() { "is missing" } else { "is not an object" };
        return (Document::default(), vec![EntryFlaw { path: "data".into(), sentence: sentence.into() }]);
    };
    let mut flaws = Vec::new();
    let mut sound = Map::new();
    for (key, member) in members {
        let mut path = "data".to_owned();
        push_key(&mut path, key);
        if member.is_null() {
            flaws.push(EntryFlaw { path, sentence: "is null; leave it out".into() });
        } else if PARTS.contains(&key.as_str()) {
            sound.insert(key.clone(), read_parts(key, member, &path, &mut flaws));
        } else if let Some(flaw) = find_flaw(key, member, &path) {
            flaws.push(flaw);
        } else {
            sound.insert(key.clone(), member.clone());
        }
    }
    match crate::json::read_value(Value::Object(sound)) {
        Ok(document) => (document, flaws),
        // Each member was read by itself, so this is none of theirs.
        Err(error) => {
            flaws.push(EntryFlaw { path: "data".into(), sentence: error.to_string() });
            (Document::default(), flaws)
        }
    }
}

/// The items that can be read.
fn read_parts(key: &str, member: &Value, path: &str, flaws: &mut Vec<EntryFlaw>) -> Value {
    match member {
        Value::Array(items) => {
            let sound = items.iter().enumerate().filter(|(i, item)| {
                let wrong = find_flaw(key, &json!([item]), &format!("{path}[{i}]"));
                flaws.extend(wrong.clone());
                wrong.is_none()
            });
            Value::Array(sound.map(|(_, item)| item.clone()).collect())
        }
        Value::Object(items) => {
            let mut sound = Map::new();
            for (name, item) in items {
                let mut path = path.to_owned();
                push_key(&mut path, name);
                match find_flaw(key, &json!({ name.as_str(): item }), &path) {
                    Some(wrong) => flaws.push(wrong),
                    None => {
                        sound.insert(name.clone(), item.clone());
                    }
                }
            }
            Value::Object(sound)
        }
        other => {
            flaws.extend(find_flaw(key, other, path));
            // Nothing of it can be read, and its absence is said already.
            if LISTS.contains(&key) { json!([]) } else { json!({}) }
        }
    }
}

/// Error of a document with only this member, if any.
fn find_flaw(key: &str, member: &Value, path: &str) -> Option<EntryFlaw> {
    let alone = crate::json::read_value::<Document>(json!({ key: member }));
    let sentence = alone.err()?.to_string();
    // All other fields have nothing to do with one that nobody knows.
    let unknown = sentence.starts_with(&format!("unknown field `{key}`"));
    let sentence = if unknown { "is not a field of an entry".to_owned() } else { sentence };
    Some(EntryFlaw { path: path.to_owned(), sentence })
}
