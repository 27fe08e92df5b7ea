//! End of a job: signalled, or aborted if the signal cannot be delivered.
//!
//! ci-operator tears a cluster down by itself once the signal is delivered, so an abort is only for jobs without a namespace for the signal,
//! and only after a time in which one may still appear. While the EphemeralCluster is being deleted it is also for jobs that cannot be
//! signalled, after the time that an end may take.

use jiff::Timestamp;

use super::{
    EndReason,
    own_jobs::created,
    planner::{Planner, RETRY, after},
};
use crate::{
    build_clusters::JobSite,
    controllers::ephemeral_cluster::{
        conditions::{CLUSTER_READY, ConditionReason, ConditionStatus, PROW_JOB_COMPLETED, TEST_COMPLETED},
        observed_state::Job,
        operation::Operation,
        prow_job::ProwJob,
        publication,
        status::Phase,
    },
};

/// Begins the description of every job that this provider aborts. Written together with the abort, so it is known for
/// sure whose abort it was.
pub const ABORTED_BY_US: &str = "provider-testplatform: ";

/// Why a job is aborted that is waited for no longer.
const SIGNAL_IMPOSSIBLE: &str = "the EphemeralCluster is being deleted, and the job cannot be told to end";

/// Ways to end a job.
#[derive(Clone, Debug, PartialEq)]
pub enum EndMethod {
    /// Nothing more: the signal is there.
    Told,
    /// The signal.
    Tell {
        /// The build cluster.
        cluster: String,
        /// ci-operator's namespace.
        namespace: String,
    },
    /// It has no namespace. Aborted, once it may be.
    Abort {
        /// Reason why the signal cannot be delivered.
        obstacle: String,
    },
    /// It may well have a namespace, which cannot be written to now. Tried again.
    OutOfReach {
        /// Why.
        reason: ConditionReason,
        /// Why, as a sentence.
        obstacle: String,
    },
}

/// Decides how to end the job at a site.
pub fn end_method(site: &JobSite) -> EndMethod {
    match site {
        JobSite::Namespace { signalled: true, .. } => EndMethod::Told,
        JobSite::Namespace { cluster, name, terminating: false, signalled: false, .. } => {
            EndMethod::Tell { cluster: cluster.clone(), namespace: name.clone() }
        }
        // An API server takes nothing into it any more. The job ends when its pods are deleted with it.
        JobSite::Namespace { cluster, name, terminating: true, signalled: false, .. } => {
            EndMethod::OutOfReach {
                reason: ConditionReason::NamespacePending,
                obstacle: publication::terminating(cluster, name),
            }
        }
        JobSite::Unscheduled => EndMethod::Abort { obstacle: "the ProwJob has no build cluster yet".into() },
        JobSite::NoNamespace { cluster } => EndMethod::Abort { obstacle: publication::no_namespace(cluster) },
        JobSite::Unknown { cluster } => EndMethod::OutOfReach {
            reason: ConditionReason::BuildClusterUnknown,
            obstacle: publication::unknown(cluster),
        },
        JobSite::Unreachable { cluster, .. } => EndMethod::OutOfReach {
            reason: ConditionReason::BuildClusterUnreachable,
            obstacle: publication::unreachable(cluster),
        },
    }
}

/// From when on a job may have a namespace at any moment.
pub fn started(job: &ProwJob) -> Option<Timestamp> {
    job.status.value.pending_time.max(created(job))
}

/// Ends the bound job.
pub fn plan_teardown(pass: &mut Planner<'_>, job: &Job, ending: EndReason) {
    let noticed = pass.since(TEST_COMPLETED).or_else(|| deleted_at(pass)).unwrap_or(pass.now);
    // A signal that was delivered once counts as delivered, even if its namespace is gone since.
    let was_signalled = pass.is_condition_true(TEST_COMPLETED);
    let means = match (end_method(&job.site), ending) {
        // It has no pod, so where it would have had one does not matter.
        (EndMethod::OutOfReach { obstacle, .. }, EndReason::NeverScheduled) => EndMethod::Abort { obstacle },
        (means, EndReason::Asked | EndReason::ProvisionTimeout | EndReason::NeverScheduled) => means,
    };
    let begun = match means {
        EndMethod::Told => is_signalled(pass),
        EndMethod::Tell { cluster, namespace } => {
            let was_refused = is_signal_refused(pass);
            if was_signalled || was_refused {
                // A delivered signal stays delivered, and a refused one may be refused for long: nothing waits for it.
                let signal = send_signal(pass, job, noticed, cluster, namespace);
                pass.afterwards.push(signal);
            } else {
                pass.actions.push(Operation::SignalWaitStep { cluster, namespace });
            }
            !was_refused && is_signalled(pass)
        }
        EndMethod::Abort { .. } | EndMethod::OutOfReach { .. } if was_signalled => {
            pass.requeue_after(RETRY);
            let abort = abandon_job(pass, job, noticed);
            pass.actions.extend(abort);
            true
        }
        EndMethod::Abort { obstacle } => {
            let from = match ending {
                // Its time was up before: an hour without a build cluster is grace enough.
                EndReason::NeverScheduled => None,
                EndReason::Asked | EndReason::ProvisionTimeout => started(&job.prow_job).max(Some(noticed)),
            };
            let deadline = from.map(|t| after(t, pass.observed.settings.abort_grace));
            let aborts = deadline.is_none_or(|at| pass.is_due(at)) && pass.is_sure();
            if aborts {
                pass.actions.push(abort_job(&job.prow_job, &obstacle));
            }
            pass.set(TEST_COMPLETED, ConditionStatus::False, ConditionReason::NamespacePending, obstacle);
            aborts
        }
        EndMethod::OutOfReach { reason, obstacle } => {
            pass.requeue_after(RETRY);
            pass.set(TEST_COMPLETED, ConditionStatus::False, reason, obstacle);
            let abort = abandon_job(pass, job, noticed);
            let aborts = abort.is_some();
            pass.actions.extend(abort);
            aborts
        }
    };
    // Clients stop waiting at Failed, so the end begins before it is reported.
    let failed = ConditionReason::parse_decision(pass.reason_against(CLUSTER_READY)).is_some() && begun;
    pass.enter_phase(if failed { Phase::Failed } else { Phase::Deprovisioning });
    report_overdue(pass);
}

