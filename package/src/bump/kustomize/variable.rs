//! Variables: `$(NAME)` in texts, where a configuration says that kustomize replaces them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::field_path::{FieldPath, PathError, split_escaped};
use super::object::{Object, ObjectId};
use crate::bump::text;

/// An element of `vars`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Variable {
    /// The name.
    pub name: String,
    objref: ObjectReference,
    fieldref: FieldReference,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct ObjectReference {
    api_version: String,
    group: String,
    version: String,
    kind: String,
    name: String,
    namespace: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct FieldReference {
    field_path: String,
}

/// A field in which variables are replaced: an element of `varReference` in a file of `configurations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VariableField {
    path: String,
    group: String,
    version: String,
    kind: String,
}

impl Variable {
    /// Indexes of the objects that it names.
    pub fn find_objects(&self, objects: &[Object]) -> Vec<usize> {
        let all = objects.iter().enumerate();
        all.filter(|(_, object)| object.all_ids().any(|id| self.objref.names(&id)))
            .map(|(index, _)| index)
            .collect()
    }

    /// The value in its object.
    pub fn read_value(&self, object: &Object) -> Result<Value, PathError> {
        let path =
            if self.fieldref.field_path.is_empty() { "metadata.name" } else { &self.fieldref.field_path };
        // Here an index stands after the name: `spec.ports[0]`.
        let is_index =
            |part: &str| part.split_once(']').is_some_and(|(index, _)| index.parse::<usize>().is_ok());
        if !path.split('[').skip(1).all(is_index) {
            return Err(PathError::Unknown(format!(
                "{} has other brackets than an index",
                text::quote_excerpt(path)
            )));
        }
        let path = path.replace('[', ".").replace(']', "");
        let found = FieldPath::parse(&path)?.look_up(&object.value)?;
        found.filter(|value| !value.is_null()).cloned().ok_or_else(|| {
            let (id, path) = (object.id(), text::quote_excerpt(&path));
            PathError::Refused(format!("{id} has no {path}, which variable {} names", self.name))
        })
    }

    /// Whether its value is the name of its object.
    pub fn is_of_name(&self) -> bool {
        ["", "metadata.name"].contains(&&*self.fieldref.field_path)
    }
}

impl ObjectReference {
    fn names(&self, id: &ObjectId) -> bool {
        let (group, version) = match self.api_version.split_once('/') {
            Some(both) => both,
            None if self.api_version.is_empty() => (&*self.group, &*self.version),
            None => (&*self.group, &*self.api_version),
        };
        let namespace = id.namespace.as_deref().unwrap_or_default();
        group == id.group
            && version == id.version
            && self.kind == id.kind
            && self.name == id.name
            && (self.namespace.is_empty() || self.namespace == namespace)
    }
}

/// Fields in which kustomize replaces variables without a configuration. Those of workloads, which no check reads, are left out.
pub fn default_fields() -> [VariableField; 2] {
    ["metadata/labels", "metadata/annotations"]
        .map(|path| VariableField { path: path.to_owned(), ..VariableField::default() })
}

impl VariableField {
    /// Replaces variables in this field of an object. Returns whether anything changed.
    pub fn replace_in(
        &self,
        object: &mut Value,
        values: &BTreeMap<String, Value>,
    ) -> Result<bool, PathError> {
        let id = ObjectId::of(object);
        let is = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        if !(is(&self.group, &id.group) && is(&self.version, &id.version) && is(&self.kind, &id.kind)) {
            return Ok(false);
        }
        let before = object.clone();
        replace_below(&split_escaped(&self.path, '/'), object, values)?;
        Ok(*object != before)
    }
}

fn replace_below(
    path: &[String],
    value: &mut Value,
    values: &BTreeMap<String, Value>,
) -> Result<(), PathError> {
    let Some((key, rest)) = path.split_first() else { return replace_in_field(value, values) };
    match value {
        Value::Null => Ok(()),
        Value::Array(items) => items.iter_mut().try_for_each(|item| replace_below(path, item, values)),
        Value::Object(fields) => match fields.get_mut(key.trim_end_matches("[]")) {
            Some(field) => replace_below(rest, field, values),
            None => Ok(()),
        },
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let what = format!("{} of varReference leads through a scalar", text::quote_excerpt(key));
            Err(PathError::Refused(what))
        }
    }
}

/// In a list or a mapping, kustomize replaces variables in the direct elements.
fn replace_in_field(value: &mut Value, values: &BTreeMap<String, Value>) -> Result<(), PathError> {
    match value {
        Value::String(text) => *value = expand_text(text, values),
        Value::Object(fields) => {
            for field in fields.values_mut().filter(|field| field.is_string()) {
                *field = expand_text(field.as_str().unwrap_or_default(), values);
            }
        }
        Value::Array(items) => {
            if items.iter().any(|item| !item.is_string()) {
                let what = "varReference names a list with elements that are no texts";
                return Err(PathError::Refused(what.to_owned()));
            }
            for item in items {
                *item = expand_text(item.as_str().unwrap_or_default(), values);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// A text with its variables replaced. A text that is one variable takes the type of the value; `$$` stands for a dollar sign.
pub fn expand_text(content: &str, values: &BTreeMap<String, Value>) -> Value {
    let known = |name: &str| values.get(name).filter(|value| !(value.is_array() || value.is_object()));
    if let Some(name) = content.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'))
        && !name.contains(')')
        && let Some(value) = known(name)
    {
        return value.clone();
    }
    let mut out = String::new();
    let mut rest = content;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let name = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        if let Some((name, behind)) = name {
            match known(name) {
                Some(Value::String(text)) => out.push_str(text),
                Some(value) => out.push_str(&value.to_string()),
                None => out.extend(["$(", name, ")"]),
            }
            rest = behind;
        } else {
            out.push('$');
            rest = after.strip_prefix('$').unwrap_or(after);
        }
    }
    out.push_str(rest);
    Value::from(out)
}
