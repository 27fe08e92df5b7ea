//! Invariants of every state, and the state of rest that every state reaches when it is left alone.

use provider_testplatform::controllers::ephemeral_cluster::{
    conditions::{PROW_JOB_COMPLETED, find},
    operation::{Operation, Plan},
    orphan,
    prow_job::JobState,
    status::{self, Condition, Status},
};

use super::{
    explore::fingerprint,
    lab::{Lab, at},
    provider::{self, Write},
    world::{Budget, Pj, Process, State, Work},
};

/// `true` if a step changes nothing.
pub fn is_nothing(step: &Plan, stored: &Status) -> bool {
    step.afterwards.is_empty() && is_only_tried(step, stored)
}

/// `true` if a step only sends signals that may be refused, and nothing waits for them.
pub fn is_only_tried(step: &Plan, stored: &Status) -> bool {
    let tries =
        |action: &Operation| matches!(action, Operation::SignalWaitStep { .. } | Operation::EmitEvent(_));
    let unchanged = step.status.as_ref().is_none_or(|desired| !status::differs(stored, desired));
    step.actions.is_empty() && step.events.is_empty() && step.afterwards.iter().all(tries) && unchanged
}

/// `true` if a job belongs to no EphemeralCluster that exists.
pub fn is_orphan(state: &State, job: &Pj) -> bool {
    let owner = job.claimed.unwrap_or(job.owner);
    job.runs() && state.ec.as_ref().is_none_or(|ec| ec.uid != owner)
}

/// Applies the decision of the real `orphan::next`. Returns `true` if it does anything.
pub fn end_orphan(lab: &Lab, state: &mut State, job: &Pj) -> bool {
    let job = job.job(state.away, state.published.as_ref());
    let step = orphan::plan_orphan(&job, &lab.settings, at(state.now));
    for action in &step.actions {
        match action {
            Operation::SignalWaitStep { namespace, .. } => {
                provider::signal(state, namespace);
            }
            Operation::AbortProwJob { name, .. } => provider::abort(state, name),
            other => panic!("{other:?} for an orphan"),
        }
    }
    !step.actions.is_empty()
}

impl Lab {
    /// Invariants of every state.
    pub fn hold(&self, state: &State) -> Result<(), String> {
        // Two at once are kept apart by the lease; what a late one can still do is put right, see `comes_to_rest`.
        if let Some(ec) = state.ec.as_ref().filter(|_| state.processes.len() == 1) {
            let mine = |job: &&Pj| job.ours && job.owner == ec.uid && job.runs();
            if let Some(job) = state.jobs.iter().find(mine)
                && !ec.finalizer
            {
                return Err(format!("{} runs, and nothing keeps its EphemeralCluster", job.name()));
            }
        }
        if state.processes.iter().any(|process| process.work != Work::Idle) {
            return Ok(());
        }
        let mut alone = state.clone();
        alone.processes = vec![Process::default()];
        // Events that could still happen do not matter to a state that is left alone.
        (alone.budget, alone.upstream) = (Budget::NOTHING, None);
        if !self.judged.borrow_mut().insert(fingerprint(&alone)) {
            return Ok(());
        }
        self.come_to_rest(&mut alone.clone())?;
        self.comes_to_its_end(alone.clone(), true)?;
        self.comes_to_its_end(alone, false)
    }

    /// Passes without a fault, until there is nothing to do. Another pass on the same does nothing again.
    fn come_to_rest(&self, state: &mut State) -> Result<(), String> {
        let before = state.clone();
        for _ in 0..12 {
            let Some(mut view) = self.view(state, 0, None) else { return Ok(()) };
            let mut step = self.decide(&view)?;
            if self.steps.borrow().get(step).requeue == testplatform_runtime::reconcile::Action::BypassCaches
            {
                view = self.view(state, 0, Some(&view.ec)).unwrap();
                step = self.decide(&view)?;
            }
            state.processes[0].work = self.work(&view.ec, step, true, state);
            if state.processes[0].work == Work::Idle {
                return Ok(());
            }
            while state.processes[0].work != Work::Idle {
                if let Write::Refused = self.written(state, 0)?
                    && !state.deaf
                {
                    return Err(format!(
                        "left alone, a write is refused: {:?}",
                        self.steps.borrow().get(step)
                    ));
                }
            }
        }
        Err(format!("no rest: {:#?}\nfrom {before:#?}", self.view(state, 0, None).map(|v| self.decide(&v))))
    }

    /// Deleted, or told to end, it does: with a job that obeys the signal, and with time.
    fn comes_to_its_end(&self, mut state: State, deleted: bool) -> Result<(), String> {
        let Some(uid) = state.ec.as_ref().map(|ec| ec.uid) else { return Ok(()) };
        let now = state.now;
        if deleted {
            state.change(None, |ec| ec.deleted = ec.deleted.or(Some(now)));
            state.collect();
        } else {
            (state.away, state.deaf) = (false, false);
            state.change(None, |ec| ec.teardown = true);
        }
        let mut way = Vec::new();
        for _ in 0..24 {
            self.come_to_rest(&mut state)?;
            let here = fingerprint(&(deleted, &state));
            if self.ending.borrow().contains(&here) {
                self.ending.borrow_mut().extend(way);
                return Ok(());
            }
            way.push(here);
            for job in state.jobs.clone() {
                if is_orphan(&state, &job) {
                    end_orphan(self, &mut state, &job);
                }
            }
            let runs = state.jobs.iter().any(Pj::runs);
            let concluded = state.ec.as_ref().is_none_or(|ec| {
                let status = self.statuses.borrow().get(ec.status);
                let completed = find(&status.conditions, PROW_JOB_COMPLETED).is_some_and(Condition::is_true);
                !deleted && completed && !ec.finalizer && state.published.is_none()
            });
            // A job that is orphaned behind an unreachable build cluster, or takes no signal, has to wait for it.
            if concluded && (!runs || state.away || state.deaf) {
                self.ending.borrow_mut().extend(way);
                return Ok(());
            }
            obey(&mut state);
        }
        Err(format!("uid {uid} does not end (deleted: {deleted}): {state:#?}"))
    }
}

fn obey(state: &mut State) {
    for job in state.jobs.iter_mut().filter(|job| job.runs()) {
        match &job.namespace {
            Some(namespace) if namespace.signalled => {
                (job.state, job.namespace) = (JobState::Success, None);
            }
            Some(namespace) if namespace.terminating => job.namespace = None,
            None if job.told => job.state = JobState::Failure,
            Some(_) | None => {}
        }
    }
    state.now += 1;
}
