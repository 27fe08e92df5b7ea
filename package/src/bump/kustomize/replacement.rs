//! Replacements: values that kustomize copies from one object to fields of others.

use serde::Deserialize;
use serde_json::Value;

use super::field_path::{FieldPath, PathError};
use super::field_value::FieldOptions;
use super::object::{self, Object, ObjectId};
use super::selector::{Selector, TargetSpec};
use crate::bump::{Problem, text};

/// The field of sources and targets without a path.
const DEFAULT_PATH: &str = "metadata.name";

/// An element of `replacements`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ReplacementEntry {
    /// A file with replacements.
    pub path: Option<String>,
    /// The file that has it, to report changes by.
    #[serde(skip)]
    pub file: String,
    source: Option<SourceSpec>,
    source_value: Option<String>,
    targets: Option<Vec<TargetFields>>,
}

/// The object and the field that a value is copied from.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct SourceSpec {
    group: String,
    version: String,
    kind: String,
    name: String,
    namespace: String,
    field_path: String,
    options: FieldOptions,
}

/// Objects and fields that a value is copied to.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct TargetFields {
    select: Option<TargetSpec>,
    reject: Vec<TargetSpec>,
    field_paths: Vec<String>,
    options: FieldOptions,
}

/// One target of a replacement, and the value for it.
#[derive(Clone, Debug)]
pub struct PreparedTarget {
    select: Selector,
    reject: Vec<Selector>,
    paths: Vec<FieldPath>,
    options: FieldOptions,
    /// None: only kustomize itself knows it.
    value: Option<Value>,
}

/// The replacements of a file: one, or a list.
pub fn read_file(path: &str, bytes: &[u8]) -> Result<Vec<ReplacementEntry>, Problem> {
    let mut found = Vec::new();
    for document in text::parse_documents(path, bytes)? {
        let items = match document {
            Value::Array(items) => items,
            one => vec![one],
        };
        for item in items {
            let entry: ReplacementEntry = serde_json::from_value(item).map_err(|error| {
                let what = format!("no replacement: {}", text::quote_excerpt(&error.to_string()));
                Problem::new(path, what, "correct the field, or remove it").at_line(1)
            })?;
            found.push(entry.read_from(path));
        }
    }
    Ok(found)
}

impl ReplacementEntry {
    /// The same, read from this file.
    pub fn read_from(mut self, file: &str) -> Self {
        file.clone_into(&mut self.file);
        self
    }

    /// Whether it has more than a path.
    pub fn is_inline(&self) -> bool {
        self.source.is_some() || self.source_value.is_some() || self.targets.is_some()
    }

    /// The last key of the path in the source.
    pub fn source_field(&self) -> Option<String> {
        let path = FieldPath::parse(&self.source.as_ref()?.field_path).ok()?;
        path.last_field().map(str::to_owned)
    }

    /// The value that is copied. None: no object here is the source.
    pub fn read_value(&self, objects: &[Object]) -> Result<Option<Value>, PathError> {
        let refused = |what: String| Err(PathError::Refused(what));
        let source = match (&self.source, &self.source_value) {
            (Some(_), Some(_)) => return refused("a replacement with source and sourceValue".to_owned()),
            (None, None) => return refused("a replacement without source".to_owned()),
            (None, Some(value)) => return Ok(Some(Value::from(value.clone()))),
            (Some(source), None) => source,
        };
        let mut selected = objects.iter().filter(|object| object.all_ids().any(|id| source.selects(&id)));
        let Some(object) = selected.next() else { return Ok(None) };
        if let Some(second) = selected.next() {
            return refused(format!("the source is {} and {}", object.id(), second.id()));
        }
        let path = if source.field_path.is_empty() { DEFAULT_PATH } else { &source.field_path };
        let found = FieldPath::parse(path)?.look_up(&object.value)?.filter(|value| !is_empty(value));
        let Some(value) = found else {
            return refused(format!("{} has no {}", object.id(), text::quote_excerpt(path)));
        };
        source.options.read_part(value).map(Some)
    }

    /// The targets, with the value for them.
    pub fn prepare_targets(&self, value: Option<&Value>) -> Result<Vec<PreparedTarget>, PathError> {
        let Some(targets) = self.targets.as_ref().filter(|targets| !targets.is_empty()) else {
            return Err(PathError::Refused("a replacement without targets".to_owned()));
        };
        targets.iter().map(|target| target.prepare(value.cloned())).collect()
    }
}

impl SourceSpec {
    fn selects(&self, id: &ObjectId) -> bool {
        let is = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        is(&self.group, &id.group)
            && is(&self.version, &id.version)
            && is(&self.kind, &id.kind)
            && is(&self.name, &id.name)
            && is(&self.namespace, id.namespace.as_deref().unwrap_or_default())
    }
}

impl TargetFields {
    fn prepare(&self, value: Option<Value>) -> Result<PreparedTarget, PathError> {
        let build = |spec: &TargetSpec| spec.build_selector().map_err(PathError::Refused);
        let Some(select) = &self.select else {
            return Err(PathError::Refused("a target of a replacement without select".to_owned()));
        };
        let default = [DEFAULT_PATH.to_owned()];
        let paths = if self.field_paths.is_empty() { &default[..] } else { &self.field_paths };
        Ok(PreparedTarget {
            select: build(select)?,
            reject: self.reject.iter().map(build).collect::<Result<_, _>>()?,
            paths: paths.iter().map(|path| FieldPath::parse(path)).collect::<Result<_, _>>()?,
            options: self.options.clone(),
            value,
        })
    }
}

impl PreparedTarget {
    /// Whether it selects an object. kustomize looks at each identity as a whole, and rejects by labels regardless of identities.
    pub fn selects(&self, object: &Object) -> bool {
        let is_rejected = |reject: &Selector| {
            (reject.has_requirements() && reject.meets_requirements(object))
                || (reject.has_identity() && reject.selects_identity(object))
        };
        self.select.meets_requirements(object)
            && !self.reject.iter().any(is_rejected)
            && self.select.selects_identity(object)
    }

    /// Whether it selects by kind at all.
    pub fn names_kind(&self) -> bool {
        self.select.names_kind()
    }

    /// Writes the value into an object. Without a value nothing is written.
    pub fn write_fields(&self, object: &mut Value) -> Result<(), PathError> {
        let Some(value) = &self.value else { return Ok(()) };
        for path in &self.paths {
            let mut set = |field: &mut Value, is_new| self.options.write_part(field, is_new, value);
            if path.set_fields(object, self.options.create, &mut set)? == 0 {
                return Err(PathError::Refused("a field of a target does not exist".to_owned()));
            }
        }
        object::write_annotations_as_text(object);
        Ok(())
    }
}

/// Whether kustomize counts a source as missing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
