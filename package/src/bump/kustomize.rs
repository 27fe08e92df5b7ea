//! The objects that kustomize renders from a directory, read from the repository alone.
//!
//! The order is that of `kustomize build`: resources, generators, components, transformations, replacements; at the very end variables. Remote
//! resources are not fetched, and Helm charts are not rendered: [`Rendered`] lists them, and keeps the patches and replacements that may match
//! one of their objects.
//!
//! Images, replicas, selectors of labels and names in references are not transformed, because no check reads them.

mod field_path;
mod field_value;
mod generate;
mod merge;
mod object;
mod output;
mod patch;
mod replacement;
mod selector;
mod spec;
mod substitute;
mod transform;
mod variable;

pub use object::{Object, ObjectId};
pub use output::{Ineffective, Rendered, Unresolved, UnresolvedReason};
use patch::{Patch, PatchOrigin};
use replacement::ReplacementEntry;
use spec::{KustomizationSpec, ManifestKind};

use super::pin::is_remote;
use super::tree::{KUSTOMIZATIONS, resolve_path};
use super::{Problem, Tree, text};

/// A line of a kustomization, to report problems at.
struct Position<'a> {
    file: &'a str,
    line: usize,
}

impl Position<'_> {
    fn report_problem(&self, what: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem::new(self.file, what, help).at_line(self.line)
    }
}

/// Renders the kustomization of a directory.
///
/// If kustomize would refuse it: a cycle, two objects with one identity, a patch that cannot be applied, invalid YAML. Entries without a
/// target are in [`Rendered::absent`].
pub fn render_directory(tree: &Tree, directory: &str) -> Result<Rendered, Problem> {
    let file = find_manifest(tree, directory)?
        .ok_or_else(|| Problem::new(directory, "no kustomization", "add a kustomization.yaml"))?;
    let reader = Reader { tree, visited: vec![directory.to_owned()] };
    let mut rendered =
        reader.add_kustomization(directory, &file, Rendered::default(), ManifestKind::Kustomization)?;
    substitute::resolve_variables(&mut rendered)?;
    rendered.objects.retain(|object| !transform::is_local_config(object));
    Ok(rendered)
}

/// The one kustomization of a directory.
fn find_manifest(tree: &Tree, directory: &str) -> Result<Option<String>, Problem> {
    let mut all = KUSTOMIZATIONS.iter().map(|name| format!("{directory}/{name}"));
    let first = all.find(|path| tree.get(path).is_some());
    if let (Some(_), Some(second)) = (&first, all.find(|path| tree.get(path).is_some())) {
        let what = "a second kustomization in one directory, which kustomize refuses";
        return Err(Problem::new(second, what, "merge both into one file").at_line(1));
    }
    Ok(first)
}

struct Reader<'a> {
    tree: &'a Tree,
    /// Directories from the rendered one down to this one.
    visited: Vec<String>,
}