/// Whether the signal could not be written, and is not there since.
pub fn is_signal_refused(pass: &Planner<'_>) -> bool {
    pass.reason_against(TEST_COMPLETED) == ConditionReason::SignalFailed.as_str()
}

/// Sends the signal. A deleted object does not wait forever for a cluster that refuses it. Only an attempt shows the refusal: there may have
/// been no attempt until now.
fn send_signal(
    pass: &mut Planner<'_>,
    job: &Job,
    noticed: Timestamp,
    cluster: String,
    namespace: String,
) -> Operation {
    if is_abandoned(pass, noticed) {
        let (name, description) = (job.prow_job.name().to_owned(), by_us(SIGNAL_IMPOSSIBLE));
        Operation::SignalWaitStepOrAbort { cluster, namespace, name, description }
    } else {
        Operation::SignalWaitStep { cluster, namespace }
    }
}

/// Decides how to end a job that has no condition of its own.
pub fn end_unserved_job(pass: &mut Planner<'_>, job: &Job) -> Option<Operation> {
    let noticed = deleted_at(pass).unwrap_or(pass.now);
    match end_method(&job.site) {
        EndMethod::Told => None,
        EndMethod::Tell { cluster, namespace } => Some(send_signal(pass, job, noticed, cluster, namespace)),
        EndMethod::Abort { obstacle } => {
            let deadline = started(&job.prow_job).map(|t| after(t, pass.observed.settings.abort_grace));
            let aborts = deadline.is_none_or(|at| pass.is_due(at)) && pass.is_sure();
            aborts.then(|| abort_job(&job.prow_job, &obstacle))
        }
        EndMethod::OutOfReach { .. } => {
            pass.requeue_after(RETRY);
            abandon_job(pass, job, noticed)
        }
    }
}

/// Being deleted, an EphemeralCluster does not wait for ever for what cannot be reached.
fn abandon_job(pass: &mut Planner<'_>, job: &Job, noticed: Timestamp) -> Option<Operation> {
    is_abandoned(pass, noticed).then(|| abort_job(&job.prow_job, SIGNAL_IMPOSSIBLE))
}

/// Whether to stop waiting for a job that cannot be signalled.
fn is_abandoned(pass: &mut Planner<'_>, noticed: Timestamp) -> bool {
    let Some(deleted) = deleted_at(pass) else { return false };
    let deadline = after(deleted.max(noticed), pass.observed.settings.deprovision_timeout);
    pass.is_due(deadline) && pass.is_sure()
}

fn is_signalled(pass: &mut Planner<'_>) -> bool {
    pass.set(
        TEST_COMPLETED,
        ConditionStatus::True,
        ConditionReason::Signalled,
        "the ProwJob was told to end",
    );
    true
}

fn abort_job(job: &ProwJob, why: &str) -> Operation {
    Operation::AbortProwJob { name: job.name().to_owned(), description: by_us(why) }
}

fn by_us(why: &str) -> String {
    format!("{ABORTED_BY_US}{why}")
}

/// A deprovision is never cut short: leftovers cost money until somebody finds them.
fn report_overdue(pass: &mut Planner<'_>) {
    let Some(since) = pass.since(TEST_COMPLETED) else { return };
    if !pass.is_due(after(since, pass.observed.settings.deprovision_timeout)) {
        return;
    }
    let text = "the ProwJob has not ended in the time that its end may take";
    if pass.set(PROW_JOB_COMPLETED, ConditionStatus::False, ConditionReason::DeprovisionTimeout, text) {
        pass.emit(true, ConditionReason::DeprovisionTimeout.as_str(), text);
    }
}

fn deleted_at(pass: &Planner<'_>) -> Option<Timestamp> {
    pass.object.metadata.deletion_timestamp.as_ref().map(|t| t.0)
}
