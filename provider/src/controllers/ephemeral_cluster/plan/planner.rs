//! One pass while it is being decided: the status that it starts from, and what has come together so far.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    condition::{ENDED_WELL, ended_well, split_completion},
    names::{ephemeral_cluster::FINALIZER, ours},
};
use testplatform_runtime::{event::Event, reconcile::Action};

use super::own_jobs::OwnJobs;
use crate::controllers::ephemeral_cluster::{
    conditions::{self, ConditionReason, ConditionStatus},
    diagnostics,
    event_reason::EventReason,
    object::EphemeralCluster,
    observed_state::{Job, ObservedState},
    operation::{Operation, Plan},
    status::{Condition, Phase, Status},
};

/// Poll interval for changes without an event.
pub const RETRY: SignedDuration = SignedDuration::from_mins(1);

/// Plan in progress.
pub struct Planner<'a> {
    /// The EphemeralCluster.
    pub object: &'a EphemeralCluster,
    /// Observed state around the object.
    pub observed: &'a ObservedState,
    /// Its jobs.
    pub own: OwnJobs<'a>,
    /// Now.
    pub now: Timestamp,
    /// The status that will be written: what is stored, changed.
    pub status: Status,
    /// Actions so far.
    pub actions: Vec<Operation>,
    /// Operations that nothing waits for.
    pub afterwards: Vec<Operation>,
    annotations: BTreeMap<String, Option<String>>,
    events: Vec<Event>,
    wait: Option<SignedDuration>,
    anew: bool,
    silent: bool,
}

impl<'a> Planner<'a> {
    /// Starts an empty plan.
    pub fn new(object: &'a EphemeralCluster, observed: &'a ObservedState, now: Timestamp) -> Self {
        let stored = &object.status.value;
        let status = Status {
            conditions: conditions::carry_over(&stored.conditions, now),
            observed_generation: object.metadata.generation,
            ..stored.clone()
        };
        let own = OwnJobs::of(object, observed);
        Self {
            object,
            observed,
            own,
            now,
            status,
            actions: Vec::new(),
            afterwards: Vec::new(),
            annotations: BTreeMap::new(),
            events: Vec::new(),
            wait: None,
            anew: false,
            silent: false,
        }
    }

