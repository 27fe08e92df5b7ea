//! Replaces every unclaimed cluster once, by lowering the pool's size and raising it again.
//!
//! ```text
//! Settling ──at rest──▶ Down ──there──▶ Up ──full──▶ Settling … ──none older──▶ Done
//!                                        └──no fewer older──▶ Stalled
//! ```
//!
//! No label or annotation of a pool makes Hive replace its clusters, only a change of platform, base domain, image set or the name of the
//! install-config template; a replacement one by one is therefore done here too, in waves of one. Hive removes installing clusters first, then
//! hibernating ones, then running ones, of the last two the oldest first. Therefore a wave waits until the pool is at rest and all of its
//! clusters are in the same state: then the oldest are removed. That removes the running ones, from when the pool is full until they are gone;
//! where clusters cannot hibernate, all run and are in the same state anyway. If all may be missing at a time, nothing waits.
//!
//! A pool is full when it has what it can have: claimed clusters count against `maxSize` too, and use entries of the inventory.
//!
//! Each waiting claim adds a cluster, whatever the size. Clusters that a wave left to waiting claims prove nothing: such a cluster is claimed
//! in a moment, or is deleted with the claim. In between the pool seems full of old clusters.

use jiff::Timestamp;
use testplatform_apis::{
    pool::OnArtifactChange,
    pool_report::{Artifacts, Ceiling, RefreshPhase, RefreshReport, RefreshRequest},
};

use super::{
    clusters::{PoolCluster, PoolClusters},
    pool::{Pool, at_most},
};

/// Nonce prefix of a refresh without a requested nonce; the release follows.
const BY_ARTIFACT: &str = "artifact:";

/// How far the refresh is from now on, and what the pool may be at most.
pub(super) fn advance(
    pool: &Pool,
    observed: &PoolClusters,
    artifacts: Option<&Artifacts>,
    now: Timestamp,
) -> (Option<RefreshReport>, Option<Ceiling>) {
    let known = pool.known.as_ref().and_then(|k| k.refresh.clone());
    let Some(usual) = pool.request.size else { return (known, None) };
    let Some(requested) = requested_refresh(pool, observed, artifacts, known.as_ref()) else {
        // A cancelled refresh leaves no trace.
        return (known.filter(|k| k.phase.is_over()), None);
    };
    let mut report = match known.filter(|k| k.nonce == requested.nonce) {
        Some(report) => report,
        // A nonce from before the first observation requests nothing: it may be older than every cluster.
        None if pool.known.is_none() => {
            let done = RefreshReport {
                nonce: requested.nonce,
                phase: RefreshPhase::Done,
                ..RefreshReport::default()
            };
            return (Some(done), None);
        }
        None => RefreshReport {
            along: pool
                .request
                .refresh
                .as_ref()
                .map(|r| r.nonce.clone())
                .filter(|along| *along != requested.nonce),
            nonce: requested.nonce,
            started_at: Some(now),
            youngest: observed.clusters.iter().map(|c| c.created).max(),
            ..RefreshReport::default()
        },
    };
    let full = attainable_size(pool, observed, usual);
    let missing = requested.max_unavailable.unwrap_or(usual).clamp(1, full.max(1));
    let wave = Wave { pool, observed, usual, full, all: missing >= full, down: (full - missing).max(0) };
    let mut ceiling = None;
    // A wave may be through several of its phases already. None comes twice in one look.
    for _ in 0..4 {
        let (phase, lowered) = wave.at(&mut report);
        ceiling = lowered;
        if phase == report.phase {
            break;
        }
        report.phase = phase;
    }
    if report.phase.is_over() {
        ceiling = None;
    }
    (Some(report), ceiling)
}

/// Refresh to carry out: the one with a nonce, else, if allowed, one for another release.
fn requested_refresh(
    pool: &Pool,
    observed: &PoolClusters,
    artifacts: Option<&Artifacts>,
    known: Option<&RefreshReport>,
) -> Option<RefreshRequest> {
    let by_nonce = pool.request.refresh.clone().filter(|r| match known {
        Some(known) if known.nonce == r.nonce => !known.phase.is_over(),
        Some(known) => !known.covers_nonce(&r.nonce),
        None => true,
    });
    let rolls = pool.request.on_artifact_change == Some(OnArtifactChange::Rolling);
    let changed = artifacts.is_some_and(|a| a.changed);
    let release = observed.release_image.as_ref().filter(|_| rolls && changed);
    let by_artifact = || {
        release.map(|release| RefreshRequest {
            nonce: format!("{BY_ARTIFACT}{release}"),
            max_unavailable: Some(1),
        })
    };
    by_nonce.or_else(by_artifact)
}

