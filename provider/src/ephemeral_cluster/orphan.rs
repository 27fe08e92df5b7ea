//! A ProwJob whose EphemeralCluster is gone: it is ended, so that its cluster is.

use jiff::Timestamp;

use super::{
    next::{
        pass::{RETRY, after},
        teardown::{ABORTED_BY_US, Means, means, started},
    },
    settings::Settings,
    world::Job,
};
use crate::step::{Action, Requeue, Step};

/// What is to be done about a job of which the API server said, in this pass, that its EphemeralCluster does not
/// exist any more. The step has no status.
pub fn next(job: &Job, settings: &Settings, now: Timestamp) -> Step {
    if job.prow_job.state().is_final() {
        return Step::default();
    }
    let wait = |time| Step { requeue: Requeue::after(time), ..Step::default() };
    match means(&job.site) {
        Means::Told => Step::default(),
        Means::Tell { cluster, namespace } => {
            Step { actions: vec![Action::Signal { cluster, namespace }], ..Step::default() }
        }
        Means::Abort { .. } => {
            let deadline = started(&job.prow_job).map_or(now, |t| after(t, settings.abort_grace));
            if deadline > now {
                return wait(deadline.duration_since(now));
            }
            let description = format!("{ABORTED_BY_US}its EphemeralCluster does not exist any more");
            let name = job.prow_job.name().to_owned();
            Step { actions: vec![Action::AbortProwJob { name, description }], ..Step::default() }
        }
        // Aborting it would leave a cluster behind that nobody knows of.
        Means::OutOfReach { .. } => wait(RETRY),
    }
}
