//! A job under way whose end has not begun: its credentials, and the deadlines that begin it.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{account::Mode, names::ours};
use testplatform_runtime::time::truncate_to_seconds;

use super::{
    EndReason,
    conclusion::withdraw,
    duration, ever_ready,
    own_jobs::{created, is_for_another},
    planner::{Planner, RETRY, after},
    provision_deadline,
};
use crate::{
    build_clusters::JobSite,
    controllers::ephemeral_cluster::{
        conditions::{CLUSTER_READY, CREDENTIALS_IN_SYNC, ConditionReason, ConditionStatus, find},
        observed_state::Job,
        operation::Operation,
        prow_job::JobState,
        publication::{Publication, cannot_be_watched, compare},
        settings::MARGIN,
        status::Phase,
    },
    credentials::{Published, account::fingerprint::TokenFingerprint},
};

/// A token that became due between two reads of the clock.
pub const SOON: SignedDuration = SignedDuration::from_secs(1);
/// How long the Secret may take to be written, where that is all that is missing at the deadline.
const PUBLISHING: SignedDuration = SignedDuration::from_mins(1);

/// Checks the job. Returns the reason of its end, if it begins now.
pub fn plan_running(pass: &mut Planner<'_>, job: &Job) -> Option<EndReason> {
    let mut patience = SignedDuration::ZERO;
    if is_for_another(pass.object, &job.prow_job) {
        report_mismatch(pass);
    } else if observe(pass, job) {
        // They came in time; only saying so takes another pass.
        patience = PUBLISHING;
    }
    if lifetime_is_over(pass) {
        return Some(EndReason::Asked);
    }
    if never_scheduled(pass, job) {
        let text = "the ProwJob found no build cluster in time";
        pass.set(CLUSTER_READY, ConditionStatus::False, ConditionReason::NeverScheduled, text);
        return Some(EndReason::NeverScheduled);
    }
    let in_vain = !ever_ready(pass) && {
        let deadline = after(provision_deadline(pass), patience);
        is_deadline_passed(pass, deadline)
    };
    in_vain.then(|| {
        pass.set(
            CLUSTER_READY,
            ConditionStatus::False,
            ConditionReason::ProvisionTimeout,
            "there was no cluster in time",
        );
        EndReason::ProvisionTimeout
    })
}

fn report_mismatch(pass: &mut Planner<'_>) {
    let text = "the ProwJob was made for another Konflux tenant or cluster than the annotations now name; \
                no credentials are given out";
    withdraw(pass);
    if pass.set(CLUSTER_READY, ConditionStatus::False, ConditionReason::OwnershipMismatch, text) {
        pass.emit(true, ConditionReason::OwnershipMismatch.as_str(), text);
    }
    if find(&pass.status.conditions, CREDENTIALS_IN_SYNC).is_some() {
        pass.set(CREDENTIALS_IN_SYNC, ConditionStatus::False, ConditionReason::OwnershipMismatch, text);
    }
    pass.enter_phase(Phase::Provisioning);
}

/// Whether this reconcile publishes the first credentials.
fn observe(pass: &mut Planner<'_>, job: &Job) -> bool {
    let mut publishing = false;
    let publication = compare(&job.site, &pass.observed.published);
    // A token goes stale although nothing happens.
    if let (Publication::InSync, Some(stamp)) = (&publication, TokenFingerprint::of(&pass.observed.published))
        && pass.is_due(stamp.renew_at())
    {
        pass.requeue_after(SOON);
    }
    match publication {
        Publication::InSync => report_ready(pass),
        publication @ (Publication::Publish(_) | Publication::Issue(_)) => {
            pass.actions.extend(publish_operation(publication));
            if was_ready(pass) && !is_withdrawn(pass) {
                report_ready(pass);
            } else {
                // Ready is reported only about an observed Secret, together with its revision: a change right after it would make Crossplane
                // reconcile with an outdated cache of the claim.
                let text = "the credentials are being published";
                not_now(pass, ConditionReason::CredentialsPending, text.into());
                pass.requeue_after(RETRY);
                publishing = true;
            }
        }
        Publication::NotNow(reason, message) => {
            if cannot_be_watched(reason) {
                pass.requeue_after(RETRY);
            }
            not_now(pass, reason, message);
        }
        // Before the first readiness it is one that a step has not finished yet.
        Publication::Rejected(why) => {
            let reason = if was_ready(pass) {
                ConditionReason::KubeconfigWithdrawn
            } else {
                ConditionReason::CredentialsPending
            };
            not_now(pass, reason, why);
        }
    }
    let published = !pass.status.secret_ref.is_empty();
    if let Published::Ours { revision, .. } = &pass.observed.published
        && published
    {
        pass.set_annotation(ours::CREDENTIALS_REVISION, revision);
        // The requester does not use the credentials before this is set.
        if TokenFingerprint::of(&pass.observed.published).is_some() {
            pass.set_annotation(ours::CREDENTIALS_MODE, Mode::ServiceAccount.as_str());
        }
    }
    // Nor once it is outdated, as when another controller has recreated the Secret.
    if pass.observed.published != Published::Absent
        && TokenFingerprint::of(&pass.observed.published).is_none()
    {
        pass.remove_annotation(ours::CREDENTIALS_MODE);
    }
    publishing
}

