//! One EphemeralCluster in mode `fulfil`.
//!
//! ```text
//!            finalizer, ProwJob        credentials             end asked for, or deadline
//!   (none) ──────────────────▶ Provisioning ─────▶ Ready ─────────────▶ Deprovisioning ─────▶ Deprovisioned
//!      │                            │                │                        │
//!      └────────────────────────────┴────────────────┴───────── Failed ◀──────┘
//! ```
//!
//! Decisions hold whatever is stale, lost or repeated around them:
//!
//! - The ProwJob has a name made from the uid, is created only on fresh word that there is none, and only after the
//!   finalizer is there.
//! - Failed and Deprovisioned are never left. Before Failed is said the end of a running job has begun.
//! - What is passing (a build cluster away, a namespace late) is a condition, never a phase.
//! - Whatever has been taken for granted once is in the status: that the end was noticed and when is
//!   `TestCompleted=False`, that the signal was sent is `TestCompleted=True`.

mod conclusion;
mod creation;
mod own_jobs;
pub(super) mod planner;
pub(super) mod running;
pub(super) mod teardown;
mod unreadable;

use std::str::FromStr as _;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    duration::GoDuration,
    foreign::ephemeral_cluster::TOO_MANY_PROW_JOBS,
    names::{ephemeral_cluster as theirs, ours},
};
use testplatform_runtime::event::Event;

use super::{
    conditions::{
        self, CLUSTER_READY, CREDENTIALS_IN_SYNC, ConditionReason, ConditionStatus, PROW_JOB_CREATING,
        TEST_COMPLETED,
    },
    event_reason::EventReason,
    object::EphemeralCluster,
    observed_state::{Job, ObservedState},
    operation::{Operation, Plan},
    settings::MARGIN,
    status::{Condition, Phase, Status},
};
use crate::credentials::Published;
pub use own_jobs::is_own;
pub(super) use own_jobs::{BoundJob, OwnJobs, is_for_another};
use planner::{Planner, RETRY, after};

/// Why a job is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndReason {
    /// Somebody wants it, or its lifetime is over.
    Asked,
    /// There was no cluster in time.
    ProvisionTimeout,
    /// There was no build cluster in time.
    NeverScheduled,
}

/// Plans the next step of an EphemeralCluster.
pub fn plan(object: &EphemeralCluster, observed: &ObservedState, now: Timestamp) -> Plan {
    if object.uid().is_empty() {
        return Plan::default();
    }
    let mut pass = Planner::new(object, observed, now);
    if object.status.error.is_some() {
        unreadable::plan_unreadable(&mut pass);
        return pass.finish_without_status();
    }
    if pass.own.runs() {
        pass.add_finalizer();
    }
    for stray in pass.own.strays.clone() {
        end_stray(&mut pass, stray);
    }
    let (job, over) = match pass.own.bound {
        BoundJob::Unbound => {
            creation::plan_creation(&mut pass);
            (None, true)
        }
        // The cache lags behind our own creation.
        BoundJob::Unseen => {
            if pass.is_sure() {
                pass.requeue_after(RETRY);
            }
            (None, false)
        }
        BoundJob::Gone => (None, conclusion::conclude_missing_job(&mut pass)),
        BoundJob::Foreign(job) => {
            conclusion::conclude_foreign_job(&mut pass, job);
            (None, true)
        }
        BoundJob::To(job) if job.prow_job.state().is_final() => {
            bind(&mut pass, job);
            conclusion::plan_conclusion(&mut pass, job);
            (Some(job), true)
        }
        BoundJob::To(job) => {
            bind(&mut pass, job);
            claim(&mut pass, job);
            if let Some(ending) = started_end(&pass).or_else(|| running::plan_running(&mut pass, job)) {
                make_way(&mut pass, job);
                teardown::plan_teardown(&mut pass, job, ending);
            }
            (Some(job), false)
        }
    };
    if object.is_deleted() && over && !pass.own.runs() {
        // The status has no readers any more.
        pass.remove_finalizer();
        return pass.finish_without_status();
    }
    pass.finish(job)
}

