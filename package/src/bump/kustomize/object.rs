//! An object and its identity in kustomize.

use std::fmt;

use serde_json::{Map, Value};

use super::field_path::scalar_text;
use crate::bump::{Problem, text};

/// Kinds without a namespace in kustomize, with their group. kustomize treats every other kind as namespaced.
const CLUSTER_SCOPED: [(&str, &str); 18] = [
    ("", "ComponentStatus"),
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("networking.k8s.io", "IngressClass"),
    ("node.k8s.io", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
];

/// Group, version, kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectId {
    /// Empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// `default` if the object has none; none for kinds without a namespace.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectId {
    /// The identity of an object.
    pub fn of(object: &Value) -> Self {
        let field = |path: &[&str]| text::str_at(object, path).unwrap_or_default().to_owned();
        let version = field(&["apiVersion"]);
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let kind = field(&["kind"]);
        let has_namespace = !CLUSTER_SCOPED.contains(&(group, &*kind));
        let namespace = text::str_at(object, &["metadata", "namespace"]).filter(|name| !name.is_empty());
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: has_namespace.then(|| namespace.unwrap_or("default").to_owned()),
            kind,
            name: field(&["metadata", "name"]),
        }
    }

    /// Whether it is a namespace.
    pub fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.kind == "Namespace"
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.kind, text::quote_excerpt(&self.name))?;
        match (&*self.group, &self.namespace) {
            ("", _) => {}
            (group, _) => write!(out, " of {group}")?,
        }
        match self.namespace.as_deref() {
            None | Some("default") => Ok(()),
            Some(namespace) => write!(out, " in namespace {}", text::quote_excerpt(namespace)),
        }
    }
}

/// An object in its current state of rendering.
#[derive(Clone, Debug)]
pub struct Object {
    /// The object.
    pub value: Value,
    /// The file of the object; the kustomization of a generated one.
    pub file: String,
    /// Files of the patches that changed it, in their order; the kustomization of an inline patch.
    pub patched_by: Vec<String>,
    /// Names of the variables that take their values from it.
    pub variables: Vec<String>,
    /// Whether kustomize appends a hash to its name at the end.
    pub has_hash: bool,
    /// Identities from before it was renamed or moved. Patches may use any of them.
    earlier: Vec<ObjectId>,
}

impl Object {
    /// An object of a file.
    pub fn new(file: impl Into<String>, value: Value) -> Self {
        Self {
            value,
            file: file.into(),
            patched_by: Vec::new(),
            variables: Vec::new(),
            has_hash: false,
            earlier: Vec::new(),
        }
    }

    /// Its current identity.
    pub fn id(&self) -> ObjectId {
        ObjectId::of(&self.value)
    }

    /// Its identities, the current one last.
    pub fn all_ids(&self) -> impl Iterator<Item = ObjectId> {
        self.earlier.iter().cloned().chain([self.id()])
    }

    /// Whether it has this kind and name.
    pub fn has_identity(&self, kind: &str, name: &str) -> bool {
        text::str_at(&self.value, &["kind"]) == Some(kind)
            && text::str_at(&self.value, &["metadata", "name"]) == Some(name)
    }

    /// Changes it, and records its previous identity.
    pub fn change_value<T>(&mut self, change: impl FnOnce(&mut Value) -> T) -> T {
        let before = self.id();
        let result = change(&mut self.value);
        if self.id() != before {
            self.earlier.push(before);
        }
        result
    }

    /// Sets the string below a path of keys. Missing mappings on the path are created.
    pub fn set_string(&mut self, path: &[&str], key: &str, value: &str) {
        self.change_value(|object| {
            let target = path.iter().try_fold(object, |value, key| child_mapping(value, key));
            if let Some(fields) = target.and_then(Value::as_object_mut) {
                fields.insert(key.to_owned(), Value::from(value));
            }
        });
    }
}

/// The mapping below a key, created if it is absent.
pub fn child_mapping<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    let child = value.as_object_mut()?.entry(key).or_insert(Value::Null);
    if child.is_null() {
        *child = Value::Object(serde_json::Map::new());
    }
    Some(child)
}

/// Turns annotations that a copied value made something else into texts: kustomize writes all annotations again at the end. Lists and mappings have
/// no text.
pub fn write_annotations_as_text(object: &mut Value) {
    let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    for annotation in annotations.into_iter().flat_map(Map::values_mut) {
        if annotation.is_array() || annotation.is_object() {
            *annotation = Value::from("");
        } else if let Some(text) = scalar_text(annotation) {
            *annotation = Value::from(text);
        }
    }
}

/// The objects of a file. Items of a list are separate objects.
pub fn read_objects(file: &str, bytes: &[u8]) -> Result<Vec<Object>, Problem> {
    let mut objects = Vec::new();
    for document in text::parse_objects(file, bytes)? {
        let kind = text::str_at(&document, &["kind"]).unwrap_or_default();
        if kind.ends_with("List") && document.get("items").is_some_and(Value::is_array) {
            for item in text::items_at(&document, &["items"]) {
                objects.push(Object::new(file, check_object(file, bytes, item.clone())?));
            }
        } else {
            objects.push(Object::new(file, check_object(file, bytes, document)?));
        }
    }
    Ok(objects)
}

/// An object, if it has all fields of kustomize's identity.
fn check_object(file: &str, bytes: &[u8], object: Value) -> Result<Value, Problem> {
    let fields: [&[&str]; 2] = [&["kind"], &["metadata", "name"]];
    let missing = fields.into_iter().find(|path| text::str_at(&object, path).is_none_or(str::is_empty));
    let Some(path) = missing else { return Ok(object) };
    let field = path.join(".");
    let line = text::find_line(bytes, &format!("{}:", path.last().unwrap_or(&""))).unwrap_or(1);
    let what = format!("an object without a text in {field}, which kustomize refuses");
    Err(Problem::new(file, what, format!("set {field}")).at_line(line))
}
