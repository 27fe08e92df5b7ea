//! The bound job has ended, or is not there any more: what that means, said once.

use testplatform_apis::names::ephemeral_cluster::FINALIZER;

use super::{
    asked, ever_ready,
    pass::{Pass, RETRY, after},
    provision_deadline,
    teardown::{ABORTED_BY_US, Means, means, refused},
};
use crate::{
    ephemeral_cluster::{
        conditions::{
            CLUSTER_READY, CREDENTIALS_IN_SYNC, Is, PROW_JOB_COMPLETED, Reason, TEST_COMPLETED, find,
        },
        credentials::Published,
        prow_job::State,
        status::{Condition, Phase},
        world::{Job, Site},
    },
    step::Operation,
};

/// Meaning of a job's end.
struct Outcome {
    /// Whether it is as asked, so that nothing has to be looked into.
    fine: bool,
    reason: Reason,
    message: String,
}

/// The job has ended.
pub fn next(pass: &mut Pass<'_>, job: &Job) {
    if !was_concluded(pass) {
        let outcome = outcome(pass, job);
        conclude(pass, outcome);
    }
}

/// The job does not exist any more. Whether nothing is left to be done about it.
pub fn gone(pass: &mut Pass<'_>) -> bool {
    if was_concluded(pass) {
        return true;
    }
    let asked = asked(pass);
    let name = &pass.status.prow_job_id;
    let message = format!("ProwJob {name} does not exist any more");
    if !asked {
        pass.set(CLUSTER_READY, Is::False, Reason::ProwJobGone, message.clone());
    }
    if !pass.holds(TEST_COMPLETED) && !end_what_is_left(pass) {
        return false;
    }
    conclude(
        pass,
        verdict(pass, &message).unwrap_or(Outcome { fine: asked, reason: Reason::ProwJobGone, message }),
    );
    // That a signal is not taken is remembered by the status, so what is being deleted needs one, too.
    !pass.actions.iter().any(|action| matches!(action, Operation::SignalWaitStep { .. }))
}

/// The status names a job that was made for another object, as after a restore under a new uid. It is ended by whoever
/// looks after jobs without an EphemeralCluster.
pub fn foreign(pass: &mut Pass<'_>, job: &Job) {
    if was_concluded(pass) || !pass.is_sure() {
        return;
    }
    let message =
        format!("ProwJob {}, which the status names, was made for another object", job.prow_job.name());
    pass.set(CLUSTER_READY, Is::False, Reason::OwnershipMismatch, message.clone());
    conclude(pass, Outcome { fine: false, reason: Reason::OwnershipMismatch, message });
}

/// The conclusion is stored. Only then the finalizer goes: whoever waits for it can rely on finding the conclusion.
fn was_concluded(pass: &mut Pass<'_>) -> bool {
    let concluded = find(&pass.stored().conditions, PROW_JOB_COMPLETED).is_some_and(Condition::is_true);
    if concluded {
        withdraw(pass);
        if pass.object.has_finalizer(FINALIZER) {
            pass.let_go();
        }
    }
    concluded
}

fn outcome(pass: &Pass<'_>, job: &Job) -> Outcome {
    let status = &job.prow_job.status.value;
    let state = status.state;
    let told = pass.holds(TEST_COMPLETED) || matches!(job.site, Site::Namespace { signalled: true, .. });
    let aborted_by_us = state == State::Aborted && status.description.starts_with(ABORTED_BY_US);
    let is = |fine, reason, what: &str| Outcome {
        fine,
        reason,
        message: format!("ProwJob {} ended as {}{what}", job.prow_job.name(), state.as_str()),
    };
    if let Some(verdict) = verdict(pass, &format!("its ProwJob ended as {}", state.as_str())) {
        return verdict;
    }
    match state {
        State::Success if told || asked(pass) => is(true, Reason::ProwJobCompleted, ""),
        State::Success => is(true, Reason::EndedWithoutSignal, ", nobody had asked for it"),
        State::Failure | State::Aborted | State::Error => match (aborted_by_us, asked(pass)) {
            (true, true) => is(true, Reason::ProwJobAborted, ", with nothing to tear down"),
            // The verdict was on its way when this provider was interrupted.
            (true, false) if provision_deadline(pass) <= pass.now => {
                is(false, Reason::ProvisionTimeout, ", there was no cluster in time")
            }
            (true, false) => is(false, Reason::NeverScheduled, ", it found no build cluster in time"),
            (false, _) if told => {
                is(false, Reason::DeprovisionFailed, " after the signal; something may be left behind")
            }
            (false, _) if ever_ready(pass) => {
                is(false, Reason::EndedWithoutSignal, ", nobody had asked for it")
            }
            (false, _) => is(false, Reason::ProwJobFailure, " before there was a cluster"),
        },
        State::Scheduling | State::Triggered | State::Pending | State::Unknown => {
            is(false, Reason::ProwJobFailure, "")
        }
    }
}

