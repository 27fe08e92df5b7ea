//! Request that the hub last accepted for a cluster by template. If the hub refuses a later one, that one leads nowhere: the claim
//! continues from the accepted request as if nothing else had been requested.
//!
//! It is recorded on the primary Object as soon as another request is made, and until that is accepted. A cluster that is rolling out no
//! longer matches it.

use testplatform_apis::{
    names::ours,
    template::{companions::NodeGroup, effective::Effective, version::Version},
};

use super::is_complete;
use crate::cluster::observed::{Observed, PrimaryObject};

/// Rollout of an existing cluster, as its backend reads it.
pub trait Rollout {
    /// Version that the hub has, if it refuses the one of the last request.
    fn blocked_at_version(&self, observed: &Observed) -> Option<Version>;

    /// Whether the hub has the release of a request.
    fn has_release(&self, observed: &Observed, requested: &Effective) -> bool;

    /// Whether the primary Object has the whole request, so that nothing of it is held back.
    fn is_fully_requested(&self, observed: &Observed) -> bool;

    /// Requests for nodes that the backend numbers by position, in that order. Removing one would renumber those after it.
    fn numbered_requests(&self, _observed: &Observed) -> Vec<NumberedRequest> {
        vec![]
    }
}

/// A request for nodes that has a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumberedRequest {
    /// That of one group, by its name.
    Group(String),
    /// That of all groups of these classes.
    Classes(Vec<String>),
}

impl NumberedRequest {
    /// Whether the nodes of a group are in it.
    pub fn includes(&self, group: &NodeGroup) -> bool {
        match self {
            Self::Group(name) => group.name == *name,
            Self::Classes(classes) => classes.contains(&group.class),
        }
    }
}

/// From where a claim goes on whose last change is refused.
pub(super) struct Rollback {
    /// The version that is there; none: not known, or it is not the version that is refused.
    pub blocked_at_version: Option<Version>,
    /// Last accepted request; none: not recorded, or no longer in place.
    pub last_accepted: Option<Effective>,
}

/// None: nothing is refused.
pub(super) fn find_rollback(observed: &Observed, rollout: Option<&dyn Rollout>) -> Option<Rollback> {
    let primary = observed.primary.as_ref()?;
    let rollout = rollout?;
    let blocked_at_version = rollout.blocked_at_version(observed);
    if blocked_at_version.is_none() && !primary.is_refused() {
        return None;
    }
    let last_accepted =
        recorded_request(primary).filter(|last_accepted| rollout.has_release(observed, last_accepted));
    Some(Rollback { blocked_at_version, last_accepted })
}

/// Last accepted request, as far as known. `asked`: the last request.
pub(super) fn find_last_accepted(
    observed: &Observed,
    rollout: Option<&dyn Rollout>,
    requested: &Effective,
    next: &Effective,
) -> Option<Effective> {
    let primary = observed.primary.as_ref()?;
    let recorded = || recorded_request(primary);
    if requested == next && recorded().is_none() {
        return None;
    }
    let steady =
        || recorded().is_none() && observed.ever_ready() && find_rollback(observed, rollout).is_none();
    let accepted = primary.is_accepted()
        && rollout.is_some_and(|rollout| {
            rollout.is_fully_requested(observed) && rollout.has_release(observed, requested)
        });
    if accepted || steady() {
        return Some(requested.clone());
    }
    // By another template it may have become something else meanwhile, unseen.
    let sure = |noted: &Effective| {
        noted.template == requested.template || find_rollback(observed, rollout).is_some()
    };
    recorded().filter(|noted| requested == next || sure(noted))
}

fn recorded_request(primary: &PrimaryObject) -> Option<Effective> {
    primary
        .object
        .metadata
        .annotation(ours::LAST_ACCEPTED)
        .and_then(Effective::from_annotation)
        .filter(is_complete)
}
