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
    templates::is_whole,
};

/// From where a claim goes on whose last change is refused.
pub(crate) struct Back {
    /// The version that is there; none: not known, or it is not the version that is refused.
    pub left_at: Option<Version>,
    /// What was last taken; none: nobody noted it, or it is not there any more.
    pub taken: Option<Effective>,
}

/// None: nothing is refused.
pub(crate) fn back(observed: &Observed) -> Option<Back> {
    let writer = observed.primary.as_ref()?;
    let left_at = match backend_of_primary(writer)? {
        Backend::HyperShift => hypershift::rollout::left_at(observed),
        Backend::ClusterApi => cluster_api::rollout::left_at(observed),
        Backend::Osac => osac::order::left_at(observed),
        // Nothing of it can be asked for otherwise.
        Backend::Caas => None,
    };
    if left_at.is_none() && !writer.is_refused() {
        return None;
    }
    let taken = noted(writer).filter(|taken| is_at(writer, observed, taken));
    Some(Back { left_at, taken })
}

/// Groups of nodes that their backend numbers by their place, in that order. One that goes would move those behind it.
pub(crate) fn numbered_groups(observed: &Observed) -> Vec<String> {
    match observed.primary.as_ref().and_then(backend_of_primary) {
        Some(Backend::Osac) => osac::order::node_sets(observed),
        Some(Backend::HyperShift | Backend::ClusterApi | Backend::Caas) | None => vec![],
    }
}

/// What was last taken, as far as anybody knows. `asked`: what was last asked for.
pub(crate) fn taken(observed: &Observed, asked: &Effective, next: &Effective) -> Option<Effective> {
    let writer = observed.primary.as_ref()?;
    let noted = || noted(writer);
    if asked == next && noted().is_none() {
        return None;
    }
    let steady = || noted().is_none() && observed.ever_ready() && back(observed).is_none();
    let taken = writer.is_accepted() && is_settled(writer, observed) && is_at(writer, observed, asked);
    if taken || steady() {
        return Some(asked.clone());
    }
    // By another template it may have become something else meanwhile, unseen.
    let sure = |noted: &Effective| noted.template == asked.template || back(observed).is_some();
    noted().filter(|noted| asked == next || sure(noted))
}

fn noted(writer: &PrimaryObject) -> Option<Effective> {
    writer.object.metadata.annotation(ours::TAKEN).and_then(Effective::read).filter(is_whole)
}

/// Whether the release that is there is the one of what was asked for.
fn is_at(writer: &PrimaryObject, observed: &Observed, asked: &Effective) -> bool {
    match backend_of_primary(writer) {
        Some(Backend::HyperShift) => hypershift::rollout::is_at(observed, asked),
        Some(Backend::ClusterApi) => cluster_api::rollout::is_at(observed, asked),
        Some(Backend::Osac) => osac::order::is_at(observed, asked),
        Some(Backend::Caas) | None => false,
    }
}

/// Whether nothing of what was asked for is held back.
fn is_settled(writer: &PrimaryObject, observed: &Observed) -> bool {
    match backend_of_primary(writer) {
        // Nothing but a release, and then that is not there.
        Some(Backend::HyperShift) => true,
        Some(Backend::ClusterApi) => observed.note(ours::ROLLS_FROM).is_none(),
        Some(Backend::Osac) => !osac::order::waits(observed),
        Some(Backend::Caas) | None => false,
    }
}
