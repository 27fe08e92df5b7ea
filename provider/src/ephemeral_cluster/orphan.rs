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
use crate::step::{Operation, Plan, Requeue};

/// Plans the end of a job whose EphemeralCluster does not exist any more, as the API server confirmed in this reconcile. The plan has no
/// status.
pub fn next(job: &Job, settings: &Settings, now: Timestamp) -> Plan {
    if job.prow_job.state().is_final() {
        return Plan::default();
    }
    let wait = |time| Plan { requeue: Requeue::after(time), ..Plan::default() };
    match means(&job.site) {
        Means::Told => Plan::default(),
        Means::Tell { cluster, namespace } => {
            Plan { actions: vec![Operation::SignalWaitStep { cluster, namespace }], ..Plan::default() }
        }
        Means::Abort { .. } => {
            let deadline = started(&job.prow_job).map_or(now, |t| after(t, settings.abort_grace));
            if deadline > now {
                return wait(deadline.duration_since(now));
            }
            let description = format!("{ABORTED_BY_US}its EphemeralCluster does not exist any more");
            let name = job.prow_job.name().to_owned();
            Plan { actions: vec![Operation::AbortProwJob { name, description }], ..Plan::default() }
        }
        // Aborting it would leave a cluster behind that nobody knows of.
        Means::OutOfReach { .. } => wait(RETRY),
    }
}
