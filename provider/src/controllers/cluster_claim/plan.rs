//! One ClusterClaim.
//!
//! ```text
//!   (waits) ──assigned──▶ (not safe yet) ──safe──▶ published ──▶ withdrawn
//!      ▲                        │                      │             ▲
//!      └────────────────────────┘                      └──(follows)  │
//!                               └──────── ending, gone, another's ───┘
//! ```
//!
//! Decisions hold whatever is stale, lost or repeated around them:
//!
//! - Credentials are published only of a ClusterDeployment that itself names this claim, its pool and its namespace; only after
//!   Hive has said that the claim is served and that the cluster has run; and only on what the API server said in this pass.
//! - Once published they stay, however the cluster's power state flaps, until the claim or the cluster ends.
//! - The claim itself is never changed but for annotations of ours, and nobody is let in anywhere.

use jiff::Timestamp;
use testplatform_apis::{
    foreign::{
        cluster_claim::conditions,
        meta::{ObservedCondition, find_condition},
    },
    hive_status::{Blocked, BlockingReason, HiveStatus, Ownership},
    names::ours,
};
use testplatform_runtime::reconcile::Action;

use super::{
    failure::{self, FailureRecord},
    object::{ClusterClaim, ClusterDeployment},
    observed_state::{ClaimState, DeploymentState},
    operation::{ClaimAnnotations, ClaimOperation, ClaimPlan},
    ownership, report, supply,
};
use crate::credentials::{
    Published,
    publish::{
        CredentialsDecision, compare, event, follow,
        reason::{ClaimEventReason, sentence},
        recheck_after,
    },
};

/// Plans the next step of a ClusterClaim.
pub fn plan(claim: &ClusterClaim, observed: &ClaimState, now: Timestamp) -> ClaimPlan {
    let published = matches!(observed.published, Published::Ours { .. });
    let unreadable =
        claim.spec.error.is_some() || claim.status.error.is_some() || !is_readable(&observed.deployment);
    if claim.uid().is_empty() || unreadable || !(claim.is_marked() || published) {
        return ClaimPlan::default();
    }
    let ownership = match &observed.deployment {
        DeploymentState::Here(deployment) => Some(ownership::of(claim, deployment)),
        DeploymentState::Unassigned | DeploymentState::Gone => None,
    };
    let mut pass =
        ClaimPlanner { claim, observed, stored: report::stored(claim), step: ClaimPlan::default() };
    let mut status = report::of(claim, observed, ownership);
    let is_reported = pass.plan_credentials(decide_credentials(claim, observed, ownership, now), &mut status);
    if ownership == Some(Ownership::Mismatch) && pass.stored.ownership != ownership {
        pass.emit(ClaimEventReason::OwnershipMismatch, sentence(Blocked::OwnershipMismatch));
    }
    let last_failure = pass.plan_failure_report(ownership, now);
    if is_reported {
        pass.plan_annotations(status, last_failure);
    } else {
        // They concern annotations that are not written in this reconcile.
        pass.step.events.clear();
    }
    if let Some(wait) = recheck_after(&observed.source, &observed.published, has_run_since(claim), now) {
        pass.requeue_within(Action::requeue_after(wait));
    }
    // Last: a failed resume is still reported.
    pass.plan_resume(ownership, now);
    if may_read(claim, &observed.deployment) {
        pass.requeue_within(Action::requeue_after(observed.settings.poll));
    }
    pass.step
}

/// Whether the Secrets of a claimed cluster may be read and published: the safe moment. Said before they are read, so that they
/// are read for nothing else.
pub fn may_read(claim: &ClusterClaim, deployment: &DeploymentState) -> bool {
    let DeploymentState::Here(deployment) = deployment else { return false };
    !claim.is_deleted()
        && !deployment.is_ending()
        && ownership::of(claim, deployment) == Ownership::Confirmed
        && deployment.spec.value.installed
        && reported_condition(claim, conditions::PENDING).is_some_and(ObservedCondition::is_false)
        && has_run(claim)
}

/// Whether the cluster has run since it was assigned. Later it may stop, or its operators may be busy, which Hive calls the same.
/// The annotation is there exactly while credentials are published, which they are only of what has run.
fn has_run(claim: &ClusterClaim) -> bool {
    reported_condition(claim, conditions::CLUSTER_RUNNING).is_some_and(ObservedCondition::is_true)
        || claim.annotation(ours::CREDENTIALS_REVISION).is_some()
}

