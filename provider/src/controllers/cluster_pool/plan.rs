//! Plans the status of one pool. Pure.
//!
//! **Invariant:** what was begun is found again in the annotation alone.
//! **Invariant:** a pool that is being deleted is only counted.

use std::time::Duration;

use jiff::Timestamp;
use testplatform_apis::{
    pool::OnArtifactChange,
    pool_report::{Artifacts, PoolStatus, RefreshPhase, RefreshReport, RotationPhase},
    pool_status::PoolFailure,
};
use testplatform_runtime::{event::Event, reconcile::Action};

use super::{
    clusters::{PoolCluster, PoolClusters},
    pool::Pool,
    refresh, rotation,
};

/// Resync period of a refresh or a rotation, in addition to the watches.
const NET: Duration = Duration::from_mins(1);

/// Plan for a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolPlan {
    /// Written as annotation, because it differs from what is there.
    pub status: Option<PoolStatus>,
    /// Events for the watchers of the pool.
    pub events: Vec<Event>,
    /// When to look again.
    pub requeue: Action,
}

/// Plan for a pool.
pub fn plan(pool: &Pool, observed: &PoolClusters, now: Timestamp) -> PoolPlan {
    let before = pool.known.clone().unwrap_or_default();
    let mut status = before.clone();
    status.claimed = i64::try_from(observed.clusters.iter().filter(|c| c.claimed).count()).ok();
    status.namesakes.clone_from(&observed.namesakes);
    status.last_provision_failure = latest_failure(observed, before.last_provision_failure.as_ref());
    status.provision_failure_overcome = is_failure_overcome(&status, &before, observed).then_some(true);
    if pool.deleting {
        // A deleted pool is not scaled.
        status.ceiling = None;
    } else {
        let (rotation, emptied) = rotation::advance(pool, observed, before.rotation.clone(), now);
        status.rotation = rotation;
        status.artifacts = artifacts(pool, observed, before.artifacts.clone());
        let (refresh, lowered) = if emptied.is_some() {
            // One thing at a time: an emptied pool has nothing to refresh.
            (before.refresh.clone(), None)
        } else {
            refresh::advance(pool, observed, status.artifacts.as_ref(), now)
        };
        let done = |r: &RefreshReport| r.phase == RefreshPhase::Done && r.started_at.is_some();
        let just = refresh.as_ref().filter(|r| done(r) && before.refresh.as_ref() != Some(*r));
        if just.is_some() {
            // Every cluster was made from what is there now.
            status.artifacts = artifacts(pool, observed, None);
        }
        status.refresh = refresh;
        status.ceiling = emptied.or(lowered);
    }
    let events = events(&before, &status, pool.known.is_some());
    let busy = status.ceiling.is_some() || status.refresh.as_ref().is_some_and(|r| !r.phase.is_over());
    PoolPlan {
        status: (pool.known.as_ref() != Some(&status)).then_some(status),
        events,
        requeue: if busy { Action::RequeueAfter(NET) } else { Action::AwaitChange },
    }
}

/// Newest failure ever observed. Hive destroys the cluster that has the evidence.
fn latest_failure(observed: &PoolClusters, known: Option<&PoolFailure>) -> Option<PoolFailure> {
    let failures = observed.clusters.iter().filter_map(|c| c.failure.as_ref());
    failures.chain(known).max_by_key(|f| (f.time, f.cluster_deployment.clone(), f.attempt)).cloned()
}

/// Whether a cluster that was started after the failure was installed. Such a cluster may be claimed and deleted by now. A failure without a
/// time is never overcome.
fn is_failure_overcome(status: &PoolStatus, before: &PoolStatus, observed: &PoolClusters) -> bool {
    let Some(failure) = &status.last_provision_failure else { return false };
    let was = before.provision_failure_overcome == Some(true)
        && before.last_provision_failure.as_ref() == Some(failure);
    let younger = |c: &PoolCluster| c.installed && failure.time.is_some_and(|at| c.created > at);
    was || observed.clusters.iter().any(younger)
}

/// Release image of the ClusterImageSet, together with the one at the creation of the clusters.
fn artifacts(pool: &Pool, observed: &PoolClusters, known: Option<Artifacts>) -> Option<Artifacts> {
    if pool.request.on_artifact_change == Some(OnArtifactChange::Ignore) {
        return None;
    }
    // An unreadable image counts as unchanged.
    let Some(release) = &observed.release_image else { return known };
    match known.filter(|k| k.image_set == pool.image_set) {
        Some(known) => Some(Artifacts { changed: known.release_image != *release, ..known }),
        None => Some(Artifacts {
            image_set: pool.image_set.clone(),
            release_image: release.clone(),
            changed: false,
        }),
    }
}

/// Transitions only. `known`: it was reconciled before, so that the first observation is no news.
fn events(before: &PoolStatus, after: &PoolStatus, known: bool) -> Vec<Event> {
    let mut events = Vec::new();
    let mut emit = |warning: bool, reason: &str, note: String| {
        events.push(Event { warning, reason: reason.into(), note });
    };
    let refresh = |s: &PoolStatus| s.refresh.as_ref().map(|r| (r.nonce.clone(), r.phase));
    let (old, new) = (refresh(before), refresh(after));
    if let Some((nonce, phase)) = new.filter(|new| old.as_ref() != Some(new)) {
        // A nonce from before the first observation requested nothing.
        if known && old.is_none_or(|(old, _)| old != nonce) {
            emit(false, "Refreshing", format!("refresh {nonce} begins"));
        }
        match phase {
            RefreshPhase::Stalled => emit(
                true,
                "RefreshStalled",
                format!("refresh {nonce}: removing clusters did not remove the old ones"),
            ),
            RefreshPhase::Done if known => emit(
                false,
                "Refreshed",
                format!("refresh {nonce}: every cluster that nobody had claimed was replaced"),
            ),
            RefreshPhase::Done | RefreshPhase::Settling | RefreshPhase::Down | RefreshPhase::Up => {}
        }
    }
    let rotated = |s: &PoolStatus| s.rotation.as_ref().map(|r| (r.name.clone(), r.phase));
    if rotated(before) != rotated(after)
        && let Some((name, RotationPhase::Done)) = rotated(after)
    {
        emit(
            false,
            "OldCredentialsReleasable",
            format!("no cluster is left that was made before Secret {name} was used"),
        );
    }
    if let Some(failure) =
        after.last_provision_failure.as_ref().filter(|f| before.last_provision_failure.as_ref() != Some(*f))
    {
        emit(
            true,
            "ProvisionFailed",
            format!("{}: {}: {}", failure.cluster_deployment, failure.reason, failure.message),
        );
    }
    if let Some(namesake) = after.namesakes.iter().find(|n| !before.namesakes.contains(n)) {
        emit(true, "NameTaken", format!("namespace {namesake} has a pool of the same name"));
    }
    events
}
