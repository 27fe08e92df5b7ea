//! The objects that a directory renders, and the entries unknown offline.

use std::collections::BTreeSet;

use serde_json::Value;

use super::patch::{self, PendingChange};
use super::substitute::VariableSet;
use super::{Object, Position, absent_problem};
use crate::bump::{Problem, text};

/// The objects of a directory, and the limits of offline rendering.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// Objects in the order in which kustomize adds them.
    pub objects: Vec<Object>,
    /// Entries that only kustomize itself can resolve.
    pub unresolved: Vec<Unresolved>,
    /// Entries without a target. kustomize refuses each; the rest is read as if they were remote.
    pub absent: Vec<Problem>,
    /// Patches whose target matches no object, and no remote object either. kustomize ignores them.
    pub ineffective: Vec<Ineffective>,
    /// Patches and replacements that may match an object of a remote resource, each with its file.
    pub(super) pending: Vec<(PendingChange, String)>,
    /// Variables, until they are replaced at the end.
    pub(super) variables: VariableSet,
    /// Fields that kustomize changes, and this reader does not.
    pub(super) unread_fields: BTreeSet<&'static str>,
}

/// An entry that needs more than the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The kustomization.
    pub file: String,
    /// The line of the entry.
    pub line: usize,
    /// The entry or the field.
    pub entry: String,
    /// The reason.
    pub reason: UnresolvedReason,
    /// Details of the reason.
    pub detail: Option<String>,
}

impl Unresolved {
    /// Whether only kustomize itself knows the result, also where every file is here.
    pub fn needs_kustomize(&self) -> bool {
        matches!(self.reason, UnresolvedReason::Generator | UnresolvedReason::Transformer)
    }

    /// A sentence about it.
    pub fn message(&self) -> String {
        let entry = text::quote_excerpt(&self.entry);
        let detail = self.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        match self.reason {
            UnresolvedReason::Remote => format!("{entry} is remote, and is not read offline{detail}"),
            UnresolvedReason::Generator => {
                format!("{entry} may add objects that only kustomize itself makes{detail}")
            }
            UnresolvedReason::Transformer => {
                format!("{entry} may change objects as only kustomize itself knows{detail}")
            }
            UnresolvedReason::Absent => absent_problem(&entry),
        }
    }
}

/// Reason for which an entry needs kustomize itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnresolvedReason {
    /// A remote resource or component adds objects.
    Remote,
    /// A Helm chart or a generator adds objects.
    Generator,
    /// A replacement or a transformer changes objects.
    Transformer,
    /// A file or directory does not exist.
    Absent,
}

/// A patch without effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ineffective {
    /// The kustomization.
    pub file: String,
    /// The line of the entry, if known.
    pub line: Option<usize>,
    /// The target as the kustomization writes it.
    pub target: String,
}

impl Rendered {
    /// Whether it deploys nothing.
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

    /// Entries that may change objects.
    pub fn possible_changes(&self) -> impl Iterator<Item = &Unresolved> {
        self.unresolved.iter().filter(|entry| entry.reason == UnresolvedReason::Transformer)
    }

    /// Entries that may add objects, apart from remote resources.
    pub fn possible_additions(&self) -> impl Iterator<Item = &Unresolved> {
        self.unresolved.iter().filter(|entry| entry.reason == UnresolvedReason::Generator)
    }

    /// The first object of a kind and a name.
    pub fn find_object(&self, kind: &str, name: &str) -> Option<&Object> {
        self.objects.iter().find(|object| object.has_identity(kind, name))
    }

    /// A remote object as described by patches: `assumed` with the patches for its kind applied. None without such a patch.
    pub fn remote_object(&self, assumed: &Value) -> Option<Object> {
        patch::describe_remote(&self.pending, assumed)
    }

    /// Adds the objects of another directory.
    pub(super) fn append_rendered(&mut self, other: Self, at: &Position) -> Result<(), Problem> {
        for object in other.objects {
            self.add_object(object, at)?;
        }
        self.unresolved.extend(other.unresolved);
        self.absent.extend(other.absent);
        self.ineffective.extend(other.ineffective);
        self.pending.extend(other.pending);
        self.unread_fields.extend(other.unread_fields);
        self.variables.append_set(other.variables, at)
    }

    /// Adds an entry that only kustomize itself resolves.
    pub(super) fn add_unresolved(
        &mut self,
        at: &Position,
        entry: &str,
        reason: UnresolvedReason,
        detail: Option<String>,
    ) {
        let (file, entry) = (at.file.to_owned(), entry.to_owned());
        self.unresolved.push(Unresolved { file, line: at.line, entry, reason, detail });
    }

    /// Adds a change that may concern an object of a remote resource.
    pub(super) fn add_pending(&mut self, change: PendingChange, file: &str) {
        self.pending.push((change, file.to_owned()));
    }

    /// Adds an entry without a target.
    pub(super) fn add_absent(&mut self, entry: &str, at: &Position) {
        self.absent.push(at.report_problem(absent_problem(entry), "add it, or remove the entry"));
        self.add_unresolved(at, entry, UnresolvedReason::Absent, None);
    }

    pub(super) fn add_object(&mut self, object: Object, at: &Position) -> Result<(), Problem> {
        if let Some(first) = self.objects.iter().find(|other| other.id() == object.id()) {
            let what = format!(
                "{} of {} is already in {}: kustomize may not add an object with an already registered id",
                object.id(),
                object.file,
                first.file
            );
            let help = "remove one of the two, or make the second a patch of the first";
            return Err(at.report_problem(what, help));
        }
        self.objects.push(object);
        Ok(())
    }
}