/// An operation that may be refused for long, or by a cluster that does not answer, must not block teardown: nothing is published any more, and
/// the remaining operations come after it.
fn make_way(pass: &mut Planner<'_>, job: &Job) {
    for action in std::mem::take(&mut pass.actions) {
        match action {
            Operation::PublishCredentials(_)
            | Operation::IssueCredentials(_)
            | Operation::WithdrawCredentials => {}
            Operation::ClaimProwJob { .. } | Operation::EmitEvent(_) => pass.afterwards.push(action),
            Operation::AddFinalizer
            | Operation::RemoveFinalizer
            | Operation::SetAnnotations(_)
            | Operation::CreateProwJob(_)
            | Operation::AbortProwJob { .. }
            | Operation::SignalWaitStep { .. }
            | Operation::SignalWaitStepOrAbort { .. } => pass.actions.push(action),
        }
    }
    // Tried until it is done, also when the end has begun since.
    if is_for_another(pass.object, &job.prow_job) && matches!(pass.observed.published, Published::Ours { .. })
    {
        pass.afterwards.push(Operation::WithdrawCredentials);
    }
}

/// Ends a job that is one too many. Nothing waits for that which is done for the one that is served.
fn end_stray(pass: &mut Planner<'_>, stray: &Job) {
    if let Some(end) = teardown::end_unserved_job(pass, stray) {
        let note = format!("ProwJob {} is one too many and is ended", stray.prow_job.name());
        let event = Event { warning: true, reason: TOO_MANY_PROW_JOBS.to_owned(), note };
        pass.afterwards.extend([end, Operation::EmitEvent(event)]);
    }
}

/// The most of somebody else's words that a condition repeats, in bytes.
const MAX_MESSAGE: usize = 1024;

/// Status after an operation of a plan failed, if the failure concerns the owner of the EphemeralCluster. A conflict does not: it only means an
/// outdated copy. `said` is a message that quotes no secret.
pub fn failed(
    object: &EphemeralCluster,
    step: &Plan,
    action: &Operation,
    message: &str,
    now: Timestamp,
) -> Option<Status> {
    if object.status.error.is_some() {
        return None;
    }
    let stored = &object.status.value;
    let mut status = Status { conditions: conditions::carry_over(&stored.conditions, now), ..stored.clone() };
    let (type_, reason) = match action {
        Operation::CreateProwJob(_) => {
            status.phase = status.phase.or(Some(Phase::Provisioning));
            (PROW_JOB_CREATING, ConditionReason::ProwJobCreateFailed)
        }
        Operation::PublishCredentials(_) | Operation::IssueCredentials(_) => {
            let ready = conditions::find(&status.conditions, CLUSTER_READY).is_some_and(Condition::is_true);
            (if ready { CREDENTIALS_IN_SYNC } else { CLUSTER_READY }, ConditionReason::PublishFailed)
        }
        Operation::SignalWaitStep { .. } => {
            begin_end(&mut status, step.status.as_ref()?, now);
            (TEST_COMPLETED, ConditionReason::SignalFailed)
        }
        Operation::AddFinalizer
        | Operation::RemoveFinalizer
        | Operation::SetAnnotations(_)
        | Operation::ClaimProwJob { .. }
        | Operation::AbortProwJob { .. }
        | Operation::SignalWaitStepOrAbort { .. }
        | Operation::WithdrawCredentials
        | Operation::EmitEvent(_) => return None,
    };
    // Each write causes an event, and so an immediate retry; and an API server may vary its message each time.
    let known = |c: &Condition| c.is_false() && c.reason == reason.as_str();
    if conditions::find(&status.conditions, type_).is_some_and(known) {
        return None;
    }
    let message = &message[..message.floor_char_boundary(MAX_MESSAGE)];
    conditions::set(
        &mut status.conditions,
        type_,
        ConditionStatus::False,
        reason.as_str(),
        message.to_owned(),
        now,
    );
    Some(status)
}

