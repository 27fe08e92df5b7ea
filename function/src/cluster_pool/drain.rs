//! Draining of a pool.
//!
//! Its Object is removed, which deletes the ClusterPool. Hive keeps that until its claimed clusters are given back, and provider-kubernetes
//! keeps the Object as long. Core drops its reference to an Object that is no longer desired and does not show it any more. So the Object
//! is desired again as an observer: it shows the old one while that goes, and its successor proves that nothing is left.

use testplatform_apis::pool_status::PoolPhase;

use super::observed::PoolState;
use crate::observed::observer;

/// How far a pool is that is to drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrainStage {
    /// It is to stay.
    NotDraining,
    /// Its Object is taken away.
    Removed,
    /// Its Object was taken away, and is looked at until it is gone.
    Observed,
    /// Nothing is left, or nothing was ever made.
    Complete,
}

/// How far it is. Only what was seen of ours is looked for again: what is there under the name of a pool that was never made is another's.
pub(super) fn drain_stage(drain: bool, observed: &PoolState) -> DrainStage {
    if !drain {
        return DrainStage::NotDraining;
    }
    let Some(pool) = &observed.pool else {
        // The status may be of before it was taken away: what was on the hub is looked for.
        return match observed.shown {
            Some(PoolPhase::Ready | PoolPhase::Degraded | PoolPhase::Draining) => DrainStage::Observed,
            None | Some(PoolPhase::Pending | PoolPhase::Drained) => DrainStage::Complete,
        };
    };
    let object = &pool.object;
    if object.metadata.deletion_timestamp.is_some() {
        return DrainStage::Observed;
    }
    match (observer::is_observer(object), observer::found_nothing(object)) {
        (true, true) => DrainStage::Complete,
        (true, false) => DrainStage::Observed,
        (false, _) => DrainStage::Removed,
    }
}
