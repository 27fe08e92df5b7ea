//! Actions of others: Prow, ci-operator, users, the upstream controller.

use provider_testplatform::controllers::ephemeral_cluster::{
    prow_job::JobState,
    status::{Phase, Status},
};

use super::{
    environment::Event,
    explore::Next,
    lab::Lab,
    rest,
    world::{Ec, Namespace, Pj, State, Work},
};

/// In ticks. For so long a job is kept that has ended.
const DAY: u8 = 96;

impl Lab {
    /// Possible events of a job.
    pub fn job(&self, state: &State, job: &Pj, next: &mut Vec<Next<State, Event>>) {
        let id = job.id;
        let budget = state.budget;
        let mut push = |event, change: &dyn Fn(&mut State, usize)| {
            let mut state = state.clone();
            let index = state.jobs.iter().position(|j| j.id == id).unwrap();
            change(&mut state, index);
            next.push((event, Ok(state)));
        };
        if job.runs() && job.state == JobState::Scheduling {
            push(Event::Scheduled(id), &|state, i| {
                (state.jobs[i].state, state.jobs[i].pending) = (JobState::Pending, Some(state.now));
            });
        }
        if job.runs() && job.state == JobState::Pending && job.namespace.is_none() && !state.away {
            push(Event::NamespaceAppears(id), &|state, i| {
                state.jobs[i].namespace = Some(Namespace::default());
            });
        }
        if let Some(namespace) = &job.namespace {
            let grows = namespace.source < 2 || (namespace.source < 3 && budget.rotations > 0);
            if job.runs() && !namespace.terminating && grows {
                push(Event::SecretGrows(id), &|state, i| {
                    let namespace = state.jobs[i].namespace.as_mut().unwrap();
                    namespace.source += 1;
                    state.budget.rotations -= u8::from(namespace.source == 3);
                });
            }
            if namespace.terminating {
                push(Event::NamespaceVanishes(id), &|state, i| state.jobs[i].namespace = None);
            } else if budget.namespace_losses > 0 {
                push(Event::NamespaceTerminates(id), &|state, i| {
                    state.budget.namespace_losses -= 1;
                    state.jobs[i].namespace.as_mut().unwrap().terminating = true;
                });
            }
        }
        if job.runs() {
            let told = job.namespace.as_ref().is_some_and(|n| n.signalled);
            for end in [JobState::Success, JobState::Failure, JobState::Aborted] {
                let free = told && end == JobState::Success;
                if free || budget.endings > 0 {
                    push(Event::Ends(id, end), &|state, i| {
                        state.budget.endings -= u8::from(!free);
                        state.jobs[i].state = end;
                        state.jobs[i].namespace = None;
                    });
                }
            }
        }
        // A day passes before that; no pass takes a day.
        let idle = state.processes.iter().all(|p| p.work == Work::Idle);
        if !job.gone && job.state.is_final() && budget.sweeps > 0 && idle {
            push(Event::Swept(id), &|state, i| {
                state.budget.sweeps -= 1;
                state.now = state.now.max(job.born.0 + DAY);
                state.jobs.remove(i);
            });
        }
        // Somebody deletes it by hand; not in the moment before it is noted down, which nobody could tell from a
        // creation that failed.
        let noted = state
            .ec
            .as_ref()
            .is_none_or(|ec| self.statuses.borrow().get(ec.status).prow_job_id == job.name());
        if job.runs() && budget.job_deletions > 0 && idle && noted {
            push(Event::JobDeleted(id), &|state, i| {
                state.budget.job_deletions -= 1;
                state.jobs[i].gone = true;
            });
        }
        if rest::is_orphan(state, job) {
            let mut after = state.clone();
            if rest::end_orphan(self, &mut after, job) {
                next.push((Event::OrphanEnded(id), Ok(after)));
            }
        }
    }

