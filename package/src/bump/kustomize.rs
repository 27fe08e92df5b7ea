//! The objects that kustomize renders from a directory, read from the repository alone.
//!
//! Resources first, then generators, then components, then transformations, as `kustomize build` does it. Remote resources are not
//! fetched: [`Rendered`] names them instead, and keeps the patches that may match one of their objects.
//!
//! Images, replicas and selectors of labels are not transformed, because no check reads them.

mod generate;
mod merge;
mod object;
mod patch;
mod selector;
mod spec;
mod transform;

pub use object::{Object, ObjectId};
use patch::{Patch, PendingPatch};
use spec::{KustomizationSpec, ManifestKind};

use super::pin::is_remote;
use super::tree::{KUSTOMIZATIONS, resolved};
use super::{Problem, Tree, text};

/// The objects of a directory, and the limits of knowing them offline.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// Objects in the order in which kustomize adds them.
    pub objects: Vec<Object>,
    /// Entries that only kustomize itself can resolve.
    pub unresolved: Vec<Unresolved>,
    /// Entries that name nothing. kustomize refuses each; the rest is read as if they were remote.
    pub absent: Vec<Problem>,
    /// Patches with a target that no object has, while nothing remote could have it either. kustomize ignores them.
    pub ineffective: Vec<Ineffective>,
    /// Patches that may match an object of a remote resource.
    pending: Vec<PendingPatch>,
}

/// An entry that the repository alone does not resolve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The kustomization.
    pub file: String,
    /// The reason.
    pub reason: UnresolvedReason,
}

/// Why an entry needs kustomize itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnresolvedReason {
    /// A remote resource or component adds objects.
    Remote,
    /// A Helm chart or a generator adds objects.
    Generator,
    /// A replacement or a transformer changes objects.
    Transformer,
    /// A file or a directory is not there.
    Absent,
}

/// A patch without effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ineffective {
    /// The kustomization.
    pub file: String,
    /// The line of the entry, where it can be told.
    pub line: Option<usize>,
    /// The target as the kustomization writes it.
    pub target: String,
}

impl Rendered {
    /// Whether nothing is deployed by it.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && !self.may_have_more()
    }

    /// Whether remote resources or generators may add objects.
    pub fn may_have_more(&self) -> bool {
        self.unresolved.iter().any(|entry| match entry.reason {
            UnresolvedReason::Remote | UnresolvedReason::Generator | UnresolvedReason::Absent => true,
            UnresolvedReason::Transformer => false,
        })
    }

    /// Whether transformers that are not read may change objects.
    pub fn may_change(&self) -> bool {
        self.unresolved.iter().any(|entry| match entry.reason {
            UnresolvedReason::Transformer => true,
            UnresolvedReason::Remote | UnresolvedReason::Generator | UnresolvedReason::Absent => false,
        })
    }

    /// The first object of a kind and a name.
    pub fn object(&self, kind: &str, name: &str) -> Option<&Object> {
        self.objects.iter().find(|object| object.is(kind, name))
    }

    /// A remote object as far as patches describe it: `assumed` with those applied that name its kind. None without such a patch.
    pub fn remote_object(&self, assumed: &serde_json::Value) -> Option<Object> {
        patch::describe_remote(&self.pending, assumed)
    }

    /// Adds the objects of another directory.
    fn append(&mut self, other: Self, at: &Position) -> Result<(), Problem> {
        for object in other.objects {
            self.add(object, at)?;
        }
        self.unresolved.extend(other.unresolved);
        self.absent.extend(other.absent);
        self.ineffective.extend(other.ineffective);
        self.pending.extend(other.pending);
        Ok(())
    }

    /// An entry that only kustomize itself resolves.
    fn leave(&mut self, at: &Position, reason: UnresolvedReason) {
        self.unresolved.push(Unresolved { file: at.file.to_owned(), reason });
    }

    /// An entry that names nothing.
    fn miss(&mut self, entry: &str, at: &Position) {
        self.absent.push(at.problem(absent(entry), "add it, or remove the entry"));
        self.leave(at, UnresolvedReason::Absent);
    }

    fn add(&mut self, object: Object, at: &Position) -> Result<(), Problem> {
        if let Some(first) = self.objects.iter().find(|other| other.id() == object.id()) {
            let what = format!(
                "{} of {} is already in {}: kustomize may not add an object with an already registered id",
                object.id(),
                object.file,
                first.file
            );
            let help = "remove one of the two, or make the second a patch of the first";
            return Err(at.problem(what, help));
        }
        self.objects.push(object);
        Ok(())
    }
}

/// A line of a kustomization, to report problems at.
struct Position<'a> {
    file: &'a str,
    line: usize,
}

impl Position<'_> {
    fn problem(&self, what: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem::new(self.file, what, help).at(self.line)
    }
}

/// Renders the kustomization of a directory.
///
/// # Errors
/// If kustomize would refuse it: a cycle, two objects of one identity, a patch that cannot be applied, YAML that cannot be read. Entries that
/// name nothing are in [`Rendered::absent`].
pub fn render(tree: &Tree, directory: &str) -> Result<Rendered, Problem> {
    let file = manifest(tree, directory)?
        .ok_or_else(|| Problem::new(directory, "no kustomization", "add a kustomization.yaml"))?;
    let reader = Reader { tree, visited: vec![directory.to_owned()] };
    let mut rendered =
        reader.accumulate(directory, &file, Rendered::default(), ManifestKind::Kustomization)?;
    rendered.objects.retain(|object| !transform::is_local_config(object));
    Ok(rendered)
}

