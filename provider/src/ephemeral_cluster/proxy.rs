//! One EphemeralCluster in mode `proxy`: the upstream controller fulfils it, and only its credentials are kept in step.

use std::collections::BTreeMap;

use jiff::Timestamp;
use testplatform_apis::names::ours;

use super::{
    conditions::{PROW_JOB_COMPLETED, find},
    credentials::Published,
    next::{Bound, Own, is_for_another, pass::RETRY, running::SOON},
    object::EphemeralCluster,
    publication::{Publication, cannot_be_watched, compare},
    status::{Condition, Phase},
    world::World,
};
use crate::{
    account::stamp::Stamp,
    step::{Action, Requeue, Step},
};

/// What is to be done about the credentials of an EphemeralCluster now. Never a job, a finalizer or a status.
pub fn next(object: &EphemeralCluster, world: &World, now: Timestamp) -> Step {
    let status = &object.status.value;
    // What is deleted takes its Secret along. Which job it has only the upstream controller says.
    if object.is_deleted() || object.status.error.is_some() || status.prow_job_id.is_empty() {
        return Step::default();
    }
    let bound = Own::of(object, world).bound;
    let completed = find(&status.conditions, PROW_JOB_COMPLETED).is_some_and(Condition::is_true);
    let gone = matches!(bound, Bound::Gone | Bound::Foreign(_));
    if status.phase == Some(Phase::Deprovisioned) || completed || gone {
        return withdrawn(world);
    }
    let job = match bound {
        Bound::To(job) => job,
        Bound::Unseen if !world.fresh => return Step { requeue: Requeue::Anew, ..Step::default() },
        Bound::Unseen | Bound::Unbound | Bound::Gone | Bound::Foreign(_) => return Step::default(),
    };
    if status.secret_ref.is_empty() || job.prow_job.state().is_final() {
        return Step::default();
    }
    if is_for_another(object, &job.prow_job) {
        return withdrawn(world);
    }
    let mut step = Step::default();
    let stamp = Stamp::of(&world.published);
    match compare(&job.site, &world.published) {
        Publication::Publish(credentials) => step.actions.push(Action::PublishCredentials(credentials)),
        Publication::NotNow(reason, _) if cannot_be_watched(reason) => {
            step.requeue = Requeue::after(RETRY);
        }
        // A token that was made before goes on being replaced, because it ends: the upstream controller leaves a Secret that is there as it is.
        Publication::Issue(issue) if stamp.is_some() => step.actions.push(Action::IssueCredentials(issue)),
        // What that one publishes is the admin's, whatever was asked for, and never said to be anything else: nobody takes it up.
        Publication::Issue(_) | Publication::NotNow(..) => {}
        // It goes stale although nothing happens.
        Publication::InSync => {
            if let Some(stamp) = &stamp {
                step.requeue = Requeue::after(stamp.due().duration_since(now).max(SOON));
            }
        }
    }
    let mut notes = BTreeMap::new();
    if let Published::Ours { revision, .. } = &world.published
        && object.annotation(ours::CREDENTIALS_REVISION) != Some(revision)
    {
        notes.insert(ours::CREDENTIALS_REVISION.to_owned(), Some(revision.clone()));
    }
    // What was said of a Secret that we made is not true of the one in its place.
    let token = world.published == Published::Absent || stamp.is_some();
    if !token && object.annotation(ours::CREDENTIALS_MODE).is_some() {
        notes.insert(ours::CREDENTIALS_MODE.to_owned(), None);
    }
    if !notes.is_empty() {
        step.actions.push(Action::Annotate(notes));
    }
    step
}

fn withdrawn(world: &World) -> Step {
    match world.published {
        Published::Ours { .. } => Step { actions: vec![Action::WithdrawCredentials], ..Step::default() },
        Published::Absent | Published::Foreign(_) => Step::default(),
    }
}
