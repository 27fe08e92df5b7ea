//! One EphemeralCluster in mode `fulfil`.

use jiff::Timestamp;

use super::{object::EphemeralCluster, world::World};
use crate::step::Step;

/// What is to be done about an EphemeralCluster now.
pub fn next(_object: &EphemeralCluster, _world: &World, _now: Timestamp) -> Step {
    Step::default()
}
