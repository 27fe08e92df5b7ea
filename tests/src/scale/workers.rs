//! Prow and ci-operator for any number of jobs at once: each runs as soon as it is there, and ends when it is signalled.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::Context as _;
use kube::ResourceExt as _;
use serde_json::Value;
use testplatform_apis::names::{ci_operator, ephemeral_cluster};
use tokio::{sync::Semaphore, task::JoinHandle};

use crate::{
    cluster::Cluster,
    kinds::{PROW_JOB, SECRET},
    provider::SITE,
    prow::{JOBS, Job},
    recorder::watch,
};

/// How many jobs are attended to at the same time.
const HANDS: usize = 16;

/// They work as long as this exists.
pub struct Workers {
    jobs: Arc<Mutex<Jobs>>,
    tasks: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Jobs {
    /// By the name of the EphemeralCluster.
    of: BTreeMap<String, Job>,
    /// The same names by the namespace in which the job runs.
    by_namespace: BTreeMap<String, String>,
    ended: BTreeSet<String>,
}

impl Workers {
    /// Begin to work.
    pub fn start(hub: &Cluster) -> Self {
        let jobs = Arc::<Mutex<Jobs>>::default();
        let hands = Arc::new(Semaphore::new(HANDS));
        let run = {
            let (jobs, hands, hub) = (Arc::clone(&jobs), Arc::clone(&hands), hub.clone());
            watch(&hub.clone(), PROW_JOB, move |object| {
                let Some(name) = object.labels().get(ephemeral_cluster::LABEL).cloned() else { return };
                let Ok(value) = serde_json::to_value(&object) else { return };
                let Ok(job) = Job::read(&hub, JOBS, (SITE, &hub), &value) else { return };
                let mut known = lock(&jobs);
                if known.of.insert(name.clone(), job.clone()).is_none() {
                    known.by_namespace.insert(job.namespace(), name);
                    attend(&hands, async move {
                        job.schedule().await?;
                        job.run().await?;
                        job.take_namespace().await
                    });
                }
            })
        };
        let end = {
            let jobs = Arc::clone(&jobs);
            watch(hub, SECRET, move |secret| {
                if secret.name_any() != ci_operator::SIGNAL {
                    return;
                }
                let mut known = lock(&jobs);
                let Some(name) = secret.namespace().and_then(|n| known.by_namespace.get(&n).cloned()) else {
                    return;
                };
                let Some(job) = known.of.get(&name).cloned() else { return };
                if known.ended.insert(name) {
                    // Its namespace stays: who empties thousands of them would be all that is measured.
                    attend(&hands, async move { job.complete("success").await });
                }
            })
        };
        Self { jobs, tasks: vec![run, end] }
    }

    /// The job of an EphemeralCluster.
    pub fn job(&self, ephemeral_cluster: &str) -> anyhow::Result<Job> {
        let job = lock(&self.jobs).of.get(ephemeral_cluster).cloned();
        job.with_context(|| format!("there is no ProwJob for EphemeralCluster {ephemeral_cluster}"))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Does something as soon as a hand is free. Who waits for it sees that it was not done; why is said here.
fn attend(hands: &Arc<Semaphore>, work: impl Future<Output = anyhow::Result<()>> + Send + 'static) {
    let hands = Arc::clone(hands);
    tokio::spawn(async move {
        let Ok(_hand) = hands.acquire().await else { return };
        if let Err(error) = work.await {
            eprintln!("a job: {error:#}");
        }
    });
}

fn lock(jobs: &Mutex<Jobs>) -> MutexGuard<'_, Jobs> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Name of the claim behind a composite and its EphemeralCluster: core puts five letters behind it.
pub fn claim_of(composite: &str) -> Option<&str> {
    composite.rsplit_once('-').map(|(claim, _)| claim)
}

/// `true` if a Secret has a value under a key.
pub fn holds(secret: &Value, key: &str) -> bool {
    secret["data"][key].as_str().is_some_and(|value| !value.is_empty())
}
