//! Everything that can happen, as a model to explore.

use provider_testplatform::controllers::ephemeral_cluster::prow_job::JobState;
use testplatform_runtime::reconcile::Action;

use super::{
    explore::{Model, Next},
    lab::Lab,
    provider::Write,
    rest,
    world::{Cache, Ec, State, Work},
};

/// Event between two states. Numbers are processes and jobs.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "read by whoever reads a path")]
pub enum Event {
    Look(usize),
    ReadAnew(usize),
    Write(usize),
    WriteAnswerLost(usize),
    Crash(usize),
    EcLags(usize),
    RestLags(usize),
    CatchUp(usize),
    TimePasses,
    TearDown,
    Delete,
    Rebirth,
    AnnotatedForAnother,
    LifetimeExtended,
    Away,
    Back,
    Deaf,
    Hears,
    Scheduled(u8),
    NamespaceAppears(u8),
    SecretGrows(u8),
    NamespaceTerminates(u8),
    NamespaceVanishes(u8),
    Ends(u8, JobState),
    Swept(u8),
    JobDeleted(u8),
    UpstreamMakesJob,
    UpstreamBinds,
    OtherWritesStatus,
    OtherSaysFailed,
    OrphanEnded(u8),
}

impl Model for Lab {
    type State = State;
    type Event = Event;

    fn check(&self, state: &State) -> Result<(), String> {
        self.hold(state)
    }

    fn successors(&self, state: &State) -> Vec<Next<State, Event>> {
        let mut next = Vec::new();
        for process in 0..state.processes.len() {
            self.process(state, process, &mut next);
        }
        for job in &state.jobs {
            self.job(state, job, &mut next);
        }
        self.outside(state, &mut next);
        next
    }
}

impl Lab {
    fn process(&self, state: &State, index: usize, next: &mut Vec<Next<State, Event>>) {
        let process = &state.processes[index];
        let mut push = |event, change: &dyn Fn(&mut State) -> Result<(), String>| {
            let mut state = state.clone();
            let result = change(&mut state);
            next.push((event, result.map(|()| state)));
        };
        match &process.work {
            Work::Idle => {
                if let Some(view) = self.view(state, index, None) {
                    let current = state.ec.as_ref() == Some(&view.ec);
                    push(Event::Look(index), &|state| {
                        let step = self.decide(&view)?;
                        state.processes[index].work = self.work(&view.ec, step, current, state);
                        Ok(())
                    });
                }
                if state.budget.lags > 0 && process.old_ec == Cache::Current {
                    push(Event::EcLags(index), &|state| {
                        state.budget.lags -= 1;
                        state.processes[index].old_ec = Cache::Old(state.ec.clone());
                        Ok(())
                    });
                }
                if state.budget.lags > 0 && process.old_rest == Cache::Current {
                    push(Event::RestLags(index), &|state| {
                        state.budget.lags -= 1;
                        let jobs = state.jobs.iter().filter(|job| !job.gone).cloned().collect();
                        state.processes[index].old_rest = Cache::Old((jobs, state.published.clone()));
                        Ok(())
                    });
                }
            }
            Work::Read(ec, valid) => push(Event::ReadAnew(index), &|state| {
                if let Some(view) = self.view(state, index, Some(ec)) {
                    let step = self.decide(&view)?;
                    state.processes[index].work = self.work(ec, step, *valid, state);
                }
                Ok(())
            }),
            Work::Acting { .. } => {
                push(Event::Write(index), &|state| self.written(state, index).map(|_| ()));
                if state.budget.faults > 0 {
                    push(Event::WriteAnswerLost(index), &|state| {
                        self.written(state, index)?;
                        state.budget.faults -= 1;
                        state.processes[index].work = Work::Idle;
                        Ok(())
                    });
                    push(Event::Crash(index), &|state| {
                        state.budget.faults -= 1;
                        state.processes[index] = super::world::Process::default();
                        Ok(())
                    });
                }
            }
        }
        if process.old_ec != Cache::Current || process.old_rest != Cache::Current {
            push(Event::CatchUp(index), &|state| {
                state.processes[index].old_ec = Cache::Current;
                state.processes[index].old_rest = Cache::Current;
                Ok(())
            });
        }
    }

    /// One write; a refused one ends the pass.
    pub fn written(&self, state: &mut State, index: usize) -> Result<Write, String> {
        let write = self.write(state, index)?;
        if let Write::Refused = write {
            state.processes[index].work = Work::Idle;
        }
        Ok(write)
    }

    /// A decision begins to be carried out, if it is anything.
    pub fn work(&self, ec: &Ec, step: u32, valid: bool, state: &State) -> Work {
        let decided = self.steps.borrow().get(step);
        if decided.requeue == Action::BypassCaches {
            return state.ec.clone().map_or(Work::Idle, |ec| Work::Read(ec, true));
        }
        let stored = self.statuses.borrow().get(ec.status);
        if rest::is_nothing(&decided, &stored) || (state.deaf && rest::is_only_tried(&decided, &stored)) {
            return Work::Idle;
        }
        Work::Acting { uid: ec.uid, step, done: 0, valid }
    }
}
