//! One EphemeralCluster in mode `proxy`: the upstream controller fulfils it, and only its credentials are kept in step.

use jiff::Timestamp;

use super::{object::EphemeralCluster, world::World};
use crate::step::Step;

/// What is to be done about the credentials of an EphemeralCluster now. Never a job, a finalizer or a status.
pub fn next(_object: &EphemeralCluster, _world: &World, _now: Timestamp) -> Step {
    Step::default()
}
