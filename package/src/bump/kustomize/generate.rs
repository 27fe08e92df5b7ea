//! ConfigMaps and Secrets that a kustomization generates.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::object::{self, Object};
use super::spec::{GeneratorEntry, GeneratorOptions, KustomizationSpec};
use super::{Position, Rendered};
use crate::bump::tree::resolve_path;
use crate::bump::{Problem, Tree, text};

/// Adds the generated objects. Names have no hash, because patches use none. Values of a Secret are not encoded.
pub fn add_generated(
    tree: &Tree,
    directory: &str,
    file: &str,
    spec: &KustomizationSpec,
    rendered: &mut Rendered,
) -> Result<(), Problem> {
    let maps = spec.config_map_generator.iter().map(|entry| ("ConfigMap", entry));
    let secrets = spec.secret_generator.iter().map(|entry| ("Secret", entry));
    for (kind, entry) in maps.chain(secrets) {
        let bytes = tree.get(file).unwrap_or_default();
        let line = text::find_line(bytes, &format!("name: {}", entry.name)).unwrap_or(1);
        let mut object = generated_object(kind, entry, &spec.generator_options, file);
        object.value["data"] = Value::Object(generator_data(tree, directory, entry));
        add_object(entry, object, &Position { file, line }, rendered)?;
    }
    Ok(())
}

/// The object of an entry without its data. Its own options come before those of all entries.
fn generated_object(kind: &str, entry: &GeneratorEntry, options: &GeneratorOptions, file: &str) -> Object {
    let mut value = json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": entry.name } });
    if let Some(namespace) = &entry.namespace {
        value["metadata"]["namespace"] = json!(namespace);
    }
    for (map, all, own) in [
        ("labels", &options.labels, &entry.options.labels),
        ("annotations", &options.annotations, &entry.options.annotations),
    ] {
        for (key, text) in all.iter().chain(own) {
            value["metadata"][map][key] = text.clone();
        }
    }
    if options.immutable || entry.options.immutable {
        value["immutable"] = json!(true);
    }
    let is_plain = options.disable_name_suffix_hash || entry.options.disable_name_suffix_hash;
    let mut object = Object::new(file, value);
    object.has_hash = !is_plain;
    object
}

fn add_object(
    entry: &GeneratorEntry,
    object: Object,
    at: &Position,
    rendered: &mut Rendered,
) -> Result<(), Problem> {
    let id = object.id();
    let has_more = rendered.may_have_more();
    let existing = rendered.objects.iter_mut().find(|other| other.all_ids().any(|other| other == id));
    match (entry.behavior.as_deref().unwrap_or_default(), existing) {
        ("create" | "", None) => rendered.add_object(object, at),
        ("replace", Some(existing)) => {
            existing.value["data"] = object.value["data"].clone();
            merge_metadata(existing, &object);
            existing.patched_by.push(at.file.to_owned());
            Ok(())
        }
        ("merge", Some(existing)) => {
            merge_mapping(&mut existing.value, "data", object.value.get("data"));
            merge_metadata(existing, &object);
            existing.patched_by.push(at.file.to_owned());
            Ok(())
        }
        ("merge" | "replace", None) if has_more => Ok(()),
        ("create" | "", Some(_)) => {
            let what = format!("{id} exists already, and behavior is create");
            Err(at.report_problem(what, "set behavior to merge or replace, or choose another name"))
        }
        ("merge" | "replace", None) => {
            let what = format!("{id} does not exist, so that kustomize cannot merge or replace it");
            Err(at.report_problem(what, "set behavior to create, or correct name and namespace"))
        }
        (other, _) => {
            let what = format!("behavior {} is unknown", text::quote_excerpt(other));
            Err(at.report_problem(what, "set behavior to create, merge or replace"))
        }
    }
}

/// Adds the labels and annotations of a generated object to those of an existing one.
fn merge_metadata(existing: &mut Object, object: &Object) {
    existing.has_hash |= object.has_hash;
    for map in ["labels", "annotations"] {
        if let Some(metadata) = existing.value.get_mut("metadata") {
            merge_mapping(metadata, map, text::at(&object.value, &["metadata", map]));
        }
    }
}

fn merge_mapping(value: &mut Value, key: &str, more: Option<&Value>) {
    let Some(more) = more.and_then(Value::as_object) else { return };
    if let Some(fields) = object::child_mapping(value, key).and_then(Value::as_object_mut) {
        fields.extend(more.clone());
    }
}

/// The keys with their values. An unread file has an empty value: only its key matters to a patch.
fn generator_data(tree: &Tree, directory: &str, entry: &GeneratorEntry) -> Map<String, Value> {
    let content = |path: &str| {
        let bytes = resolve_path(directory, path).and_then(|path| tree.get(&path).map(<[u8]>::to_vec));
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    let mut data = BTreeMap::new();
    for source in &entry.files {
        let (key, path) =
            source.split_once('=').unwrap_or((source.rsplit('/').next().unwrap_or(source), source));
        data.insert(key.to_owned(), content(path));
    }
    let listed: Vec<String> = entry.envs.iter().chain(&entry.env).map(|path| content(path)).collect();
    let lines = listed.iter().flat_map(|text| text.lines()).map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    for pair in lines.chain(entry.literals.iter().map(String::as_str)) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_quoted = |quote| value.len() > 1 && value.starts_with(quote) && value.ends_with(quote);
        let bare = if is_quoted('"') || is_quoted('\'') { &value[1..value.len() - 1] } else { value };
        data.insert(key.to_owned(), bare.to_owned());
    }
    data.into_iter().map(|(key, value)| (key, Value::from(value))).collect()
}
