//! The bound job has ended, or does not exist any more: reports the meaning, once.

use testplatform_apis::names::ephemeral_cluster::FINALIZER;

use super::{
    ever_ready, is_end_requested,
    planner::{Planner, RETRY, after},
    provision_deadline,
    teardown::{ABORTED_BY_US, EndMethod, end_method, is_signal_refused},
};
use crate::{
    build_clusters::JobSite,
    controllers::ephemeral_cluster::{
        conditions::{
            CLUSTER_READY, CREDENTIALS_IN_SYNC, ConditionReason, ConditionStatus, PROW_JOB_COMPLETED,
            TEST_COMPLETED, find,
        },
        observed_state::Job,
        operation::Operation,
        prow_job::JobState,
        status::{Condition, Phase},
    },
    credentials::Published,
};

/// Meaning of a job's end.
struct JobOutcome {
    /// Whether it is as asked, so that nothing has to be looked into.
    fine: bool,
    reason: ConditionReason,
    message: String,
}

/// The job has ended.
pub fn plan_conclusion(pass: &mut Planner<'_>, job: &Job) {
    if !was_concluded(pass) {
        let outcome = job_outcome(pass, job);
        set_conclusion(pass, outcome);
    }
}

/// Handles a job that does not exist any more. Returns whether nothing is left to do about it.
pub fn conclude_missing_job(pass: &mut Planner<'_>) -> bool {
    if was_concluded(pass) {
        return true;
    }
    let is_requested = is_end_requested(pass);
    let name = &pass.status.prow_job_id;
    let message = format!("ProwJob {name} does not exist any more");
    if !is_requested {
        pass.set(CLUSTER_READY, ConditionStatus::False, ConditionReason::ProwJobGone, message.clone());
    }
    if !pass.is_condition_true(TEST_COMPLETED) && !end_orphaned_namespace(pass) {
        return false;
    }
    set_conclusion(
        pass,
        decided_outcome(pass, &message).unwrap_or(JobOutcome {
            fine: is_requested,
            reason: ConditionReason::ProwJobGone,
            message,
        }),
    );
    // The status remembers a refused signal, so a deleted object needs one too.
    !pass.actions.iter().any(|action| matches!(action, Operation::SignalWaitStep { .. }))
}

/// The status names a job of another object, as after a restore under a new uid. The orphan loop ends that job.
pub fn conclude_foreign_job(pass: &mut Planner<'_>, job: &Job) {
    if was_concluded(pass) || !pass.is_sure() {
        return;
    }
    let message =
        format!("ProwJob {}, which the status names, was made for another object", job.prow_job.name());
    pass.set(CLUSTER_READY, ConditionStatus::False, ConditionReason::OwnershipMismatch, message.clone());
    set_conclusion(pass, JobOutcome { fine: false, reason: ConditionReason::OwnershipMismatch, message });
}

/// The conclusion is stored. The finalizer is removed only then: waiting clients can rely on finding the conclusion.
fn was_concluded(pass: &mut Planner<'_>) -> bool {
    let concluded = find(&pass.stored().conditions, PROW_JOB_COMPLETED).is_some_and(Condition::is_true);
    if concluded {
        withdraw(pass);
        if pass.object.has_finalizer(FINALIZER) {
            pass.remove_finalizer();
        }
    }
    concluded
}

fn job_outcome(pass: &Planner<'_>, job: &Job) -> JobOutcome {
    let status = &job.prow_job.status.value;
    let state = status.state;
    let is_signalled = pass.is_condition_true(TEST_COMPLETED)
        || matches!(job.site, JobSite::Namespace { signalled: true, .. });
    let aborted_by_us = state == JobState::Aborted && status.description.starts_with(ABORTED_BY_US);
    let is = |fine, reason, what: &str| JobOutcome {
        fine,
        reason,
        message: format!("ProwJob {} ended as {}{what}", job.prow_job.name(), state.as_str()),
    };
    if let Some(verdict) = decided_outcome(pass, &format!("its ProwJob ended as {}", state.as_str())) {
        return verdict;
    }
    match state {
        JobState::Success if is_signalled || is_end_requested(pass) => {
            is(true, ConditionReason::ProwJobCompleted, "")
        }
        JobState::Success => is(true, ConditionReason::EndedWithoutSignal, ", nobody had asked for it"),
        JobState::Failure | JobState::Aborted | JobState::Error => {
            match (aborted_by_us, is_end_requested(pass)) {
                (true, true) => is(true, ConditionReason::ProwJobAborted, ", with nothing to tear down"),
                // The verdict was on its way when this provider was interrupted.
                (true, false) if provision_deadline(pass) <= pass.now => {
                    is(false, ConditionReason::ProvisionTimeout, ", there was no cluster in time")
                }
                (true, false) => {
                    is(false, ConditionReason::NeverScheduled, ", it found no build cluster in time")
                }
                (false, _) if is_signalled => is(
                    false,
                    ConditionReason::DeprovisionFailed,
                    " after the signal; something may be left behind",
                ),
                (false, _) if ever_ready(pass) => {
                    is(false, ConditionReason::EndedWithoutSignal, ", nobody had asked for it")
                }
                (false, _) => is(false, ConditionReason::ProwJobFailure, " before there was a cluster"),
            }
        }
        JobState::Scheduling | JobState::Triggered | JobState::Pending | JobState::Unknown => {
            is(false, ConditionReason::ProwJobFailure, "")
        }
    }
}

