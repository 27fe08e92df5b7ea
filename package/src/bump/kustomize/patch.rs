//! Patches: strategic merges, and JSON patches (RFC 6902).

use json_patch::{AddOperation, PatchError, PatchOperation, ReplaceOperation};
use serde_json::Value;

use super::merge;
use super::object::{self, Object, ObjectId};
use super::replacement::PreparedTarget;
use super::selector::Selector;
use super::spec::PatchEntry;
use super::{Ineffective, Position, Rendered};
use crate::bump::{Problem, text};

/// A patch as read.
#[derive(Clone, Debug)]
pub enum Patch {
    /// Objects to merge.
    Merge(Vec<Value>),
    /// Operations of RFC 6902.
    Operations(json_patch::Patch),
}

/// A change that may concern an object of a remote resource.
#[derive(Clone, Debug)]
pub enum PendingChange {
    /// A patch that no object of the repository matches, and its target.
    Patch(Patch, Option<Selector>),
    /// A target of a replacement.
    Replacement(PreparedTarget),
}

const OPERATIONS: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];

impl Patch {
    /// Reads a patch. A list is one of RFC 6902; mappings are objects to merge.
    pub fn read(entry: &PatchEntry, file: &str, bytes: &[u8], at: &Position) -> Result<Self, Problem> {
        let inline = file == at.file;
        // Lines of an inline patch count from its own start.
        let located = |problem: Problem| if inline { problem.at_line(at.line) } else { problem };
        let documents = text::parse_documents(file, bytes).map_err(located)?;
        // kustomize parses a text that starts like JSON as JSON, not as YAML on one line.
        if bytes.starts_with(b"[")
            && let Err(error) = serde_json::from_slice::<Value>(bytes)
        {
            let what = format!("a patch that begins with [ and is not JSON: {error}");
            return Err(at.report_problem(
                what,
                "write keys and texts in double quotes, or a list of one entry a line",
            ));
        }
        if let [Value::Array(operations)] = &documents[..] {
            if entry.target.is_none() {
                let what = "a JSON patch without target, which kustomize refuses";
                return Err(at.report_problem(what, "set target with kind and name of the object"));
            }
            return read_operations(operations, file, bytes, at);
        }
        if documents.iter().any(|document| !document.is_object()) {
            let what = "a patch that is neither objects nor one list of operations";
            return Err(at.report_problem(what, "write an object to merge, or a list of op, path and value"));
        }
        if entry.target.is_some() && documents.len() > 1 {
            let what = "several objects in one patch with a target, which kustomize refuses";
            return Err(at.report_problem(what, "make an entry of each, or remove the target"));
        }
        let objects = object::read_objects(file, bytes).map_err(located)?;
        Ok(Self::Merge(objects.into_iter().map(|object| object.value).collect()))
    }
}

fn read_operations(operations: &[Value], file: &str, bytes: &[u8], at: &Position) -> Result<Patch, Problem> {
    for (index, operation) in operations.iter().enumerate() {
        let name = text::str_at(operation, &["op"]).unwrap_or_default();
        let line = |needle: &str| {
            if file == at.file { at.line } else { text::find_line(bytes, needle).unwrap_or(1) }
        };
        if !OPERATIONS.contains(&name) {
            let what =
                format!("operation {} has op {}, which is unknown", index + 1, text::quote_excerpt(name));
            let help = format!("use one of {}", OPERATIONS.join(", "));
            return Err(Problem::new(file, what, help).at_line(line("op:")));
        }
        if let Err(error) = serde_json::from_value::<PatchOperation>(operation.clone()) {
            let what = format!("operation {} ({name}) is not readable: {error}", index + 1);
            let help =
                "write path as a JSON pointer that begins with /, and value or from where the op needs it";
            return Err(Problem::new(file, what, help).at_line(line("path:")));
        }
    }
    serde_json::from_value(Value::Array(operations.to_vec()))
        .map(Patch::Operations)
        .map_err(|error| at.report_problem(format!("the patch is not readable: {error}"), "correct it"))
}