/// The one kustomization of a directory.
fn manifest(tree: &Tree, directory: &str) -> Result<Option<String>, Problem> {
    let mut all = KUSTOMIZATIONS.iter().map(|name| format!("{directory}/{name}"));
    let first = all.find(|path| tree.get(path).is_some());
    if let (Some(_), Some(second)) = (&first, all.find(|path| tree.get(path).is_some())) {
        let what = "a second kustomization in one directory, which kustomize refuses";
        return Err(Problem::new(second, what, "merge both into one file").at(1));
    }
    Ok(first)
}

struct Reader<'a> {
    tree: &'a Tree,
    /// Directories from the rendered one down to this one.
    visited: Vec<String>,
}

impl Reader<'_> {
    /// Adds what one kustomization has to `rendered`, which is empty unless it is a component.
    fn accumulate(
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
            self.resource(directory, file, entry, &mut rendered)?;
        }
        rendered.unresolved.extend(spec.unresolved(file));
        generate::generate(self.tree, directory, file, &spec, &mut rendered)?;
        for entry in &spec.components {
            rendered = self.component(directory, file, entry, rendered)?;
        }
        self.patch_all(directory, file, spec.early_patches(), &mut rendered)?;
        transform::rename(&spec, file, bytes, &mut rendered)?;
        self.patch_all(directory, file, spec.late_patches(), &mut rendered)?;
        Ok(rendered)
    }

    fn resource(
        &self,
        directory: &str,
        file: &str,
        entry: &str,
        rendered: &mut Rendered,
    ) -> Result<(), Problem> {
        let at = self.place(file, entry);
        if is_remote(entry) {
            rendered.leave(&at, UnresolvedReason::Remote);
            return Ok(());
        }
        let path = local(directory, entry, &at)?;
        if let Some(bytes) = self.tree.get(&path) {
            within(directory, &path, entry, &at)?;
            for object in object::read(&path, bytes)? {
                rendered.add(object, &at)?;
            }
            return Ok(());
        }
        let Some((file, reader)) = self.enter(&path, entry, &at)? else {
            rendered.miss(entry, &at);
            return Ok(());
        };
        let other = reader.accumulate(&path, &file, Rendered::default(), ManifestKind::Kustomization)?;
        rendered.append(other, &at)
    }

    fn component(
        &self,
        directory: &str,
        file: &str,
        entry: &str,
        mut rendered: Rendered,
    ) -> Result<Rendered, Problem> {
        let at = self.place(file, entry);
        if is_remote(entry) {
            rendered.leave(&at, UnresolvedReason::Remote);
            return Ok(rendered);
        }
        let path = local(directory, entry, &at)?;
        let Some((file, reader)) = self.enter(&path, entry, &at)? else {
            rendered.miss(entry, &at);
            return Ok(rendered);
        };
        reader.accumulate(&path, &file, rendered, ManifestKind::Component)
    }

    /// The kustomization of a directory that another one names, and a reader for it. None where there is none.
    fn enter(&self, path: &str, entry: &str, at: &Position) -> Result<Option<(String, Self)>, Problem> {
        let Some(file) = manifest(self.tree, path)? else { return Ok(None) };
        let contains = |visited: &String| {
            visited.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(visited) = self.visited.iter().find(|visited| contains(visited)) {
            let what = format!("{entry} leads back to {visited}: a cycle, which kustomize refuses");
            return Err(at.problem(what, "remove the entry from one of the kustomizations"));
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
            let at = self.place(file, entry.written().lines().next().unwrap_or_default());
            let text = match entry.source(&at)? {
                spec::PatchSource::Inline(text) => (file.to_owned(), text.as_bytes().to_vec()),
                spec::PatchSource::File(name) => {
                    let path = local(directory, name, &at)?;
                    let Some(bytes) = self.tree.get(&path) else {
                        rendered.miss(name, &at);
                        continue;
                    };
                    within(directory, &path, name, &at)?;
                    (path, bytes.to_vec())
                }
            };
            let patch = Patch::read(entry, &text.0, &text.1, &at)?;
            patch::apply(&patch, entry, &text.0, &at, rendered)?;
        }
        Ok(())
    }

    fn place<'f>(&self, file: &'f str, needle: &str) -> Position<'f> {
        let line = text::line_with(self.tree.get(file).unwrap_or_default(), needle.trim());
        Position { file, line: line.unwrap_or(1) }
    }
}

/// The problem of an entry that names nothing. The check of names has the same sentence, so that it appears once.
pub fn absent(entry: &str) -> String {
    format!("{entry} is not there")
}

fn local(directory: &str, entry: &str, at: &Position) -> Result<String, Problem> {
    resolved(directory, entry).ok_or_else(|| {
        at.problem(
            format!("{} leaves the repository", text::excerpt(entry)),
            "name a path of this repository",
        )
    })
}

/// kustomize reads files only in and below the directory of the kustomization.
fn within(directory: &str, path: &str, entry: &str, at: &Position) -> Result<(), Problem> {
    if path.strip_prefix(directory).is_some_and(|rest| directory.is_empty() || rest.starts_with('/')) {
        return Ok(());
    }
    let what = format!("{entry} is a file outside of {directory}, which kustomize refuses");
    Err(at.problem(what, "move the file below the kustomization, or name a directory with a kustomization"))
}
