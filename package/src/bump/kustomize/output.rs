//! The objects that a directory renders, and the entries unknown offline.

use serde_json::Value;

use super::patch::{self, PendingPatch};
use super::{Object, Position, absent_problem};
use crate::bump::Problem;

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
    /// Patches that may match an object of a remote resource.
    pub(super) pending: Vec<PendingPatch>,
}

/// An entry that needs more than the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The kustomization.
    pub file: String,
    /// The reason.
    pub reason: UnresolvedReason,
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

    /// Whether unread transformers may change objects.
    pub fn may_change(&self) -> bool {
        self.unresolved.iter().any(|entry| match entry.reason {
            UnresolvedReason::Transformer => true,
            UnresolvedReason::Remote | UnresolvedReason::Generator | UnresolvedReason::Absent => false,
        })
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
        Ok(())
    }

    /// Adds an entry that only kustomize itself resolves.
    pub(super) fn add_unresolved(&mut self, at: &Position, reason: UnresolvedReason) {
        self.unresolved.push(Unresolved { file: at.file.to_owned(), reason });
    }

    /// Adds an entry without a target.
    pub(super) fn add_absent(&mut self, entry: &str, at: &Position) {
        self.absent.push(at.report_problem(absent_problem(entry), "add it, or remove the entry"));
        self.add_unresolved(at, UnresolvedReason::Absent);
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