/// Since when Hive has said that it may be read.
fn has_run_since(claim: &ClusterClaim) -> Option<Timestamp> {
    let since = |type_| reported_condition(claim, type_)?.last_transition_time;
    since(conditions::PENDING).max(since(conditions::CLUSTER_RUNNING))
}

fn reported_condition<'a>(claim: &'a ClusterClaim, type_: &str) -> Option<&'a ObservedCondition> {
    find_condition(&claim.status.value.conditions, type_)
}

fn is_readable(deployment: &DeploymentState) -> bool {
    match deployment {
        DeploymentState::Here(deployment) => {
            deployment.spec.error.is_none() && deployment.status.error.is_none()
        }
        DeploymentState::Unassigned | DeploymentState::Gone => true,
    }
}

fn decide_credentials(
    claim: &ClusterClaim,
    observed: &ClaimState,
    ownership: Option<Ownership>,
    now: Timestamp,
) -> CredentialsDecision {
    let withdraw = |reason: Blocked, message: &str| CredentialsDecision::Withdraw(reason, message.to_owned());
    let plain = |reason: Blocked| withdraw(reason, sentence(reason));
    if claim.is_deleted() {
        return withdraw(Blocked::NotRunning, "the ClusterClaim is being deleted");
    }
    let deployment = match &observed.deployment {
        DeploymentState::Unassigned => return plain(Blocked::NotAssigned),
        DeploymentState::Gone => return withdraw(Blocked::NotRunning, "the ClusterDeployment is gone"),
        DeploymentState::Here(deployment) => deployment,
    };
    match ownership {
        Some(Ownership::Confirmed) => {}
        Some(Ownership::Mismatch) => return plain(Blocked::OwnershipMismatch),
        Some(Ownership::Unconfirmed) | None => {
            return withdraw(
                Blocked::NotAssigned,
                "the ClusterDeployment has not confirmed the assignment yet",
            );
        }
    }
    if deployment.is_ending() {
        return withdraw(Blocked::NotRunning, "the cluster is being deleted");
    }
    if !may_read(claim, &observed.deployment) {
        let reason =
            if lacks_references(claim, deployment) { Blocked::MetadataMissing } else { Blocked::NotRunning };
        return CredentialsDecision::Leave(reason, sentence(reason).to_owned());
    }
    let unread = || CredentialsDecision::Leave(Blocked::NotRunning, sentence(Blocked::NotRunning).to_owned());
    compare(&observed.source, &observed.published, now).unwrap_or_else(unread)
}

/// Whether Hive cannot grant the provider access, because the cluster does not name its Secrets yet. The claim then stays Pending without a
/// reason from Hive.
fn lacks_references(claim: &ClusterClaim, deployment: &ClusterDeployment) -> bool {
    let pending = !reported_condition(claim, conditions::PENDING).is_some_and(ObservedCondition::is_false);
    let metadata = deployment.spec.value.cluster_metadata.as_ref();
    pending
        && metadata.is_none_or(|m| {
            m.kubeconfig.name.is_empty() || m.notes.as_ref().is_none_or(|n| n.name.is_empty())
        })
}

struct ClaimPlanner<'a> {
    claim: &'a ClusterClaim,
    observed: &'a ClaimState,
    stored: HiveStatus,
    step: ClaimPlan,
}