impl Reader<'_> {
    /// Adds the content of one kustomization to `rendered`, which is empty unless it is a component.
    fn add_kustomization(
        &self,
        directory: &str,
        file: &str,
        mut rendered: Rendered,
        expected: ManifestKind,
    ) -> Result<Rendered, Problem> {
        let bytes = self.tree.get(file).unwrap_or_default();
        let spec = KustomizationSpec::read(file, bytes)?;
        spec.expect_kind(file, bytes, expected)?;
        for entry in spec.all_resources() {
            self.add_resource(directory, file, entry, &mut rendered)?;
        }
        rendered.unresolved.extend(spec.unresolved_fields(file, bytes));
        self.add_configurations(directory, file, &spec, &mut rendered)?;
        generate::add_generated(self.tree, directory, file, &spec, &mut rendered)?;
        for entry in &spec.components {
            rendered = self.add_component(directory, file, entry, rendered)?;
        }
        self.patch_all(directory, file, spec.early_patches(), &mut rendered)?;
        transform::rename_objects(&spec, file, bytes, &mut rendered)?;
        self.patch_all(directory, file, spec.late_patches(), &mut rendered)?;
        let replacements = self.read_replacements(directory, file, &spec, &mut rendered)?;
        substitute::apply_replacements(&replacements, &spec, &mut rendered)?;
        substitute::add_variables(&spec, file, bytes, &mut rendered)?;
        Ok(rendered)
    }

    fn add_configurations(
        &self,
        directory: &str,
        file: &str,
        spec: &KustomizationSpec,
        rendered: &mut Rendered,
    ) -> Result<(), Problem> {
        for name in &spec.configurations {
            let at = self.locate_entry(file, name);
            if let Some((path, bytes)) = self.read_local(directory, name, &at, rendered)? {
                substitute::add_configuration(bytes, &path, &at, rendered)?;
            }
        }
        Ok(())
    }

    /// The replacements of a kustomization and of the files that it names.
    fn read_replacements<'f>(
        &self,
        directory: &str,
        file: &'f str,
        spec: &KustomizationSpec,
        rendered: &mut Rendered,
    ) -> Result<Vec<(ReplacementEntry, Position<'f>)>, Problem> {
        let mut found = Vec::new();
        for entry in &spec.replacements {
            let at = self.locate_entry(file, entry.path.as_deref().unwrap_or("replacements:"));
            let Some(name) = &entry.path else {
                found.push((entry.clone().read_from(file), at));
                continue;
            };
            if entry.is_inline() {
                let what = "a replacement with path and other fields, which kustomize refuses";
                return Err(at.report_problem(what, "remove one of the two"));
            }
            let Some((path, bytes)) = self.read_local(directory, name, &at, rendered)? else { continue };
            for entry in replacement::read_file(&path, bytes)? {
                found.push((entry, self.locate_entry(file, name)));
            }
        }
        Ok(found)
    }

    /// A file that a kustomization names. None, and an entry without target, if it does not exist.
    fn read_local(
        &self,
        directory: &str,
        name: &str,
        at: &Position,
        rendered: &mut Rendered,
    ) -> Result<Option<(String, &[u8])>, Problem> {
        let path = resolve_local(directory, name, at)?;
        let Some(bytes) = self.tree.get(&path) else {
            rendered.add_absent(name, at);
            return Ok(None);
        };
        check_within(directory, &path, name, at)?;
        Ok(Some((path, bytes)))
    }

    fn add_resource(
        &self,
        directory: &str,
        file: &str,
        entry: &str,
        rendered: &mut Rendered,
    ) -> Result<(), Problem> {
        let at = self.locate_entry(file, entry);
        if is_remote(entry) {
            rendered.add_unresolved(&at, entry, UnresolvedReason::Remote, None);
            return Ok(());
        }
        let path = resolve_local(directory, entry, &at)?;
        if let Some(bytes) = self.tree.get(&path) {
            check_within(directory, &path, entry, &at)?;
            for object in object::read_objects(&path, bytes)? {
                rendered.add_object(object, &at)?;
            }
            return Ok(());
        }
        let Some((file, reader)) = self.enter_directory(&path, entry, &at)? else {
            rendered.add_absent(entry, &at);
            return Ok(());
        };
        let other =
            reader.add_kustomization(&path, &file, Rendered::default(), ManifestKind::Kustomization)?;
        rendered.append_rendered(other, &at)
    }

    fn add_component(
        &self,
        directory: &str,
        file: &str,
        entry: &str,
        mut rendered: Rendered,
    ) -> Result<Rendered, Problem> {
        let at = self.locate_entry(file, entry);
        if is_remote(entry) {
            rendered.add_unresolved(&at, entry, UnresolvedReason::Remote, None);
            return Ok(rendered);
        }
        let path = resolve_local(directory, entry, &at)?;
        let Some((file, reader)) = self.enter_directory(&path, entry, &at)? else {
            rendered.add_absent(entry, &at);
            return Ok(rendered);
        };
        reader.add_kustomization(&path, &file, rendered, ManifestKind::Component)
    }

    /// The kustomization of a referenced directory, and a reader for it; none if there is none.
    fn enter_directory(
        &self,
        path: &str,
        entry: &str,
        at: &Position,
    ) -> Result<Option<(String, Self)>, Problem> {
        let Some(file) = find_manifest(self.tree, path)? else { return Ok(None) };
        let contains = |visited: &String| {
            visited.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(visited) = self.visited.iter().find(|visited| contains(visited)) {
            let what = format!("{entry} leads back to {visited}: a cycle, which kustomize refuses");
            return Err(at.report_problem(what, "remove the entry from one of the kustomizations"));
        }
        let visited = self.visited.iter().cloned().chain([path.to_owned()]).collect();
        Ok(Some((file, Self { tree: self.tree, visited })))
    }

    fn patch_all<'s>(
        &self,
        directory: &str,
        file: &str,
        entries: impl Iterator<Item = &'s spec::PatchEntry>,
        rendered: &mut Rendered,
    ) -> Result<(), Problem> {
        for entry in entries {
            let at = self.locate_entry(file, entry.locating_text().lines().next().unwrap_or_default());
            let text = match entry.source(&at)? {
                spec::PatchSource::Inline(text) => (file.to_owned(), text.as_bytes().to_vec()),
                spec::PatchSource::File(name) => {
                    let Some((path, bytes)) = self.read_local(directory, name, &at, rendered)? else {
                        continue;
                    };
                    (path, bytes.to_vec())
                }
            };
            let patch = Patch::read(entry, &text.0, &text.1, &at)?;
            let source = PatchOrigin { entry: Some(entry), file: &text.0, at: &at };
            patch::apply_patch(&patch, source, rendered)?;
        }
        Ok(())
    }

    fn locate_entry<'f>(&self, file: &'f str, needle: &str) -> Position<'f> {
        let line = text::find_line(self.tree.get(file).unwrap_or_default(), needle.trim());
        Position { file, line: line.unwrap_or(1) }
    }
}

/// The problem of an entry without a target. The check of names has the same sentence, so the finding appears once.
pub fn absent_problem(entry: &str) -> String {
    format!("{entry} is not there")
}

fn resolve_local(directory: &str, entry: &str, at: &Position) -> Result<String, Problem> {
    resolve_path(directory, entry).ok_or_else(|| {
        at.report_problem(
            format!("{} leaves the repository", text::quote_excerpt(entry)),
            "name a path of this repository",
        )
    })
}

/// Refuses paths outside: kustomize reads files only in and below the directory of the kustomization.
fn check_within(directory: &str, path: &str, entry: &str, at: &Position) -> Result<(), Problem> {
    if path.strip_prefix(directory).is_some_and(|rest| directory.is_empty() || rest.starts_with('/')) {
        return Ok(());
    }
    let what = format!("{entry} is a file outside of {directory}, which kustomize refuses");
    Err(at.report_problem(
        what,
        "move the file below the kustomization, or name a directory with a kustomization",
    ))
}
