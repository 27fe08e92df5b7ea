//! Members of a document.

use serde_json::{Map, Value};

/// Sets a member, and every one that leads to it.
pub(in crate::cluster::backends) fn set(
    spec: &mut Map<String, Value>,
    path: &[impl AsRef<str>],
    value: Value,
) {
    match path {
        [] => {}
        [last] => {
            spec.insert(last.as_ref().to_owned(), value);
        }
        [first, rest @ ..] => {
            let mut inner = match spec.remove(first.as_ref()) {
                Some(Value::Object(inner)) => inner,
                Some(_) | None => Map::new(),
            };
            set(&mut inner, rest, value);
            spec.insert(first.as_ref().to_owned(), Value::Object(inner));
        }
    }
}

/// A member, if it is not created yet.
pub(in crate::cluster::backends) fn default(
    spec: &mut Map<String, Value>,
    member: &str,
    value: impl FnOnce() -> Value,
) {
    if !spec.contains_key(member) {
        spec.insert(member.to_owned(), value());
    }
}
