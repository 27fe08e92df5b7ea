//! Promises about every decision and every write, whatever they are based on.

use provider_testplatform::controllers::ephemeral_cluster::{
    conditions::{CLUSTER_READY, ConditionReason, PROW_JOB_COMPLETED, TEST_COMPLETED, find},
    operation::{Operation, Plan},
    status::{Condition, Phase, Status},
};
use testplatform_runtime::reconcile::Action;

use super::{
    lab::Lab,
    world::{State, View},
};

impl Lab {
    /// Checks that a decision breaks no promise.
    pub fn judge(&self, view: &View, step: &Plan) -> Result<(), String> {
        let ec = &view.ec;
        let creates = step.actions.iter().position(|a| matches!(a, Operation::CreateProwJob(_)));
        if let Some(at) = creates {
            if ec.deleted.is_some() || ec.teardown || !view.fresh {
                return Err("a ProwJob is made for what is to end, or on the word of a cache".into());
            }
            // The respite is one tick.
            if ec.other == Some(view.now) {
                return Err("a ProwJob is made while another controller may be making one".into());
            }
            if !ec.finalizer && !step.actions[..at].contains(&Operation::AddFinalizer) {
                return Err("a ProwJob is made before the finalizer".into());
            }
        }
        let acts = !step.actions.is_empty() || !step.events.is_empty() || !step.afterwards.is_empty();
        if step.requeue == Action::BypassCaches && (view.fresh || acts || step.status.is_some()) {
            return Err("reading anew is asked for by a pass that did, or that does something".into());
        }
        if !view.fresh && self.ends_unasked(view, step) {
            return Err("an end that nobody asked for is begun on the word of a cache".into());
        }
        let to_another = step.actions.iter().any(|action| match action {
            Operation::PublishCredentials(credentials) => view.jobs.iter().any(|job| {
                let recorded = job.ours || job.claimed.is_some();
                let source = credentials.source_revision.split('-').next();
                source == Some(&job.id.to_string()) && recorded && job.tenant != ec.tenant
            }),
            Operation::AddFinalizer
            | Operation::RemoveFinalizer
            | Operation::SetAnnotations(_)
            | Operation::CreateProwJob(_)
            | Operation::ClaimProwJob { .. }
            | Operation::AbortProwJob { .. }
            | Operation::SignalWaitStep { .. }
            | Operation::SignalWaitStepOrAbort { .. }
            | Operation::IssueCredentials(_)
            | Operation::WithdrawCredentials
            | Operation::EmitEvent(_) => false,
        });
        if to_another {
            return Err("credentials are published for another tenant than the job was made for".into());
        }
        if let Some(desired) = &step.status {
            let stored = self.statuses.borrow().get(ec.status);
            left_for_good(&stored, desired)?;
        }
        Ok(())
    }

    /// `true` if a deadline begins the teardown: nobody requested it, it had not begun, and the job has not vanished.
    fn ends_unasked(&self, view: &View, step: &Plan) -> bool {
        let stored = self.statuses.borrow().get(view.ec.status);
        let asked = view.ec.deleted.is_some() || view.ec.teardown;
        let over = matches!(stored.phase, Some(Phase::Deprovisioning | Phase::Deprovisioned | Phase::Failed));
        let before = asked || view.gone || over || is_noticed(&stored);
        !before && step.status.as_ref().is_some_and(is_noticed)
    }

    /// Whoever waits for the finalizer to go finds the conclusion.
    pub fn may_let_go(&self, state: &State) -> Result<(), String> {
        let Some(ec) = state.ec.as_ref().filter(|ec| ec.deleted.is_none()) else { return Ok(()) };
        let status = self.statuses.borrow().get(ec.status);
        let concluded = find(&status.conditions, PROW_JOB_COMPLETED).is_some_and(Condition::is_true);
        if concluded { Ok(()) } else { Err("the finalizer is taken off before the end is said".into()) }
    }
}

/// `true` if the status records that the job is to end.
fn is_noticed(status: &Status) -> bool {
    find(&status.conditions, TEST_COMPLETED).is_some()
}

/// Failed is never left, and Ready only for a reason of its own.
pub fn left_for_good(stored: &Status, desired: &Status) -> Result<(), String> {
    let over = [Some(Phase::Failed), Some(Phase::Deprovisioned)];
    if over.contains(&stored.phase) && desired.phase != stored.phase {
        return Err(format!("{:?} is left for {:?}", stored.phase, desired.phase));
    }
    let ready = |status: &Status| {
        find(&status.conditions, CLUSTER_READY).map(|c| (c.status.clone(), c.reason.clone()))
    };
    let own = [
        ConditionReason::OwnershipMismatch,
        ConditionReason::Deprovisioned,
        ConditionReason::ProwJobFailure,
        ConditionReason::ProwJobGone,
    ];
    let regressed = ready(stored).is_some_and(|(status, _)| status == "True")
        && ready(desired)
            .is_none_or(|(status, reason)| status != "True" && !own.iter().any(|own| own.as_str() == reason));
    if regressed || (!stored.secret_ref.is_empty() && desired.secret_ref != stored.secret_ref) {
        return Err(format!("Ready is lost: {:?}", ready(desired)));
    }
    Ok(())
}
