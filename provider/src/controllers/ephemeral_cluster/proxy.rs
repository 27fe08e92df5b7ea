//! EphemeralCluster in mode `proxy`: the upstream controller fulfils it, and only its credentials are kept in sync.

use std::collections::BTreeMap;

use jiff::Timestamp;
use testplatform_apis::names::ours;
use testplatform_runtime::reconcile::Action;

use super::{
    conditions::{PROW_JOB_COMPLETED, find},
    object::EphemeralCluster,
    observed_state::ObservedState,
    operation::{Operation, Plan},
    plan::{BoundJob, OwnJobs, is_for_another, planner::RETRY, running::SOON},
    publication::{Publication, cannot_be_watched, compare},
    status::{Condition, Phase},
};
use crate::credentials::{Published, account::fingerprint::TokenFingerprint};

/// Plans the credentials of an EphemeralCluster. The plan never has a job, a finalizer or a status.
pub fn plan_proxy(object: &EphemeralCluster, observed: &ObservedState, now: Timestamp) -> Plan {
    let status = &object.status.value;
    // A deleted object takes its Secret along. Only the upstream controller says which job it has.
    if object.is_deleted() || object.status.error.is_some() || status.prow_job_id.is_empty() {
        return Plan::default();
    }
    let bound = OwnJobs::of(object, observed).bound;
    let completed = find(&status.conditions, PROW_JOB_COMPLETED).is_some_and(Condition::is_true);
    let is_deleted = matches!(bound, BoundJob::Gone | BoundJob::Foreign(_));
    if status.phase == Some(Phase::Deprovisioned) || completed || is_deleted {
        return withdrawn(observed);
    }
    let job = match bound {
        BoundJob::To(job) => job,
        BoundJob::Unseen if !observed.fresh => {
            return Plan { requeue: Action::BypassCaches, ..Plan::default() };
        }
        BoundJob::Unseen | BoundJob::Unbound | BoundJob::Gone | BoundJob::Foreign(_) => {
            return Plan::default();
        }
    };
    if status.secret_ref.is_empty() || job.prow_job.state().is_final() {
        return Plan::default();
    }
    if is_for_another(object, &job.prow_job) {
        return withdrawn(observed);
    }
    let mut step = Plan::default();
    let stamp = TokenFingerprint::of(&observed.published);
    match compare(&job.site, &observed.published) {
        Publication::Publish(credentials) => step.actions.push(Operation::PublishCredentials(credentials)),
        Publication::NotNow(reason, _) if cannot_be_watched(reason) => {
            step.requeue = Action::requeue_after(RETRY);
        }
        // A token that was made before goes on being replaced, because it ends: the upstream controller leaves a Secret that is there as it is.
        Publication::Issue(issue) if stamp.is_some() => step.actions.push(Operation::IssueCredentials(issue)),
        // The upstream controller publishes the admin's kubeconfig, whatever was requested, and never reports anything else: nobody uses it.
        Publication::Issue(_) | Publication::NotNow(..) | Publication::Rejected(_) => {}
        // It goes stale although nothing happens.
        Publication::InSync => {
            if let Some(stamp) = &stamp {
                step.requeue = Action::requeue_after(stamp.renew_at().duration_since(now).max(SOON));
            }
        }
    }
    let mut notes = BTreeMap::new();
    if let Published::Ours { revision, .. } = &observed.published
        && object.annotation(ours::CREDENTIALS_REVISION) != Some(revision)
    {
        notes.insert(ours::CREDENTIALS_REVISION.to_owned(), Some(revision.clone()));
    }
    // Annotations about a Secret of ours do not hold for a Secret of somebody else in its place.
    let token = observed.published == Published::Absent || stamp.is_some();
    if !token && object.annotation(ours::CREDENTIALS_MODE).is_some() {
        notes.insert(ours::CREDENTIALS_MODE.to_owned(), None);
    }
    if !notes.is_empty() {
        step.actions.push(Operation::SetAnnotations(notes));
    }
    step
}

fn withdrawn(observed: &ObservedState) -> Plan {
    match observed.published {
        Published::Ours { .. } => Plan { actions: vec![Operation::WithdrawCredentials], ..Plan::default() },
        Published::Absent | Published::Foreign(_) => Plan::default(),
    }
}
