//! Rotation of a pool's credentials: which clusters need the old ones, and, if requested, emptying the pool before the new ones are used.
//!
//! A ClusterDeployment refers to its own copy and does not name the source Secret. Its age therefore decides: a cluster older than the moment
//! at which the pool was first observed with the new Secret counts as made with the old one. A cluster in between counts as old, which keeps
//! the old credentials a little longer. Nor are they dropped too early: Hive reads the pool once and then creates all missing clusters one
//! after the other, so slightly younger clusters may still be old ones, and our clock may be behind; the hash that Hive leaves on them
//! identifies those.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    pool::RotationMode,
    pool_report::{Ceiling, RotationPhase, RotationReport},
};
use testplatform_runtime::time::saturating_add;

use super::{
    clusters::{PoolCluster, PoolClusters},
    pool::{Pool, at_most},
};

/// The most names that are listed.
const MOST: usize = 50;
/// For so long after the change a cluster may be made from the pool as it was before: several times what Hive takes to make all that a pool lacks.
const ROUND: SignedDuration = SignedDuration::from_mins(10);

/// How far the rotation is from now on, and what the pool may be at most.
pub(super) fn advance(
    pool: &Pool,
    observed: &PoolClusters,
    known: Option<RotationReport>,
    now: Timestamp,
) -> (Option<RotationReport>, Option<Ceiling>) {
    let Some((requested, used)) = pool.request.credentials.as_ref().zip(pool.credentials.as_ref()) else {
        return (known, None);
    };
    if requested.name != *used && requested.mode == RotationMode::Drain {
        let all: Vec<&PoolCluster> = observed.clusters.iter().collect();
        // The function switches to the new ones in this phase; clusters that Hive creates for a waiting claim before that need the old ones.
        let empty = all.is_empty() && pool.size == 0;
        let phase = if empty { RotationPhase::Switching } else { RotationPhase::Draining };
        // Since when those are used that are used: should it be called off, that is what counts again.
        let report = RotationReport { name: requested.name.clone(), phase, ..known.unwrap_or_default() };
        return (Some(count_before(report, &all)), Some(at_most(0, None)));
    }
    if requested.name != *used {
        // The function is about to change it.
        return (known, None);
    }
    let spec_hash = youngest_hash(observed);
    let Some(known) = known else {
        return (Some(RotationReport { name: used.clone(), spec_hash, ..RotationReport::default() }), None);
    };
    let first = |spec_hash| RotationReport { name: used.clone(), spec_hash, ..RotationReport::default() };
    let emptying = matches!(known.phase, RotationPhase::Draining | RotationPhase::Switching);
    let (since, before) = match (known.name == *used, emptying) {
        (true, false) if known.phase == RotationPhase::First => {
            return (Some(first(spec_hash.or(known.spec_hash))), None);
        }
        (true, false) => (known.since.unwrap_or(now), known.spec_hash_before),
        // Called off: as it was before.
        (false, true) => match known.since {
            Some(since) => (since, known.spec_hash_before),
            None => return (Some(first(spec_hash.or(known.spec_hash))), None),
        },
        // Just switched.
        (true, true) | (false, false) => (now, known.spec_hash.clone()),
    };
    let end = saturating_add(since, ROUND);
    let of_before = |c: &&PoolCluster| c.created < end && before.is_some() && c.spec_hash == before;
    let old: Vec<&PoolCluster> =
        observed.clusters.iter().filter(|c| c.created < since || of_before(c)).collect();
    let phase = if old.is_empty() { RotationPhase::Done } else { RotationPhase::Replacing };
    let report = RotationReport {
        name: used.clone(),
        phase,
        since: Some(since),
        spec_hash: spec_hash.or(known.spec_hash),
        spec_hash_before: before,
        ..RotationReport::default()
    };
    (Some(count_before(report, &old)), None)
}

/// Pool hash that Hive recorded on the youngest cluster.
fn youngest_hash(observed: &PoolClusters) -> Option<String> {
    let youngest = observed.clusters.iter().max_by_key(|c| (c.created, &c.name));
    youngest.and_then(|c| c.spec_hash.clone())
}

fn count_before(mut report: RotationReport, old: &[&PoolCluster]) -> RotationReport {
    let mut names: Vec<String> = old.iter().map(|c| c.name.clone()).collect();
    names.sort();
    names.truncate(MOST);
    report.clusters_on_old = names;
    report.on_old = i64::try_from(old.len()).unwrap_or(i64::MAX);
    report.claimed_on_old = i64::try_from(old.iter().filter(|c| c.claimed).count()).unwrap_or(i64::MAX);
    report
}
