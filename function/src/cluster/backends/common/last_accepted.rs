//! Request that the hub last accepted for a cluster by template. If the hub refuses a later one, that one leads nowhere: the claim
//! continues from the accepted request as if nothing else had been requested.
//!
//! It is recorded on the primary Object as soon as another request is made, and until that is accepted. A cluster that is rolling out no
//! longer matches it.

use testplatform_apis::{
    names::ours,
    template::{Backend, effective::Effective, version::Version},
};

use crate::cluster::{
    backends::{backend_of_primary, cluster_api, hypershift, osac},
    catalog::templates::is_complete,
    observed::{Observed, PrimaryObject},
};

/// From where a claim goes on whose last change is refused.
pub(crate) struct Rollback {
    /// The version that is there; none: not known, or it is not the version that is refused.
    pub blocked_at_version: Option<Version>,
    /// Last accepted request; none: not recorded, or no longer in place.
    pub last_accepted: Option<Effective>,
}

/// None: nothing is refused.
pub(crate) fn find_rollback(observed: &Observed) -> Option<Rollback> {
    let primary = observed.primary.as_ref()?;
    let blocked_at_version = match backend_of_primary(primary)? {
        Backend::HyperShift => hypershift::rollout::blocked_at_version(observed),
        Backend::ClusterApi => cluster_api::rollout::blocked_at_version(observed),
        Backend::Osac => osac::order::blocked_at_version(observed),
        // Nothing of it can be asked for otherwise.
        Backend::Caas => None,
    };
    if blocked_at_version.is_none() && !primary.is_refused() {
        return None;
    }
    let last_accepted =
        recorded_request(primary).filter(|last_accepted| has_release(primary, observed, last_accepted));
    Some(Rollback { blocked_at_version, last_accepted })
}

/// Node groups whose backend numbers them by position, in that order. Removing one would renumber those after it.
pub(crate) fn numbered_groups(observed: &Observed) -> Vec<String> {
    match observed.primary.as_ref().and_then(backend_of_primary) {
        Some(Backend::Osac) => osac::order::node_sets(observed),
        Some(Backend::HyperShift | Backend::ClusterApi | Backend::Caas) | None => vec![],
    }
}

/// Last accepted request, as far as known. `asked`: the last request.
pub(crate) fn find_last_accepted(
    observed: &Observed,
    requested: &Effective,
    next: &Effective,
) -> Option<Effective> {
    let primary = observed.primary.as_ref()?;
    let recorded = || recorded_request(primary);
    if requested == next && recorded().is_none() {
        return None;
    }
    let steady = || recorded().is_none() && observed.ever_ready() && find_rollback(observed).is_none();
    let accepted = primary.is_accepted()
        && is_fully_requested(primary, observed)
        && has_release(primary, observed, requested);
    if accepted || steady() {
        return Some(requested.clone());
    }
    // By another template it may have become something else meanwhile, unseen.
    let sure = |noted: &Effective| noted.template == requested.template || find_rollback(observed).is_some();
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

/// Whether the release that is there is the one of what was asked for.
fn has_release(primary: &PrimaryObject, observed: &Observed, requested: &Effective) -> bool {
    match backend_of_primary(primary) {
        Some(Backend::HyperShift) => hypershift::rollout::has_release(observed, requested),
        Some(Backend::ClusterApi) => cluster_api::rollout::has_release(observed, requested),
        Some(Backend::Osac) => osac::order::has_release(observed, requested),
        Some(Backend::Caas) | None => false,
    }
}

/// Whether nothing of what was asked for is held back.
fn is_fully_requested(primary: &PrimaryObject, observed: &Observed) -> bool {
    match backend_of_primary(primary) {
        // Nothing but a release, and then that is not there.
        Some(Backend::HyperShift) => true,
        Some(Backend::ClusterApi) => observed.annotation(ours::ROLLS_FROM).is_none(),
        Some(Backend::Osac) => !osac::order::is_job_running(observed),
        Some(Backend::Caas) | None => false,
    }
}