/// Origin of a patch.
#[derive(Clone, Copy)]
pub struct PatchOrigin<'a> {
    /// Its entry in the kustomization; none for a patch of a remote object.
    pub entry: Option<&'a PatchEntry>,
    /// The file with its text.
    pub file: &'a str,
    /// The entry's position.
    pub at: &'a Position<'a>,
}

/// Applies a patch to all objects that it targets.
pub fn apply_patch(patch: &Patch, source: PatchOrigin<'_>, rendered: &mut Rendered) -> Result<(), Problem> {
    let PatchOrigin { file, at, .. } = source;
    let Some(target) = source.entry.and_then(|entry| entry.target.as_ref()) else {
        return merge_each(patch, source, rendered);
    };
    let selector = target.build_selector().map_err(|what| at.report_problem(what, "correct the target"))?;
    let selected: Vec<usize> = rendered
        .objects
        .iter()
        .enumerate()
        .filter(|(_, object)| selector.matches_object(object))
        .map(|(index, _)| index)
        .collect();
    if selected.is_empty() {
        if rendered.may_have_more() {
            let patch = patch.clone();
            rendered.add_pending(PendingChange::Patch(patch, Some(selector)), file);
        } else {
            let (file, line) = (at.file.to_owned(), Some(at.line));
            rendered.ineffective.push(Ineffective { file, line, target: target.summary() });
        }
        return Ok(());
    }
    // Iterate backwards, because a patch may delete its object.
    for index in selected.into_iter().rev() {
        let Some(object) = rendered.objects.get_mut(index) else { continue };
        if !apply_to(patch, source, object)? {
            rendered.objects.remove(index);
        }
    }
    Ok(())
}

/// Merges objects into those with the same identity. kustomize refuses a patch without one.
fn merge_each(patch: &Patch, source: PatchOrigin<'_>, rendered: &mut Rendered) -> Result<(), Problem> {
    let PatchOrigin { file, at, .. } = source;
    let Patch::Merge(objects) = patch else { return Ok(()) };
    for value in objects {
        let id = ObjectId::of(value);
        let same = |object: &Object| object.all_ids().any(|other| other == id);
        let mut all =
            (0..rendered.objects.len()).filter(|index| rendered.objects.get(*index).is_some_and(same));
        let (first, second) = (all.next(), all.next());
        let one = Patch::Merge(vec![value.clone()]);
        match (first, second) {
            (Some(index), None) => {
                let Some(object) = rendered.objects.get_mut(index) else { continue };
                if !apply_to(&one, source, object)? {
                    rendered.objects.remove(index);
                }
            }
            (Some(_), Some(_)) => {
                let what = format!("a patch of {id} matches several objects, which kustomize refuses");
                return Err(at.report_problem(what, "set target with the fields that tell them apart"));
            }
            (None, _) if rendered.may_have_more() => {
                rendered.add_pending(PendingChange::Patch(one, None), file);
            }
            (None, _) => {
                let what = format!("no object matches the patch of {id}, which kustomize refuses");
                let help = "correct apiVersion, kind, name and namespace of the patch, or remove it";
                return Err(at.report_problem(what, help));
            }
        }
    }
    Ok(())
}

/// Applies a patch to one object. Returns false if the patch deletes it.
fn apply_to(patch: &Patch, source: PatchOrigin<'_>, object: &mut Object) -> Result<bool, Problem> {
    let PatchOrigin { entry, file, at } = source;
    let before = object.value.clone();
    match patch {
        Patch::Operations(operations) => {
            let id = object.id();
            for (index, operation) in operations.0.iter().enumerate() {
                object.change_value(|value| apply_operation(value, operation)).map_err(|error| {
                    let what =
                        format!("operation {} at {} fails on {id}: {}", index + 1, error.path, error.kind);
                    let help = format!("correct the path, or the object in {}", object.file);
                    at.report_problem(what, help)
                })?;
            }
        }
        Patch::Merge(objects) => {
            for value in objects {
                let Some(mut merged) = merge::merge_patch(&object.value, value) else { return Ok(false) };
                let allows = |option: &str| entry.is_some_and(|entry| entry.allows_option(option));
                for (path, is_free) in [
                    (&["kind"][..], allows("allowKindChange")),
                    (&["apiVersion"], allows("allowKindChange")),
                    (&["metadata", "name"], allows("allowNameChange")),
                    (&["metadata", "namespace"], false),
                ] {
                    if !is_free {
                        restore_field(&mut merged, &object.value, path);
                    }
                }
                object.change_value(|value| *value = merged);
            }
        }
    }
    if object.value != before {
        object.patched_by.push(file.to_owned());
    }
    Ok(true)
}