/// The action that writes them.
fn publish_operation(publication: Publication) -> Option<Operation> {
    match publication {
        Publication::Publish(credentials) => Some(Operation::PublishCredentials(credentials)),
        Publication::Issue(issue) => Some(Operation::IssueCredentials(issue)),
        Publication::InSync | Publication::NotNow(..) | Publication::Rejected(_) => None,
    }
}

fn report_ready(pass: &mut Planner<'_>) {
    pass.status.secret_ref = pass.object.secret_name();
    pass.set(
        CLUSTER_READY,
        ConditionStatus::True,
        ConditionReason::CredentialsPublished,
        "the credentials are published",
    );
    let text = "the published credentials are those of the cluster";
    pass.set(CREDENTIALS_IN_SYNC, ConditionStatus::True, ConditionReason::CredentialsPublished, text);
    pass.enter_phase(Phase::Ready);
}

fn was_ready(pass: &Planner<'_>) -> bool {
    let unsaid = find(&pass.status.conditions, CLUSTER_READY).is_none();
    pass.is_condition_true(CLUSTER_READY) || (unsaid && pass.stored().phase == Some(Phase::Ready))
}

/// Once ready it stays so: what cannot be seen now was there, and most likely is.
fn not_now(pass: &mut Planner<'_>, reason: ConditionReason, message: String) {
    if was_ready(pass) {
        pass.set(
            CLUSTER_READY,
            ConditionStatus::True,
            ConditionReason::CredentialsPublished,
            "the credentials are published",
        );
        pass.enter_phase(Phase::Ready);
        if reason != ConditionReason::KubeconfigWithdrawn && is_withdrawn(pass) {
            return;
        }
        if pass.set(CREDENTIALS_IN_SYNC, ConditionStatus::False, reason, message.clone()) {
            pass.emit(true, reason.as_str(), message);
        }
    } else {
        pass.enter_phase(Phase::Provisioning);
        if pass.set(CLUSTER_READY, ConditionStatus::False, reason, message.clone()) && is_trouble(reason) {
            pass.emit(true, reason.as_str(), message);
        }
    }
}

/// Whether a withdrawal was reported and nothing has been published since. The function takes the kubeconfig back for as long as that is said,
/// so no later reason may replace it.
fn is_withdrawn(pass: &Planner<'_>) -> bool {
    let said = find(&pass.status.conditions, CREDENTIALS_IN_SYNC);
    pass.observed.published == Published::Absent
        && said.is_some_and(|said| said.reason == ConditionReason::KubeconfigWithdrawn.as_str())
}

/// Whether somebody should know, other than of a thing that is only not created yet.
const fn is_trouble(reason: ConditionReason) -> bool {
    cannot_be_watched(reason) || matches!(reason, ConditionReason::CredentialsNotOwned)
}

fn lifetime_is_over(pass: &mut Planner<'_>) -> bool {
    if !ever_ready(pass) {
        return false;
    }
    // Only the function writes either, and it keeps the value that it has promised. If it set no maximum at creation, or lost it, only the
    // job's own timeout limits the job.
    let longest = duration(pass.object, ours::MAX_LIFETIME);
    let lifetime =
        duration(pass.object, ours::LIFETIME).map(|wanted| longest.map_or(wanted, |most| wanted.min(most)));
    let delivered = pass.object.annotation(ours::DELIVERED_AT).and_then(|at| at.parse().ok());
    // Until the delivery the function writes the end of provisioning. A clock that was further ahead gives no longer life than that.
    let deadline = provision_deadline(pass);
    let delivered = delivered.map(|at: Timestamp| if at <= pass.now { at } else { at.min(deadline) });
    let ready_at = pass.since(CLUSTER_READY).max(delivered);
    let expires = lifetime.zip(ready_at).map(|(lifetime, at)| truncate_to_seconds(after(at, lifetime)));
    // While the credentials are held back the time goes on, from where it was if that is on record.
    let expires =
        if pass.is_condition_true(CLUSTER_READY) { expires } else { pass.stored().expires_at.or(expires) };
    pass.status.expires_at = expires;
    expires.is_some_and(|at| is_deadline_passed(pass, after(at, MARGIN)))
}

/// Whether a deadline ends it. That is irreversible, and the deadline may have been extended since the cache was filled.
fn is_deadline_passed(pass: &mut Planner<'_>, at: Timestamp) -> bool {
    pass.is_due(at) && pass.is_sure()
}

/// A job without a build cluster, or without a pod on it, has nothing that could be lost.
fn never_scheduled(pass: &mut Planner<'_>, job: &Job) -> bool {
    let waits = match job.prow_job.state() {
        JobState::Scheduling | JobState::Triggered => !matches!(job.site, JobSite::Namespace { .. }),
        // An unknown state may be one in which something runs.
        JobState::Unknown => matches!(job.site, JobSite::Unscheduled | JobSite::NoNamespace { .. }),
        JobState::Pending | JobState::Success | JobState::Failure | JobState::Aborted | JobState::Error => {
            false
        }
    };
    let since = created(&job.prow_job).unwrap_or(pass.now);
    waits && is_deadline_passed(pass, after(since, pass.observed.settings.scheduling_timeout))
}
