//! ProwJob whose EphemeralCluster is deleted: ending the job also deletes its cluster.

use jiff::Timestamp;
use testplatform_runtime::reconcile::Action;

use super::{
    observed_state::Job,
    operation::{Operation, Plan},
    plan::{
        planner::{RETRY, after},
        teardown::{ABORTED_BY_US, EndMethod, end_method, started},
    },
    settings::Settings,
};

/// Plans the end of a job whose EphemeralCluster does not exist any more, as the API server confirmed in this reconcile. The plan has no
/// status.
pub fn plan_orphan(job: &Job, settings: &Settings, now: Timestamp) -> Plan {
    if job.prow_job.state().is_final() {
        return Plan::default();
    }
    let wait = |time| Plan { requeue: Action::requeue_after(time), ..Plan::default() };
    match end_method(&job.site) {
        EndMethod::Told => Plan::default(),
        EndMethod::Tell { cluster, namespace } => {
            Plan { actions: vec![Operation::SignalWaitStep { cluster, namespace }], ..Plan::default() }
        }
        EndMethod::Abort { .. } => {
            let deadline = started(&job.prow_job).map_or(now, |t| after(t, settings.abort_grace));
            if deadline > now {
                return wait(deadline.duration_since(now));
            }
            let description = format!("{ABORTED_BY_US}its EphemeralCluster does not exist any more");
            let name = job.prow_job.name().to_owned();
            Plan { actions: vec![Operation::AbortProwJob { name, description }], ..Plan::default() }
        }
        // An abort would leave an unknown cluster behind.
        EndMethod::OutOfReach { .. } => wait(RETRY),
    }
}
