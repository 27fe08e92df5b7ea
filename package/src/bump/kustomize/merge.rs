//! Strategic merge of a patch into an object, as in kustomize: lists of built-in kinds merge by key, lists of other kinds are replaced.

use serde_json::{Map, Value};

use super::object::ObjectId;

const DIRECTIVE: &str = "$patch";

/// Merge keys of lists in built-in kinds, by the name of the list. The first key that an element has counts.
const KEYS: [(&str, &[&str]); 15] = [
    ("containers", &["name"]),
    ("initContainers", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("env", &["name"]),
    ("volumes", &["name"]),
    ("imagePullSecrets", &["name"]),
    ("secrets", &["name"]),
    ("webhooks", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumeDevices", &["devicePath"]),
    ("ports", &["containerPort", "port"]),
    ("hostAliases", &["ip"]),
    ("topologySpreadConstraints", &["topologyKey"]),
    ("ownerReferences", &["uid"]),
    ("conditions", &["type"]),
];

/// Groups with built-in kinds: kustomize has their schema.
const BUILT_IN: [&str; 5] = ["", "apps", "autoscaling", "batch", "policy"];

/// The object with a patch merged into it; none if the patch deletes it.
pub fn merge_patch(object: &Value, patch: &Value) -> Option<Value> {
    let group = ObjectId::of(object).group;
    let is_built_in = BUILT_IN.contains(&&*group) || group.ends_with(".k8s.io");
    merge_field(Some(object), patch, None, is_built_in)
}

/// A field with its patch; none if the patch removes it.
fn merge_field(field: Option<&Value>, patch: &Value, name: Option<&str>, is_built_in: bool) -> Option<Value> {
    match (field, patch) {
        (_, Value::Null) => None,
        (field, Value::Object(changes)) => match changes.get(DIRECTIVE).and_then(Value::as_str) {
            Some("delete") => None,
            Some("replace") => Some(without_directives(patch)),
            _ => {
                let base = field.and_then(Value::as_object);
                let mut result: Map<String, Value> = base.cloned().unwrap_or_default();
                for (key, change) in changes.iter().filter(|(key, _)| *key != DIRECTIVE) {
                    let before = base.and_then(|base| base.get(key));
                    match merge_field(before, change, Some(key), is_built_in) {
                        Some(value) => result.insert(key.clone(), value),
                        None => result.remove(key),
                    };
                }
                Some(Value::Object(result))
            }
        },
        (Some(Value::Array(before)), Value::Array(changes)) if is_built_in => {
            Some(Value::Array(merge_list(before, changes, name.unwrap_or_default())))
        }
        (_, patch) => Some(without_directives(patch)),
    }
}

fn merge_list(before: &[Value], changes: &[Value], name: &str) -> Vec<Value> {
    let keys = KEYS.iter().find(|(list, _)| *list == name).map_or(&[][..], |(_, keys)| keys);
    let key =
        keys.iter().find(|key| changes.iter().chain(before).any(|element| element.get(**key).is_some()));
    let directive = |element: &Value| element.get(DIRECTIVE).and_then(Value::as_str).map(str::to_owned);
    let is_replaced = changes.iter().any(|element| directive(element).as_deref() == Some("replace"));
    let Some(key) = key.filter(|_| !is_replaced) else {
        let is_alone = |element: &&Value| {
            directive(element).is_none() || element.as_object().is_some_and(|map| map.len() > 1)
        };
        return changes.iter().filter(is_alone).map(without_directives).collect();
    };
    let same = |one: &Value, other: &Value| one.get(*key).is_some() && one.get(*key) == other.get(*key);
    let mut rest = before.to_vec();
    // Elements of the patch come first, in its order.
    let mut result = Vec::new();
    for change in changes {
        let index = rest.iter().position(|element| same(element, change));
        let element = index.map(|index| rest.remove(index));
        result.extend(merge_field(element.as_ref(), change, None, true));
    }
    result.extend(rest);
    result
}

fn without_directives(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.iter().filter(|(key, value)| *key != DIRECTIVE && !value.is_null());
            Value::Object(fields.map(|(key, value)| (key.clone(), without_directives(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(without_directives).collect()),
        other => other.clone(),
    }
}
