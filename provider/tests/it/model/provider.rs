//! A provider as a process: it looks, decides with the real `next`, and acts write by write.

use provider_testplatform::controllers::ephemeral_cluster::{
    operation::{Operation, Plan},
    plan,
    prow_job::JobState,
    status::{self, Status},
};
use testplatform_apis::names::ours;

use super::{
    explore::fingerprint,
    lab::{Lab, NAME, at, uid},
    promises::left_for_good,
    world::{Cache, Ec, Pj, Secret, State, View, Work},
};

/// Result of one write.
pub enum Write {
    /// It was done, or there was nothing to do.
    Done,
    /// The API server refused it.
    Refused,
}

impl Lab {
    /// State that a pass of a process would see; with `fresh`, after reading that EphemeralCluster again.
    pub fn view(&self, state: &State, process: usize, fresh: Option<&Ec>) -> Option<View> {
        let process = &state.processes[process];
        let ec = match (fresh, &process.old_ec) {
            (Some(ec), _) => ec.clone(),
            (None, Cache::Old(old)) => old.clone()?,
            (None, Cache::Current) => state.ec.clone()?,
        };
        let live: Vec<Pj> = state.jobs.iter().filter(|job| !job.gone).cloned().collect();
        let status = self.statuses.borrow().get(ec.status);
        let named = status.prow_job_id.as_str();
        let (jobs, published) = match &process.old_rest {
            Cache::Old((jobs, published)) if fresh.is_none() => (jobs.clone(), published.clone()),
            Cache::Old(_) | Cache::Current => (live.clone(), state.published.clone()),
        };
        let seen = |jobs: &[Pj]| jobs.iter().any(|job| job.name() == named);
        let gone = !named.is_empty() && !seen(&jobs) && !seen(&live);
        let left = state.jobs.iter().find(|job| job.gone && job.namespace.is_some() && job.name() == named);
        Some(View {
            gone,
            left: left.filter(|_| gone).cloned(),
            ec,
            jobs,
            published,
            away: state.away,
            now: state.now,
            fresh: fresh.is_some(),
        })
    }

    /// Decision of the real `next`.
    pub fn decide(&self, view: &View) -> Result<u32, String> {
        let seen = fingerprint(view);
        if let Some(step) = self.decided.borrow().get(&seen) {
            return Ok(*step);
        }
        let step = plan::plan(&self.object(&view.ec), &self.world(view), at(view.now));
        self.judge(view, &step)?;
        let number = self.steps.borrow_mut().number(&step);
        self.decided.borrow_mut().insert(seen, number);
        Ok(number)
    }

    /// Does the next write of a process. A refusal ends the pass.
    pub fn write(&self, state: &mut State, process: usize) -> Result<Write, String> {
        let Work::Acting { uid, step, done, valid } = state.processes[process].work.clone() else {
            return Ok(Write::Refused);
        };
        let step = self.steps.borrow().get(step);
        let owned = valid && state.ec.as_ref().is_some_and(|ec| ec.uid == uid);
        let (done, actions) = (usize::from(done), step.actions.len());
        let write = if let Some(action) = step.actions.get(done) {
            if owned && *action == Operation::RemoveFinalizer {
                self.may_let_go(state)?;
            }
            let write = act(state, process, uid, action, owned)?;
            if let Write::Refused = write
                && owned
            {
                self.say_failed(state, process, &step, action)?;
            }
            write
        } else if done == actions {
            match &step.status {
                None => Write::Done,
                Some(desired) if owned => self.write_status(state, process, desired),
                Some(_) => Write::Refused,
            }
        } else {
            match act(state, process, uid, &step.afterwards[done - actions - 1], owned)? {
                // Each by itself.
                Write::Refused if state.deaf => Write::Done,
                write => write,
            }
        };
        if let Write::Done = write {
            if done == actions + step.afterwards.len() {
                state.processes[process].work = Work::Idle;
            } else if let Work::Acting { done, .. } = &mut state.processes[process].work {
                *done += 1;
            }
        }
        Ok(write)
    }