/// Attainable number of unclaimed clusters, of a wanted number. An unclaimed cluster in deletion soon makes room.
fn attainable_size(pool: &Pool, observed: &PoolClusters, usual: i64) -> i64 {
    let claimed = i64::try_from(observed.clusters.iter().filter(|c| c.claimed).count()).unwrap_or(i64::MAX);
    pool.most.map_or(usual, |most| usual.min(most.saturating_sub(claimed).max(0)))
}

/// One wave.
struct Wave<'a> {
    pool: &'a Pool,
    observed: &'a PoolClusters,
    /// The size when nothing else is going on.
    usual: i64,
    /// How many clusters there are when it is full.
    full: i64,
    /// Whether all may be missing at a time.
    all: bool,
    /// The size when as many are missing as may be.
    down: i64,
}

impl Wave<'_> {
    /// The phase that follows from what is there, the same if nothing does, and what the pool may be at most in it.
    fn at(&self, report: &mut RefreshReport) -> (RefreshPhase, Option<Ceiling>) {
        let is_old = |c: &&PoolCluster| match (report.youngest, report.started_at) {
            (Some(youngest), _) => c.created <= youngest,
            (None, Some(at)) => c.created < at,
            (None, None) => false,
        };
        let old = self.free().filter(is_old).count();
        let old = i64::try_from(old).unwrap_or(i64::MAX);
        if report.phase.is_over() {
            return (report.phase, None);
        }
        report.remaining = Some(old);
        if old == 0 {
            return (RefreshPhase::Done, None);
        }
        // Running clusters keep running until some have to be deleted: the wait may be long.
        let full = at_most(self.usual, None);
        match report.phase {
            RefreshPhase::Settling if self.all || self.is_at_rest() => {
                report.before = Some(old);
                (RefreshPhase::Down, Some(at_most(self.down, self.idle())))
            }
            RefreshPhase::Down if self.is_down() => {
                // More than that are left to claims alone.
                report.before = report.before.filter(|_| self.count() <= self.down);
                (RefreshPhase::Up, Some(full))
            }
            RefreshPhase::Down => (RefreshPhase::Down, Some(at_most(self.down, self.idle()))),
            RefreshPhase::Up if !self.is_full() => (RefreshPhase::Up, Some(full)),
            RefreshPhase::Up if report.before.is_none() && self.observed.waiting > 0 => {
                (RefreshPhase::Up, Some(full))
            }
            RefreshPhase::Up if report.before.is_some_and(|before| before <= old) => {
                (RefreshPhase::Stalled, None)
            }
            RefreshPhase::Settling if !self.is_full() => (RefreshPhase::Settling, Some(full)),
            RefreshPhase::Settling | RefreshPhase::Up => {
                (RefreshPhase::Settling, Some(at_most(self.usual, self.idle())))
            }
            RefreshPhase::Done | RefreshPhase::Stalled => (report.phase, None),
        }
    }

    fn free(&self) -> impl Iterator<Item = &PoolCluster> {
        self.observed.clusters.iter().filter(|c| c.is_free())
    }

    fn count(&self) -> i64 {
        i64::try_from(self.free().count()).unwrap_or(i64::MAX)
    }

    /// How many may run meanwhile: none, where clusters can be stopped and not all of them go at once.
    fn idle(&self) -> Option<i64> {
        (!self.pool.always_runs && !self.all).then_some(0)
    }

    /// Whether the pool is full, and Hive would remove the oldest of its clusters first.
    fn is_at_rest(&self) -> bool {
        let idle = self.idle().is_none_or(|running| self.pool.running_count <= running);
        let sleeping = self.free().filter(|c| !c.running).count();
        let running = self.free().filter(|c| c.running).count();
        idle && self.is_full() && (sleeping == 0 || running == 0)
    }

    /// Whether as many are missing as planned. Each waiting claim may add one.
    fn is_down(&self) -> bool {
        let waiting = i64::try_from(self.observed.waiting).unwrap_or_default();
        self.pool.size <= self.down && self.count() <= self.down.saturating_add(waiting)
    }

    /// Whether every slot has an installed cluster.
    fn is_full(&self) -> bool {
        self.pool.size >= self.usual && self.count() >= self.full && self.free().all(|c| c.installed)
    }
}