/// Decision that was made before the job ended.
fn verdict(pass: &Pass<'_>, how: &str) -> Option<Outcome> {
    let condition = find(&pass.status.conditions, CLUSTER_READY).filter(|c| c.is_false())?;
    let reason = Reason::verdict(&condition.reason)?;
    let message =
        if reason == Reason::ProwJobGone { how.to_owned() } else { format!("{}; {how}", condition.message) };
    Some(Outcome { fine: false, reason, message })
}

fn conclude(pass: &mut Pass<'_>, outcome: Outcome) {
    let Outcome { fine, reason, message } = outcome;
    withdraw(pass);
    let word = if fine { Reason::Deprovisioned } else { Reason::ProwJobFailure };
    let said = pass.reason_against(CLUSTER_READY);
    // A reason that names the cause stays.
    if Reason::verdict(said).is_none() && said != Reason::OwnershipMismatch.as_str() {
        pass.set(CLUSTER_READY, Is::False, word, message.clone());
    }
    if find(&pass.status.conditions, CREDENTIALS_IN_SYNC).is_some() {
        pass.set(CREDENTIALS_IN_SYNC, Is::False, word, "the credentials are withdrawn");
    }
    // Nothing is over while another job of the same EphemeralCluster costs money.
    if !pass.own.strays.is_empty() {
        pass.enter(if fine { Phase::Deprovisioning } else { Phase::Failed });
        return;
    }
    pass.complete(fine, reason, message);
    pass.enter(if fine { Phase::Deprovisioned } else { Phase::Failed });
}

/// A job that somebody deleted leaves ci-operator running. Whether that has been dealt with.
fn end_what_is_left(pass: &mut Pass<'_>) -> bool {
    let Some(site) = &pass.world.left_behind else { return true };
    match means(site) {
        Means::Tell { cluster, namespace } if refused(pass) => {
            pass.afterwards.push(Operation::SignalWaitStep { cluster, namespace });
            is_given_up(pass)
        }
        Means::Tell { cluster, namespace } => {
            pass.actions.push(Operation::SignalWaitStep { cluster, namespace });
            told(pass)
        }
        Means::Told => told(pass),
        Means::Abort { .. } | Means::OutOfReach { reason: Reason::NamespacePending, .. } => true,
        Means::OutOfReach { reason, obstacle } => {
            pass.set(TEST_COMPLETED, Is::False, reason, obstacle);
            pass.again_in(RETRY);
            is_given_up(pass)
        }
    }
}

fn told(pass: &mut Pass<'_>) -> bool {
    pass.set(TEST_COMPLETED, Is::True, Reason::Signalled, "what the ProwJob left behind was told to end");
    true
}

/// Whether what cannot be told to end has been tried for long enough.
fn is_given_up(pass: &mut Pass<'_>) -> bool {
    pass.enter(Phase::Deprovisioning);
    let since = pass.since(TEST_COMPLETED).unwrap_or(pass.now);
    pass.due(after(since, pass.world.settings.deprovision_timeout))
}

/// The credentials of a deleted cluster are useless, but still a secret.
pub fn withdraw(pass: &mut Pass<'_>) {
    if let Published::Ours { .. } = pass.world.published {
        pass.actions.push(Operation::WithdrawCredentials);
    }
}