    /// Reports a refused signal. Reports of other failures do not matter here.
    fn say_failed(
        &self,
        state: &mut State,
        process: usize,
        step: &Plan,
        action: &Operation,
    ) -> Result<(), String> {
        let Some(ec) = state.ec.as_ref().filter(|_| matches!(action, Operation::SignalWaitStep { .. }))
        else {
            return Ok(());
        };
        let stored = self.statuses.borrow().get(ec.status);
        let said = plan::failed(&self.object(ec), step, action, "it is refused", at(state.now));
        if let Some(said) = said {
            left_for_good(&stored, &said)?;
            self.write_status(state, process, &said);
        }
        Ok(())
    }

    fn write_status(&self, state: &mut State, process: usize, desired: &Status) -> Write {
        let stored = state.ec.as_ref().map(|ec| self.statuses.borrow().get(ec.status)).unwrap_or_default();
        if status::patch(&stored, desired).is_none() {
            return Write::Done;
        }
        let mut desired = desired.clone();
        if self.prunes {
            desired.observed_generation = None;
            desired.expires_at = None;
        }
        let number = self.statuses.borrow_mut().number(&desired);
        state.change(Some(process), |ec| ec.status = number);
        Write::Done
    }
}

/// Does an action as the executor would.
fn act(state: &mut State, process: usize, of: u8, action: &Operation, owned: bool) -> Result<Write, String> {
    match action {
        Operation::AddFinalizer | Operation::RemoveFinalizer | Operation::SetAnnotations(_) if !owned => {
            return Ok(Write::Refused);
        }
        Operation::AddFinalizer => state.change(Some(process), |ec| ec.finalizer = true),
        Operation::RemoveFinalizer => {
            let mine = |job: &&Pj| job.ours && job.owner == of && job.runs();
            // A second provider can be late with a creation. The lease is against that; what is left is put right.
            let alone = state.processes.len() == 1;
            if let Some(job) = state.jobs.iter().find(mine).filter(|_| alone) {
                return Err(format!("the finalizer is taken off while {} runs", job.name()));
            }
            state.change(Some(process), |ec| ec.finalizer = false);
            state.collect();
        }
        Operation::SetAnnotations(annotations) => state.change(Some(process), |ec| {
            let revision = annotations.get(ours::CREDENTIALS_REVISION).cloned().flatten();
            ec.revision = revision.and_then(|r| r.parse().ok()).or(ec.revision);
            ec.diagnosed |= annotations.contains_key(ours::DIAGNOSTICS);
        }),
        Operation::CreateProwJob(_) => create(state, of, owned)?,
        Operation::ClaimProwJob { name, labels, .. } => {
            if labels.get(ours::EPHEMERAL_CLUSTER_UID) != Some(&uid(of)) {
                return Err("a job is claimed for another".into());
            }
            let tenant = state.ec.as_ref().map_or(0, |ec| ec.tenant);
            match state.jobs.iter_mut().find(|job| !job.gone && job.name() == *name) {
                Some(job) => (job.claimed, job.tenant) = (Some(of), tenant),
                None => return Ok(Write::Refused),
            }
        }
        Operation::AbortProwJob { name, .. } => abort(state, name),
        Operation::SignalWaitStep { namespace, .. } => return Ok(signal(state, namespace)),
        Operation::SignalWaitStepOrAbort { namespace, name, .. } => {
            if let Write::Refused = signal(state, namespace) {
                abort(state, name);
            }
        }
        Operation::PublishCredentials(credentials) => {
            return publish(state, of, &credentials.source_revision);
        }
        Operation::IssueCredentials(_) => return Err("nobody wished for a ServiceAccount".into()),
        Operation::WithdrawCredentials => {
            if state.published.as_ref().is_some_and(|p| p.owner == of) {
                state.published = None;
            }
        }
        Operation::EmitEvent(_) => {}
    }
    Ok(Write::Done)
}

