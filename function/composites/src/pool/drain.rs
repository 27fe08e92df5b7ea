//! Draining of a pool.
//!
//! Its Object is removed, which deletes the ClusterPool. Hive keeps that until its claimed clusters are given back, and provider-kubernetes
//! keeps the Object as long. Core drops its reference to an Object that is no longer desired and does not show it any more. So the Object
//! is desired again as an observer: it shows the old one while that goes, and its successor proves that nothing is left.
//!
//! Core writes the references to Objects before the status, and often fails to write the status of a pass that changes them: the composite
//! has been modified. The Object is therefore kept until the status says why it is removed, both times: that the pool drains, and that
//! nothing is left of it. Otherwise the next pass has neither the Object nor the record, and starts again.

use testplatform_apis::pool_status::PoolPhase;

use super::observed::PoolState;
use crate::objects::observer;

/// How far a pool is that is to drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrainStage {
    /// It is to stay.
    NotDraining,
    /// It is to drain, and the status does not say so yet.
    Announced,
    /// Its Object is removed.
    Removed,
    /// Its Object was removed, and is observed until the pool is gone.
    Observed,
    /// Nothing is left, and the status does not say so yet.
    Proven,
    /// Nothing is left, or nothing was ever made.
    Complete,
}

/// How far it is. Only an observed pool of ours is searched for: under the name of a pool that was never made may be another's.
pub(super) fn drain_stage(drain: bool, observed: &PoolState) -> DrainStage {
    if !drain {
        return DrainStage::NotDraining;
    }
    let recorded = |phase| observed.shown == Some(phase);
    let Some(pool) = &observed.pool else {
        return match observed.shown {
            Some(PoolPhase::Ready | PoolPhase::Degraded | PoolPhase::Draining) => DrainStage::Observed,
            None | Some(PoolPhase::Pending | PoolPhase::Drained) => DrainStage::Complete,
        };
    };
    let object = &pool.object;
    if observer::is_observer(object) {
        if recorded(PoolPhase::Drained) {
            DrainStage::Complete
        } else if observer::found_nothing(object) {
            DrainStage::Proven
        } else {
            DrainStage::Observed
        }
    } else if object.metadata.deletion_timestamp.is_some() {
        DrainStage::Observed
    } else if recorded(PoolPhase::Draining) {
        DrainStage::Removed
    } else {
        DrainStage::Announced
    }
}