    /// Possible events of everything else.
    pub fn outside(&self, state: &State, next: &mut Vec<Next<State, Event>>) {
        let budget = state.budget;
        let idle = state.processes.iter().all(|p| p.work == Work::Idle);
        let mut push = |event, change: &dyn Fn(&mut State)| {
            let mut state = state.clone();
            change(&mut state);
            next.push((event, Ok(state)));
        };
        // Every action has a time limit far below a tick.
        if budget.ticks > 0 && idle {
            push(Event::TimePasses, &|state| {
                state.budget.ticks -= 1;
                state.now += 1;
            });
        }
        if state.away {
            push(Event::Back, &|state| state.away = false);
        } else if budget.outages > 0 {
            push(Event::Away, &|state| {
                state.budget.outages -= 1;
                state.away = true;
            });
        }
        if state.deaf {
            push(Event::Hears, &|state| state.deaf = false);
        } else if budget.refusals > 0 {
            push(Event::Deaf, &|state| {
                state.budget.refusals -= 1;
                state.deaf = true;
            });
        }
        let Some(ec) = &state.ec else {
            if budget.rebirth > 0 {
                push(Event::Rebirth, &|state| {
                    state.budget.rebirth -= 1;
                    let uid = u8::try_from(state.made.len()).unwrap() - 1 - state.budget.rebirth;
                    state.ec = Some(self.newborn(uid, (state.now, state.births)));
                    state.births += 1;
                });
            }
            return;
        };
        if budget.teardown > 0 && !ec.teardown {
            push(Event::TearDown, &|state| {
                state.budget.teardown -= 1;
                state.change(None, |ec| ec.teardown = true);
            });
        }
        if budget.deletion > 0 && ec.deleted.is_none() {
            push(Event::Delete, &|state| {
                state.budget.deletion -= 1;
                let now = state.now;
                state.change(None, |ec| ec.deleted = Some(now));
                state.collect();
            });
        }
        if budget.extensions > 0 && self.lifetime.is_some() {
            push(Event::LifetimeExtended, &|state| {
                state.budget.extensions -= 1;
                state.change(None, |ec| ec.extended = true);
            });
        }
        if budget.renamings > 0 {
            push(Event::AnnotatedForAnother, &|state| {
                state.budget.renamings -= 1;
                state.change(None, |ec| ec.tenant = 1 - ec.tenant);
            });
        }
        if budget.other_writes > 0 {
            push(Event::OtherWritesStatus, &|state| {
                state.budget.other_writes -= 1;
                let now = state.now;
                state.change(None, |ec| ec.other = Some(now));
            });
            // The upstream controller says so of much that it recovers from.
            push(Event::OtherSaysFailed, &|state| {
                state.budget.other_writes -= 1;
                let mut status = Status::clone(&self.statuses.borrow().get(ec.status));
                status.phase = Some(Phase::Failed);
                let (number, now) = (self.statuses.borrow_mut().number(&status), state.now);
                state.change(None, |ec| (ec.status, ec.other) = (number, Some(now)));
            });
        }
        self.upstream(state, ec, next);
    }

    /// The upstream controller makes a job, and says so later.
    fn upstream(&self, state: &State, ec: &Ec, next: &mut Vec<Next<State, Event>>) {
        let stored = self.statuses.borrow().get(ec.status);
        if state.budget.upstream_jobs > 0 && ec.deleted.is_none() && stored.prow_job_id.is_empty() {
            let mut state = state.clone();
            state.budget.upstream_jobs -= 1;
            state.upstream = Some(state.birth(ec.uid, false, ec.tenant));
            next.push((Event::UpstreamMakesJob, Ok(state)));
        }
        let job = state.jobs.iter().find(|job| Some(job.id) == state.upstream);
        if let Some(job) = job {
            let mut state = state.clone();
            state.upstream = None;
            // Its write carries a resourceVersion: only over what it had read.
            if job.owner == ec.uid && stored.prow_job_id.is_empty() && stored.phase.is_none() {
                let status =
                    Status { phase: Some(Phase::Provisioning), prow_job_id: job.name(), ..Status::default() };
                let (number, now) = (self.statuses.borrow_mut().number(&status), state.now);
                state.change(None, |ec| {
                    (ec.status, ec.finalizer, ec.other) = (number, true, Some(now));
                });
            }
            next.push((Event::UpstreamBinds, Ok(state)));
        }
    }

    /// An EphemeralCluster that nobody has looked at.
    pub fn newborn(&self, uid: u8, born: (u8, u8)) -> Ec {
        Ec {
            uid,
            born,
            finalizer: false,
            deleted: None,
            teardown: false,
            status: self.statuses.borrow_mut().number(&Status::default()),
            other: None,
            revision: None,
            diagnosed: false,
            tenant: 0,
            extended: false,
        }
    }
}