impl ClaimPlanner<'_> {
    /// Emits an event once the notes are stored.
    fn emit(&mut self, reason: ClaimEventReason, note: impl Into<String>) {
        self.step.events.push(event(reason, note.into()));
    }

    /// Looks again within a time.
    fn requeue_within(&mut self, other: Action) {
        self.step.requeue = self.step.requeue.earlier(other);
    }

    /// Plans the operations on the credentials, and their report. Returns false if the next reconcile reports the rest, which the Secret's own
    /// event triggers and which knows its revision.
    fn plan_credentials(&mut self, verdict: CredentialsDecision, status: &mut HiveStatus) -> bool {
        let ClaimState { source, published, .. } = self.observed;
        let followed = follow(self.claim.name(), verdict, source, published, &self.stored);
        self.step.actions.extend(followed.actions.into_iter().map(ClaimOperation::from));
        self.step.events.extend(followed.events);
        let Some(reported) = followed.status else { return false };
        (status.credentials, status.blocking_reason) = (reported.report, reported.blocked);
        true
    }

    /// The last provision that failed, while that concerns the owner: until there is a cluster, or of that cluster.
    fn plan_failure_report(&mut self, ownership: Option<Ownership>, now: Timestamp) -> Option<FailureRecord> {
        let diagnostics = self.claim.annotation(ours::DIAGNOSTICS).map(str::to_owned);
        let recorded =
            self.stored.provision_failure.clone().map(|failure| FailureRecord { failure, diagnostics });
        let before = recorded.clone();
        let last = match (&self.observed.deployment, ownership) {
            (DeploymentState::Unassigned, _) => {
                failure::last(self.claim, self.observed.unclaimed.iter().map(AsRef::as_ref), recorded, now)
            }
            (DeploymentState::Here(deployment), Some(Ownership::Confirmed))
                if !deployment.spec.value.installed =>
            {
                failure::last(self.claim, std::iter::once(deployment.as_ref()), recorded, now)
            }
            (DeploymentState::Here(deployment), _) if may_read(self.claim, &self.observed.deployment) => {
                recorded.filter(|recorded| recorded.failure.cluster_deployment == deployment.name())
            }
            (DeploymentState::Here(_) | DeploymentState::Gone, _) => recorded,
        };
        if let Some(new) = last.as_ref().filter(|last| before.as_ref() != Some(*last)) {
            let note = format!(
                "cluster {} could not be installed: {}",
                new.failure.cluster_deployment, new.failure.reason
            );
            self.emit(ClaimEventReason::ProvisionFailed, note);
        }
        last
    }

    /// Lets a cluster run again that was put to sleep while it is in use, if the claim asks for that.
    fn plan_resume(&mut self, ownership: Option<Ownership>, now: Timestamp) {
        let DeploymentState::Here(deployment) = &self.observed.deployment else { return };
        let ends = self.claim.is_deleted() || deployment.is_ending();
        let served =
            reported_condition(self.claim, conditions::PENDING).is_some_and(ObservedCondition::is_false);
        if ends || ownership != Some(Ownership::Confirmed) || !served || !self.claim.wants_resume() {
            return;
        }
        let Some(since) = deployment.asleep_since().filter(|_| !deployment.power_is_paused()) else { return };
        let awake =
            since.map_or(now, |since| since.saturating_add(self.observed.settings.dwell).unwrap_or(now));
        if awake > now {
            self.requeue_within(Action::requeue_after(awake.duration_since(now)));
            return;
        }
        self.step.actions.push(ClaimOperation::Resume {
            cluster_deployment: deployment.name().to_owned(),
            version: deployment.metadata.resource_version.clone().unwrap_or_default(),
        });
        let note = format!("cluster {} was found hibernating and is started again", deployment.name());
        self.step.actions.push(ClaimOperation::Emit(event(ClaimEventReason::ClusterResumed, note)));
    }

    fn plan_annotations(&mut self, mut status: HiveStatus, last_failure: Option<FailureRecord>) {
        let credentials_revision = match (&self.observed.published, &status.credentials) {
            (Published::Ours { revision, .. }, Some(_)) => Some(revision.clone()),
            (Published::Ours { .. } | Published::Absent | Published::Foreign(_), _) => None,
        };
        let (provision_failure, diagnostics) = last_failure.map(|n| (n.failure, n.diagnostics)).unzip();
        status.provision_failure = provision_failure;
        // In a long queue everybody's numbers change whenever somebody comes or goes. That alone is no reason to write.
        if supply::is_near(self.stored.queue.as_ref(), status.queue.as_ref()) {
            let same = HiveStatus { queue: self.stored.queue.clone(), ..status.clone() };
            if same == self.stored {
                status = same;
            }
        }
        self.step.status =
            Some(ClaimAnnotations { status, credentials_revision, diagnostics: diagnostics.flatten() });
    }
}

/// Annotations after an operation failed, if the failure concerns the owner of the claim. `said` is a message that does not change from try to
/// try, and quotes no secret.
pub fn failed(claim: &ClusterClaim, action: &ClaimOperation, said: &str) -> Option<ClaimAnnotations> {
    match action {
        ClaimOperation::Publish(_) | ClaimOperation::Issue(_) => {}
        ClaimOperation::Withdraw | ClaimOperation::Resume { .. } | ClaimOperation::Emit(_) => return None,
    }
    let mut status = report::stored(claim);
    let message = format!("the credentials cannot be published: {said}");
    status.blocking_reason = Some(BlockingReason { reason: Blocked::SecretMissing, message: Some(message) });
    Some(ClaimAnnotations {
        status,
        credentials_revision: claim.annotation(ours::CREDENTIALS_REVISION).map(str::to_owned),
        diagnostics: claim.annotation(ours::DIAGNOSTICS).map(str::to_owned),
    })
}
