//! No job is known: creates one, or reports the reason why not.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    foreign::ephemeral_cluster::{TERMINAL_CREATE_REASONS, TOO_MANY_PROW_JOBS},
    names::ephemeral_cluster::FINALIZER,
};
use testplatform_runtime::event::Event;

use super::{
    conclusion::withdraw,
    creation_time, ever_ready, is_end_requested,
    planner::{Planner, RETRY, after},
    provision_deadline,
};
use crate::controllers::ephemeral_cluster::{
    conditions::{
        CLUSTER_READY, ConditionReason, ConditionStatus, PROW_JOB_COMPLETED, PROW_JOB_CREATING, find,
    },
    observed_state::{Draft, JobRefusal},
    operation::Operation,
    prow_job,
    status::Phase,
};

/// Minimum retention of a finished job (24 hours where the upstream controller runs). The job of an older EphemeralCluster may have been swept
/// since, so none is created for it any more.
const SWEPT_AFTER: SignedDuration = SignedDuration::from_hours(24);

/// Decides whether a job is made.
pub fn plan_creation(pass: &mut Planner<'_>) {
    if pass.is_completed() {
        return at_rest(pass);
    }
    if pass.object.is_deleted() {
        // The absence of a job is checked once more when the finalizer is removed.
        return;
    }
    if !is_end_requested(pass)
        && let Some(until) = hold_deadline(pass)
        && !pass.is_due(until)
    {
        return report_wait(pass);
    }
    if !pass.is_sure() {
        return;
    }
    if had_a_job(pass) {
        let text = "the status does not name the ProwJob any more, and it does not exist";
        return complete_without_job(pass, Phase::Failed, ConditionReason::ProwJobGone, text);
    }
    if is_end_requested(pass) {
        let text = "the end was asked for before there was a ProwJob";
        pass.set(PROW_JOB_CREATING, ConditionStatus::False, ConditionReason::NothingToTearDown, text);
        return complete_without_job(pass, Phase::Deprovisioned, ConditionReason::NothingToTearDown, text);
    }
    if pass.object.spec.error.is_some() {
        let message = "the spec cannot be read".to_owned();
        return refuse_request(pass, ConditionReason::EphemeralClusterValidationFailure.as_str(), message);
    }
    match &pass.observed.draft {
        None => pass.requeue_after(RETRY),
        Some(Draft::Refused(JobRefusal { reason, message })) => refuse_request(pass, reason, message.clone()),
        Some(Draft::Later(_) | Draft::Job(_)) if too_late(pass) => {
            let text = "there was no ProwJob in time; whether there once was one cannot be known any more";
            pass.set(PROW_JOB_CREATING, ConditionStatus::False, ConditionReason::ProvisionTimeout, text);
            complete_without_job(pass, Phase::Failed, ConditionReason::ProvisionTimeout, text);
        }
        Some(Draft::Later(JobRefusal { reason, message })) => {
            pass.enter_phase(Phase::Provisioning);
            if pass.set_word(PROW_JOB_CREATING, ConditionStatus::False, reason, message.clone()) {
                pass.emit(true, reason, message.clone());
            }
            pass.requeue_after(RETRY);
        }
        Some(Draft::Job(manifest)) => {
            pass.add_finalizer();
            let name = prow_job::name_for(pass.object.uid());
            let note = format!("ProwJob {name} was created");
            let reason = ConditionReason::ProwJobCreated.as_str().to_owned();
            let event = Event { warning: false, reason, note };
            pass.actions.extend([Operation::CreateProwJob(manifest.clone()), Operation::EmitEvent(event)]);
            pass.enter_phase(Phase::Provisioning);
            pass.set(
                PROW_JOB_CREATING,
                ConditionStatus::True,
                ConditionReason::Creating,
                format!("ProwJob {name} is being created"),
            );
            pass.status.prow_job_id = name;
        }
    }
}

/// A status that reports more than one without a job could was damaged.
fn had_a_job(pass: &Planner<'_>) -> bool {
    ever_ready(pass) || !pass.stored().prow_job_url.is_empty() || pass.is_condition_true(PROW_JOB_COMPLETED)
}

fn too_late(pass: &mut Planner<'_>) -> bool {
    let deadline = provision_deadline(pass).min(after(creation_time(pass), SWEPT_AFTER));
    pass.is_due(deadline)
}

/// Permanent, for any later generation too: clients gave up at the first Failed.
fn refuse_request(pass: &mut Planner<'_>, reason: &str, message: String) {
    pass.set_word(PROW_JOB_CREATING, ConditionStatus::False, reason, message);
    pass.enter_phase(Phase::Failed);
}

fn complete_without_job(pass: &mut Planner<'_>, phase: Phase, reason: ConditionReason, text: &str) {
    withdraw(pass);
    let word = if phase == Phase::Failed { reason } else { ConditionReason::Deprovisioned };
    pass.set(CLUSTER_READY, ConditionStatus::False, word, text);
    pass.complete(phase == Phase::Deprovisioned, reason, text);
    pass.enter_phase(phase);
}

/// Failed or Deprovisioned, and no job: a finalizer can be left from before, and credentials from another controller.
fn at_rest(pass: &mut Planner<'_>) {
    withdraw(pass);
    let refusal = pass.reason_against(PROW_JOB_CREATING);
    let refused = TERMINAL_CREATE_REASONS.contains(&refusal) && refusal != TOO_MANY_PROW_JOBS;
    if !refused && !pass.is_condition_true(PROW_JOB_COMPLETED) {
        // Clients that wait for the end wait for this condition.
        if pass.is_sure() {
            let text = "there is no ProwJob of it";
            pass.complete(true, ConditionReason::NothingToTearDown, text);
        }
    } else if pass.object.has_finalizer(FINALIZER) {
        pass.remove_finalizer();
    }
}

/// Another controller that wrote the status lately may be about to make a job.
fn hold_deadline(pass: &Planner<'_>) -> Option<Timestamp> {
    // Our own write can push the other's out of the managed fields; the condition remembers.
    let noticed = find(&pass.stored().conditions, PROW_JOB_CREATING)
        .filter(|c| c.reason == ConditionReason::HeldByOtherController.as_str())
        .and_then(|c| c.last_transition_time);
    let wrote = pass.object.other_writer.as_ref().map(|writer| writer.at);
    wrote.or(noticed).map(|at| after(at, pass.observed.settings.other_writer_respite))
}

/// Reports it, but only after a pause: a write between two writes of the other controller makes its second one fail, and it then creates a
/// second job.
fn report_wait(pass: &mut Planner<'_>) {
    let pause = pass.observed.settings.other_writer_respite / 10;
    let wrote = pass.object.other_writer.as_ref().map_or(Timestamp::MIN, |writer| writer.at);
    if !pass.is_due(after(wrote, pause)) {
        pass.keep_status();
        return;
    }
    pass.enter_phase(Phase::Provisioning);
    let text = "another controller wrote the status lately, so this one creates nothing yet";
    // Unknown, because the other one may well be creating a ProwJob.
    if pass.set(PROW_JOB_CREATING, ConditionStatus::Unknown, ConditionReason::HeldByOtherController, text) {
        pass.emit(true, ConditionReason::HeldByOtherController.as_str(), text);
    }
}