impl State {
    /// A write to the EphemeralCluster: what others have read of it is old from now on.
    pub fn change(&mut self, by: Option<usize>, change: impl FnOnce(&mut Ec)) {
        if let Some(ec) = &mut self.ec {
            change(ec);
        }
        for (index, process) in self.processes.iter_mut().enumerate() {
            match &mut process.work {
                Work::Read(_, valid) | Work::Acting { valid, .. } if by != Some(index) => *valid = false,
                Work::Idle | Work::Read(..) | Work::Acting { .. } => {}
            }
        }
    }

    /// Collects objects without owner and finalizer.
    pub fn collect(&mut self) {
        if self.ec.as_ref().is_some_and(|ec| ec.deleted.is_some() && !ec.finalizer) {
            self.ec = None;
        }
        let owner = self.ec.as_ref().map(|ec| ec.uid);
        self.published.take_if(|secret| Some(secret.owner) != owner);
    }
}

fn create(state: &mut State, of: u8, owned: bool) -> Result<(), String> {
    if state.jobs.iter().any(|job| !job.gone && job.ours && job.owner == of) {
        return Ok(());
    }
    state.made[usize::from(of)] += 1;
    if state.made[usize::from(of)] > 1 {
        return Err(format!("a second ProwJob is made for {}", uid(of)));
    }
    if owned && state.ec.as_ref().is_some_and(|ec| !ec.finalizer) {
        return Err("a ProwJob is made before the finalizer".into());
    }
    let tenant = state.ec.as_ref().map_or(0, |ec| ec.tenant);
    state.birth(of, true, tenant);
    Ok(())
}

impl State {
    /// A ProwJob comes into being.
    pub fn birth(&mut self, owner: u8, ours: bool, tenant: u8) -> u8 {
        let id = self.births;
        self.births += 1;
        self.jobs.push(Pj {
            id,
            owner,
            ours,
            claimed: None,
            tenant,
            state: JobState::Scheduling,
            aborted_by_us: false,
            born: (self.now, id),
            pending: None,
            namespace: None,
            told: false,
            gone: false,
        });
        id
    }
}

pub fn abort(state: &mut State, name: &str) {
    if let Some(job) = state.jobs.iter_mut().find(|job| job.runs() && job.name() == *name) {
        (job.state, job.aborted_by_us) = (JobState::Aborted, true);
        job.namespace = None;
    }
}

pub fn signal(state: &mut State, namespace: &str) -> Write {
    let site = |job: &&mut Pj| job.namespace.is_some() && format!("ci-op-{}", job.id) == *namespace;
    let away = state.away || state.deaf;
    let Some(job) = state.jobs.iter_mut().find(site) else { return Write::Refused };
    match &mut job.namespace {
        Some(namespace) if !away && !namespace.terminating => {
            (namespace.signalled, job.told) = (true, true);
            Write::Done
        }
        Some(_) | None => Write::Refused,
    }
}

fn publish(state: &mut State, of: u8, revision: &str) -> Result<Write, String> {
    let numbers: Vec<u8> = revision.split('-').filter_map(|n| n.parse().ok()).collect();
    let [id, source] = numbers[..] else { return Err(format!("{revision} is not a revision")) };
    if state.published.as_ref().is_some_and(|p| p.owner != of) {
        return Ok(Write::Refused);
    }
    let owner = state.jobs.iter().find(|job| job.id == id).map(|job| job.owner);
    if owner.is_some_and(|owner| owner != of) {
        return Err(format!("credentials of {owner:?} are published as those of {NAME} {}", uid(of)));
    }
    state.published = Some(Secret { owner: of, job: id, source });
    // The garbage collector takes what belongs to nobody.
    state.collect();
    Ok(Write::Done)
}
