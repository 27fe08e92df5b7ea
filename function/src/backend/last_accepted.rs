//! What the hub last took of what was asked for by a template. Where it refuses what came after, that leads nowhere: the claim goes on from
//! what was taken, as if nothing else had been asked for.
//!
//! It is noted on the writer as soon as something else is asked for, and until that is taken. A cluster that is on its way has left it.

use testplatform_apis::{
    names::ours,
    template::{Backend, effective::Effective, version::Version},
};

use super::{backend_of_primary, cluster_api, hypershift, osac};
use crate::{
    observed::{Observed, PrimaryObject},
    templates::is_complete,
};

/// From where a claim goes on whose last change is refused.
pub(crate) struct Rollback {
    /// The version that is there; none: not known, or it is not the version that is refused.
    pub blocked_at_version: Option<Version>,
    /// What was last taken; none: nobody noted it, or it is not there any more.
    pub last_accepted: Option<Effective>,
}

/// None: nothing is refused.
pub(crate) fn find_rollback(observed: &Observed) -> Option<Rollback> {
    let writer = observed.primary.as_ref()?;
    let left_at = match backend_of_primary(writer)? {
        Backend::HyperShift => hypershift::rollout::blocked_at_version(observed),
        Backend::ClusterApi => cluster_api::rollout::blocked_at_version(observed),
        Backend::Osac => osac::order::blocked_at_version(observed),
        // Nothing of it can be asked for otherwise.
        Backend::Caas => None,
    };
    if left_at.is_none() && !writer.is_refused() {
        return None;
    }
    let taken = recorded_request(writer).filter(|taken| has_release(writer, observed, taken));
    Some(Rollback { blocked_at_version: left_at, last_accepted: taken })
}

/// Groups of nodes that their backend numbers by their place, in that order. One that goes would move those behind it.
pub(crate) fn numbered_groups(observed: &Observed) -> Vec<String> {
    match observed.primary.as_ref().and_then(backend_of_primary) {
        Some(Backend::Osac) => osac::order::node_sets(observed),
        Some(Backend::HyperShift | Backend::ClusterApi | Backend::Caas) | None => vec![],
    }
}

/// What was last taken, as far as anybody knows. `asked`: what was last asked for.
pub(crate) fn find_last_accepted(
    observed: &Observed,
    asked: &Effective,
    next: &Effective,
) -> Option<Effective> {
    let writer = observed.primary.as_ref()?;
    let noted = || recorded_request(writer);
    if asked == next && noted().is_none() {
        return None;
    }
    let steady = || noted().is_none() && observed.ever_ready() && find_rollback(observed).is_none();
    let taken =
        writer.is_accepted() && is_fully_requested(writer, observed) && has_release(writer, observed, asked);
    if taken || steady() {
        return Some(asked.clone());
    }
    // By another template it may have become something else meanwhile, unseen.
    let sure = |noted: &Effective| noted.template == asked.template || find_rollback(observed).is_some();
    noted().filter(|noted| asked == next || sure(noted))
}

fn recorded_request(writer: &PrimaryObject) -> Option<Effective> {
    writer.object.metadata.annotation(ours::TAKEN).and_then(Effective::read).filter(is_complete)
}

/// Whether the release that is there is the one of what was asked for.
fn has_release(writer: &PrimaryObject, observed: &Observed, asked: &Effective) -> bool {
    match backend_of_primary(writer) {
        Some(Backend::HyperShift) => hypershift::rollout::has_release(observed, asked),
        Some(Backend::ClusterApi) => cluster_api::rollout::has_release(observed, asked),
        Some(Backend::Osac) => osac::order::has_release(observed, asked),
        Some(Backend::Caas) | None => false,
    }
}

/// Whether nothing of what was asked for is held back.
fn is_fully_requested(writer: &PrimaryObject, observed: &Observed) -> bool {
    match backend_of_primary(writer) {
        // Nothing but a release, and then that is not there.
        Some(Backend::HyperShift) => true,
        Some(Backend::ClusterApi) => observed.annotation(ours::ROLLS_FROM).is_none(),
        Some(Backend::Osac) => !osac::order::is_job_running(observed),
        Some(Backend::Caas) | None => false,
    }
}