/// Applies one operation as kustomize does: `replace` of a missing field of a mapping adds it, which RFC 6902 refuses. Annotations exist
/// during a patch, because kustomize adds its own.
fn apply_operation(value: &mut Value, operation: &PatchOperation) -> Result<(), PatchError> {
    let annotations = ["metadata", "annotations"];
    let had_none = text::at(value, &annotations).is_none();
    if had_none && operation.path().as_str().starts_with("/metadata/annotations/") {
        let _ = annotations.iter().try_fold(&mut *value, |value, key| object::child_mapping(value, key));
    }
    let adding = match operation {
        PatchOperation::Replace(ReplaceOperation { path, value: new }) => {
            let parent = path.split_back().and_then(|(parent, _)| parent.resolve(value).ok());
            let is_new_field = parent.is_some_and(Value::is_object) && path.resolve(value).is_err();
            is_new_field.then(|| PatchOperation::Add(AddOperation { path: path.clone(), value: new.clone() }))
        }
        PatchOperation::Add(_)
        | PatchOperation::Remove(_)
        | PatchOperation::Move(_)
        | PatchOperation::Copy(_)
        | PatchOperation::Test(_) => None,
    };
    json_patch::patch(value, std::slice::from_ref(adding.as_ref().unwrap_or(operation)))
}

/// Restores a field: a merge does not change the identity of an object.
fn restore_field(merged: &mut Value, before: &Value, path: &[&str]) {
    let Some((last, parents)) = path.split_last() else { return };
    let parent = parents.iter().try_fold(merged, |value, key| value.get_mut(*key));
    let Some(fields) = parent.and_then(Value::as_object_mut) else { return };
    match text::at(before, path) {
        Some(value) => fields.insert((*last).to_owned(), value.clone()),
        None => fields.remove(*last),
    };
}

/// A remote object as described by the patches and replacements for its kind; none without such a change.
pub fn describe_remote(pending: &[(PendingChange, String)], assumed: &Value) -> Option<Object> {
    let mut found = None;
    for (change, file) in pending {
        let object = found.clone().unwrap_or_else(|| Object::new(file, assumed.clone()));
        if !change.is_for(&object) {
            continue;
        }
        let mut object = object;
        // A change of a field of the remote object fails here. The other changes still apply.
        match change.apply_to(&mut object, file) {
            Some(true) => found = Some(object),
            Some(false) => return None,
            None => found = found.or(Some(object)),
        }
    }
    found
}

impl PendingChange {
    /// Whether it names the kind of an object, and selects the object.
    fn is_for(&self, object: &Object) -> bool {
        match self {
            Self::Patch(_, Some(selector)) => selector.names_kind() && selector.matches_object(object),
            Self::Patch(Patch::Merge(objects), None) => {
                objects.iter().any(|value| ObjectId::of(value) == object.id())
            }
            Self::Patch(Patch::Operations(_), None) => false,
            Self::Replacement(target) => target.names_kind() && target.selects(object),
        }
    }

    /// Whether the object exists after it; none if it fails.
    fn apply_to(&self, object: &mut Object, file: &str) -> Option<bool> {
        match self {
            Self::Patch(patch, _) => {
                let source = PatchOrigin { entry: None, file, at: &Position { file, line: 1 } };
                apply_to(patch, source, object).ok()
            }
            Self::Replacement(target) => {
                let written = target.write_fields(&mut object.value);
                object.patched_by.push(file.to_owned());
                written.ok().map(|()| true)
            }
        }
    }
}
