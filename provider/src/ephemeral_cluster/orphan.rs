//! A ProwJob whose EphemeralCluster is gone: it is ended, so that its cluster is.

use jiff::Timestamp;

use super::{settings::Settings, world::Job};
use crate::step::Step;

/// What is to be done about a job of which the API server said, in this pass, that its EphemeralCluster does not
/// exist any more. The step has no status.
pub fn next(_job: &Job, _settings: &Settings, _now: Timestamp) -> Step {
    Step::default()
}