    /// Stored status.
    pub fn stored(&self) -> &'a Status {
        &self.object.status.value
    }

    /// Sets a condition. Whether its status or its reason is another than the stored one.
    pub fn set(
        &mut self,
        type_: &str,
        is: ConditionStatus,
        reason: ConditionReason,
        message: impl Into<String>,
    ) -> bool {
        self.set_word(type_, is, reason.as_str(), message.into())
    }

    /// Sets a condition with a reason of somebody else's.
    pub fn set_word(&mut self, type_: &str, is: ConditionStatus, reason: &str, message: String) -> bool {
        conditions::set(&mut self.status.conditions, type_, is, reason, message, self.now);
        conditions::find(&self.stored().conditions, type_)
            .is_none_or(|c| c.status != is.as_str() || c.reason != reason)
    }

    /// Nothing is left that costs money. Of an end that is well the reason is the one that clients know.
    pub fn complete(&mut self, is_well: bool, how: ConditionReason, message: impl Into<String>) {
        let type_ = conditions::PROW_JOB_COMPLETED;
        if is_well {
            let (reason, message) = ended_well(how.as_str(), &message.into());
            self.set_word(type_, ConditionStatus::True, reason, message);
        } else {
            self.set(type_, ConditionStatus::True, how, message);
        }
    }

    /// The reason of a condition that is False so far; empty if it is not.
    pub fn reason_against(&self, type_: &str) -> &str {
        conditions::find(&self.status.conditions, type_).filter(|c| c.is_false()).map_or("", |c| &c.reason)
    }

    /// Whether a condition is True so far.
    pub fn is_condition_true(&self, type_: &str) -> bool {
        conditions::find(&self.status.conditions, type_).is_some_and(Condition::is_true)
    }

    /// When a condition last changed, as far as the pass has come.
    pub fn since(&self, type_: &str) -> Option<Timestamp> {
        conditions::find(&self.status.conditions, type_).and_then(|c| c.last_transition_time)
    }

    /// Takes another phase, unless the one that is there is never left.
    pub fn enter_phase(&mut self, phase: Phase) {
        self.status.phase = match self.status.phase {
            Some(last @ (Phase::Failed | Phase::Deprovisioned)) => Some(last),
            Some(Phase::Provisioning | Phase::Ready | Phase::Deprovisioning) | None => Some(phase),
        };
    }

    /// Whether the phase is one that is never left.
    pub fn is_completed(&self) -> bool {
        matches!(self.status.phase, Some(Phase::Failed | Phase::Deprovisioned))
    }

    /// Whether a time has come. If not, the reconcile is repeated then.
    pub fn is_due(&mut self, at: Timestamp) -> bool {
        let remaining = at.duration_since(self.now);
        let due = remaining <= SignedDuration::ZERO;
        if !due {
            self.requeue_after(remaining);
        }
        due
    }

    /// Repeats the reconcile after a time at the latest.
    pub fn requeue_after(&mut self, time: SignedDuration) {
        self.wait = Some(self.wait.map_or(time, |w| w.min(time)));
    }

    /// Whether the observation allows an irreversible operation; if not, it is read again, and this plan is dropped.
    pub fn is_sure(&mut self) -> bool {
        self.anew |= !self.observed.fresh;
        self.observed.fresh
    }

    /// Sets an annotation of the EphemeralCluster, if it is not so already.
    pub fn set_annotation(&mut self, key: &str, value: &str) {
        if self.object.annotation(key) != Some(value) {
            self.annotations.insert(key.to_owned(), Some(value.to_owned()));
        }
    }

    /// Takes an annotation of the EphemeralCluster away, if it has it.
    pub fn remove_annotation(&mut self, key: &str) {
        if self.object.annotation(key).is_some() {
            self.annotations.insert(key.to_owned(), None);
        }
    }

    /// Emits an event. For transitions only: two reconciles of the same state emit it twice.
    pub fn emit(&mut self, warning: bool, reason: &str, note: impl Into<String>) {
        self.events.push(Event { warning, reason: reason.to_owned(), note: note.into() });
    }

    /// Puts the finalizer on, before anything that needs it.
    pub fn add_finalizer(&mut self) {
        if !self.object.is_deleted() && !self.object.has_finalizer(FINALIZER) {
            self.actions.push(Operation::AddFinalizer);
        }
    }

    /// Takes the finalizer off, once it is sure that nothing runs.
    pub fn remove_finalizer(&mut self) {
        let off = self.actions.contains(&Operation::RemoveFinalizer);
        if !off && self.object.has_finalizer(FINALIZER) && !self.own.runs() && self.is_sure() {
            self.actions.push(Operation::RemoveFinalizer);
        }
    }

    /// Leaves the stored status alone.
    pub fn keep_status(&mut self) {
        self.silent = true;
    }

    /// Returns the plan without a status.
    pub fn finish_without_status(self) -> Plan {
        self.step(None)
    }

    /// Returns the plan.
    pub fn finish(mut self, job: Option<&Job>) -> Plan {
        if self.silent {
            return self.step(None);
        }
        self.emit_phase_event();
        let failed = self.status.phase == Some(Phase::Failed) && !self.object.is_deleted();
        if failed && self.object.annotation(ours::DIAGNOSTICS).is_none() {
            let text = diagnostics::of(&self.status, job);
            self.set_annotation(ours::DIAGNOSTICS, &text);
        }
        let status = self.status.clone();
        self.step(Some(status))
    }

    fn emit_phase_event(&mut self) {
        let phase = self.status.phase;
        if phase == self.stored().phase {
            return;
        }
        let describe = |status: &Status, type_: &str| {
            conditions::find(&status.conditions, type_).map(|c| c.message.clone()).unwrap_or_default()
        };
        match phase {
            Some(Phase::Ready) => {
                self.emit(false, EventReason::ClusterReady.as_str(), "the credentials are published");
            }
            Some(Phase::Deprovisioning) => {
                self.emit(false, EventReason::Deprovisioning.as_str(), "the cluster is being torn down");
            }
            Some(Phase::Deprovisioned) => {
                let note = describe(&self.status, conditions::PROW_JOB_COMPLETED);
                self.emit(
                    false,
                    ConditionReason::Deprovisioned.as_str(),
                    split_completion(ENDED_WELL, &note).1,
                );
            }
            Some(Phase::Failed) => {
                let (reason, type_) = diagnostics::failure_cause(&self.status);
                let note = describe(&self.status, type_);
                self.emit(true, &reason, note);
            }
            Some(Phase::Provisioning) | None => {}
        }
    }

    fn step(mut self, status: Option<Status>) -> Plan {
        if self.anew {
            return Plan { requeue: Action::BypassCaches, ..Plan::default() };
        }
        if !self.annotations.is_empty() {
            self.actions.push(Operation::SetAnnotations(self.annotations));
        }
        let requeue = self.wait.map_or(Action::AwaitChange, Action::requeue_after);
        Plan { actions: self.actions, status, events: self.events, afterwards: self.afterwards, requeue }
    }
}

/// A moment and a time; the end of time rather than an overflow, because the time may be a tenant's.
pub fn after(at: Timestamp, time: SignedDuration) -> Timestamp {
    at.checked_add(time).unwrap_or(Timestamp::MAX)
}
