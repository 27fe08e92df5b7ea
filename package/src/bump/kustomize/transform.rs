//! Changes of names, namespaces, labels and annotations.

use serde_json::Value;

use super::object::{Object, ObjectId};
use super::spec::KustomizationSpec;
use super::{Position, Rendered};
use crate::bump::{Problem, text};

/// Kinds whose names ignore prefixes and suffixes.
const FIXED_NAMES: [&str; 3] = ["APIService", "CustomResourceDefinition", "Namespace"];

/// Changes namespaces, names, labels and annotations, in kustomize's order.
pub fn rename_objects(
    spec: &KustomizationSpec,
    file: &str,
    bytes: &[u8],
    rendered: &mut Rendered,
) -> Result<(), Problem> {
    if let Some(namespace) = spec.namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
        for object in rendered.objects.iter_mut().filter(|object| object.id().namespace.is_some()) {
            object.set_string(&["metadata"], "namespace", namespace);
        }
        // A Namespace object itself is renamed.
        let is_namespace = |object: &&mut Object| ObjectId::of(&object.value).is_namespace();
        for object in rendered.objects.iter_mut().filter(is_namespace) {
            object.set_string(&["metadata"], "name", namespace);
        }
        let line = text::find_line(bytes, "namespace:").unwrap_or(1);
        refuse_conflicts(rendered, &Position { file, line })?;
    }
    let (prefix, suffix) = (spec.name_prefix.as_deref(), spec.name_suffix.as_deref());
    if prefix.or(suffix).is_some() {
        for object in &mut rendered.objects {
            let ObjectId { kind, name, .. } = object.id();
            if !FIXED_NAMES.contains(&&*kind) {
                let name = format!("{}{name}{}", prefix.unwrap_or_default(), suffix.unwrap_or_default());
                object.set_string(&["metadata"], "name", &name);
            }
        }
    }
    let labels = spec.labels.iter().flat_map(|entry| &entry.pairs).chain(&spec.common_labels);
    let labels = labels.map(|(key, value)| ("labels", key, value));
    let annotations = spec.common_annotations.iter().map(|(key, value)| ("annotations", key, value));
    for (map, key, value) in labels.chain(annotations) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        for object in &mut rendered.objects {
            object.set_string(&["metadata", map], key, &value);
        }
    }
    Ok(())
}

fn refuse_conflicts(rendered: &Rendered, at: &Position) -> Result<(), Problem> {
    for (index, object) in rendered.objects.iter().enumerate() {
        let id = object.id();
        if let Some(first) = rendered.objects.iter().take(index).find(|other| other.id() == id) {
            let what = format!(
                "the namespace makes {id} of {} and of {} the same object, which kustomize refuses",
                object.file, first.file
            );
            return Err(at.report_problem(what, "rename or remove one of the two"));
        }
    }
    Ok(())
}

/// Whether an object is excluded from the output, because it configures a local tool.
pub fn is_local_config(object: &Object) -> bool {
    let annotation = ["metadata", "annotations", "config.kubernetes.io/local-config"];
    text::at(&object.value, &annotation).is_some_and(|value| value != &Value::from("false"))
}