/// Records the start of the end, even before the signal is delivered: its reason is decided once.
fn begin_end(status: &mut Status, decided: &Status, now: Timestamp) {
    status.prow_job_id.clone_from(&decided.prow_job_id);
    let over = matches!(status.phase, Some(Phase::Failed | Phase::Deprovisioned));
    status.phase = if over { status.phase } else { Some(Phase::Deprovisioning) };
    let verdict = conditions::find(&decided.conditions, CLUSTER_READY)
        .filter(|c| c.is_false() && ConditionReason::parse_decision(&c.reason).is_some());
    if let Some(Condition { reason, message, .. }) = verdict {
        conditions::set(
            &mut status.conditions,
            CLUSTER_READY,
            ConditionStatus::False,
            reason,
            message.clone(),
            now,
        );
    }
}

/// Why the end has begun, if it has: from then on there is no way back.
fn started_end(pass: &Planner<'_>) -> Option<EndReason> {
    let verdict = ConditionReason::parse_decision(pass.reason_against(CLUSTER_READY));
    if verdict == Some(ConditionReason::ProvisionTimeout) {
        return Some(EndReason::ProvisionTimeout);
    }
    if verdict == Some(ConditionReason::NeverScheduled) {
        return Some(EndReason::NeverScheduled);
    }
    (is_end_requested(pass) || pass.is_completed()).then_some(EndReason::Asked)
}

/// Whether the end was requested, or started in this reconcile.
fn is_end_requested(pass: &Planner<'_>) -> bool {
    pass.object.is_teardown_requested() || conditions::find(&pass.status.conditions, TEST_COMPLETED).is_some()
}

/// Whether it ever was ready. The name of the Secret stays when all else changes.
fn ever_ready(pass: &Planner<'_>) -> bool {
    !pass.stored().secret_ref.is_empty() || pass.is_condition_true(CLUSTER_READY)
}

fn bind(pass: &mut Planner<'_>, job: &Job) {
    let name = job.prow_job.name();
    name.clone_into(&mut pass.status.prow_job_id);
    if !job.prow_job.status.value.url.is_empty() {
        pass.status.prow_job_url.clone_from(&job.prow_job.status.value.url);
    }
    // This explains the failure.
    if !pass.is_completed() {
        let message = format!("ProwJob {name} was created");
        pass.set(PROW_JOB_CREATING, ConditionStatus::False, ConditionReason::ProwJobCreated, message);
    }
}

/// Records the owner of a job of the upstream controller. A name can be reused, so an outdated copy of a deleted EphemeralCluster must not
/// claim the job of its successor.
fn claim(pass: &mut Planner<'_>, job: &Job) {
    let claimed = job.prow_job.label(ours::EPHEMERAL_CLUSTER_UID).is_some();
    if pass.object.is_deleted() || claimed || !pass.is_sure() {
        return;
    }
    let name = job.prow_job.name().to_owned();
    let annotations = [theirs::KONFLUX_TENANT, theirs::KONFLUX_CLUSTER]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), pass.object.annotation(key)?.to_owned())))
        .collect();
    let namespace = pass.object.metadata.namespace.clone().unwrap_or_default();
    let labels = [
        (ours::EPHEMERAL_CLUSTER_UID.to_owned(), pass.object.uid().to_owned()),
        (ours::EPHEMERAL_CLUSTER_NAMESPACE.to_owned(), namespace),
    ]
    .into();
    let note = format!("ProwJob {name} of another controller was taken over");
    let event = Event { warning: false, reason: EventReason::ProwJobAdopted.as_str().to_owned(), note };
    pass.actions.extend([Operation::ClaimProwJob { name, labels, annotations }, Operation::EmitEvent(event)]);
}

/// A duration among the annotations; what is none, or not positive, counts as absent.
fn duration(object: &EphemeralCluster, key: &str) -> Option<SignedDuration> {
    let duration = GoDuration::from_str(object.annotation(key)?).ok()?.as_signed();
    duration.is_positive().then_some(duration)
}

/// When the EphemeralCluster was made.
fn creation_time(pass: &Planner<'_>) -> Timestamp {
    pass.object.metadata.creation_timestamp.as_ref().map_or(pass.now, |t| t.0)
}

/// When there has to have been a cluster.
fn provision_deadline(pass: &Planner<'_>) -> Timestamp {
    let timeout = duration(pass.object, ours::PROVISION_TIMEOUT);
    let timeout = timeout.unwrap_or(pass.observed.settings.provision_timeout);
    after(creation_time(pass), timeout.saturating_add(MARGIN))
}