/// Decision that was made before the job ended.
fn decided_outcome(pass: &Planner<'_>, how: &str) -> Option<JobOutcome> {
    let condition = find(&pass.status.conditions, CLUSTER_READY).filter(|c| c.is_false())?;
    let reason = ConditionReason::parse_decision(&condition.reason)?;
    let message = if reason == ConditionReason::ProwJobGone {
        how.to_owned()
    } else {
        format!("{}; {how}", condition.message)
    };
    Some(JobOutcome { fine: false, reason, message })
}

fn set_conclusion(pass: &mut Planner<'_>, outcome: JobOutcome) {
    let JobOutcome { fine, reason, message } = outcome;
    withdraw(pass);
    let word = if fine { ConditionReason::Deprovisioned } else { ConditionReason::ProwJobFailure };
    let ready_reason = pass.reason_against(CLUSTER_READY);
    // A reason that names the cause stays.
    if ConditionReason::parse_decision(ready_reason).is_none()
        && ready_reason != ConditionReason::OwnershipMismatch.as_str()
    {
        pass.set(CLUSTER_READY, ConditionStatus::False, word, message.clone());
    }
    if find(&pass.status.conditions, CREDENTIALS_IN_SYNC).is_some() {
        pass.set(CREDENTIALS_IN_SYNC, ConditionStatus::False, word, "the credentials are withdrawn");
    }
    // Nothing is over while another job of the same EphemeralCluster costs money.
    if !pass.own.strays.is_empty() {
        pass.enter_phase(if fine { Phase::Deprovisioning } else { Phase::Failed });
        return;
    }
    pass.complete(fine, reason, message);
    pass.enter_phase(if fine { Phase::Deprovisioned } else { Phase::Failed });
}

/// A job that somebody deleted leaves ci-operator running. Whether that has been dealt with.
fn end_orphaned_namespace(pass: &mut Planner<'_>) -> bool {
    let Some(site) = &pass.observed.orphaned_site else { return true };
    match end_method(site) {
        EndMethod::Tell { cluster, namespace } if is_signal_refused(pass) => {
            pass.afterwards.push(Operation::SignalWaitStep { cluster, namespace });
            is_given_up(pass)
        }
        EndMethod::Tell { cluster, namespace } => {
            pass.actions.push(Operation::SignalWaitStep { cluster, namespace });
            is_signalled(pass)
        }
        EndMethod::Told => is_signalled(pass),
        EndMethod::Abort { .. } | EndMethod::OutOfReach { reason: ConditionReason::NamespacePending, .. } => {
            true
        }
        EndMethod::OutOfReach { reason, obstacle } => {
            pass.set(TEST_COMPLETED, ConditionStatus::False, reason, obstacle);
            pass.requeue_after(RETRY);
            is_given_up(pass)
        }
    }
}

fn is_signalled(pass: &mut Planner<'_>) -> bool {
    pass.set(
        TEST_COMPLETED,
        ConditionStatus::True,
        ConditionReason::Signalled,
        "what the ProwJob left behind was told to end",
    );
    true
}

/// Whether a job that cannot be signalled has been tried for long enough.
fn is_given_up(pass: &mut Planner<'_>) -> bool {
    pass.enter_phase(Phase::Deprovisioning);
    let since = pass.since(TEST_COMPLETED).unwrap_or(pass.now);
    pass.is_due(after(since, pass.observed.settings.deprovision_timeout))
}

/// The credentials of a deleted cluster are useless, but still a secret.
pub fn withdraw(pass: &mut Planner<'_>) {
    if let Published::Ours { .. } = pass.observed.published {
        pass.actions.push(Operation::WithdrawCredentials);
    }
}
