//! Prow and ci-operator on their own: they observe every job every moment and take the step that is due. A step that fails, because a
//! hub is unreachable, is retried in the next pass.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use testplatform_apis::names::{ci_operator, ephemeral_cluster};
use tokio::task::JoinHandle;

use super::{JOBS, Job};
use crate::{
    cluster::{Cluster, at, at_root},
    hub,
    kinds::{EPHEMERAL_CLUSTER, NAMESPACE, PROW_JOB, SECRET},
};

/// How often they look.
const MOMENT: Duration = Duration::from_millis(250);
/// How long a cluster takes to be installed.
const INSTALLING: Duration = Duration::from_secs(1);

/// Result of a tenant's jobs.
#[derive(Clone, Debug)]
pub struct Order {
    /// Kubeconfig that the jobs leave.
    pub kubeconfig: String,
    /// Password that the jobs leave.
    pub password: String,
    /// The jobs fail.
    pub fails: bool,
}

/// They play until this is dropped.
pub struct Prow {
    orders: Arc<Mutex<BTreeMap<String, Order>>>,
    playing: JoinHandle<()>,
}

impl Drop for Prow {
    fn drop(&mut self) {
        self.playing.abort();
    }
}

impl Prow {
    /// They begin. Jobs run on one build cluster, which is the hub itself.
    pub fn start(hub: &Cluster, site: &'static str) -> Self {
        let orders = Arc::<Mutex<BTreeMap<String, Order>>>::default();
        let mut played =
            Played { hub: hub.clone(), site, orders: Arc::clone(&orders), jobs: BTreeMap::new() };
        let playing = tokio::spawn(async move {
            loop {
                played.look().await;
                tokio::time::sleep(MOMENT).await;
            }
        });
        Self { orders, playing }
    }

    /// Sets the result of the jobs of a tenant from now on. Those of others are left alone.
    pub fn order(&self, tenant: &str, order: Order) {
        lock(&self.orders).insert(tenant.to_owned(), order);
    }

    /// Lets the jobs of a tenant fail.
    pub fn fail(&self, tenant: &str) {
        if let Some(order) = lock(&self.orders).get_mut(tenant) {
            order.fails = true;
        }
    }
}

struct Played {
    hub: Cluster,
    site: &'static str,
    orders: Arc<Mutex<BTreeMap<String, Order>>>,
    /// By its name the tenant of a job, once that was known, and since when it runs.
    jobs: BTreeMap<String, (String, Option<Instant>)>,
}

impl Played {
    async fn look(&mut self) {
        for object in self.hub.list(PROW_JOB).await.unwrap_or_default() {
            let Ok(job) = Job::read(&self.hub, JOBS, (self.site, &self.hub), &object) else { continue };
            // Its next look is another try.
            let _ = self.step(&job, &object).await;
        }
    }

    async fn step(&mut self, job: &Job, object: &Value) -> anyhow::Result<()> {
        let Some(tenant) = self.tenant(job, object).await? else { return Ok(()) };
        let Some(order) = lock(&self.orders).get(&tenant).cloned() else { return Ok(()) };
        match object["status"]["state"].as_str() {
            Some("scheduling") => job.schedule().await,
            Some("triggered") => {
                self.jobs.insert(job.name().to_owned(), (tenant, Some(Instant::now())));
                job.run().await
            }
            Some("pending") => self.run(job, &order).await,
            _ => self.clean(job).await,
        }
    }

    /// Whose it is: the EphemeralCluster says so, and it may have gone since.
    async fn tenant(&mut self, job: &Job, object: &Value) -> anyhow::Result<Option<String>> {
        if let Some((tenant, _)) = self.jobs.get(job.name()) {
            return Ok(Some(tenant.clone()));
        }
        let Some(name) = object["metadata"]["labels"][ephemeral_cluster::LABEL].as_str() else {
            return Ok(None);
        };
        let Some(owner) = self.hub.get(&at(EPHEMERAL_CLUSTER, hub::NAMESPACE, name)).await? else {
            return Ok(None);
        };
        let tenant = owner["metadata"]["annotations"][ephemeral_cluster::KONFLUX_TENANT].as_str();
        let Some(tenant) = tenant.map(str::to_owned) else { return Ok(None) };
        self.jobs.insert(job.name().to_owned(), (tenant.clone(), None));
        Ok(Some(tenant))
    }

    async fn run(&mut self, job: &Job, order: &Order) -> anyhow::Result<()> {
        if order.fails {
            return job.end("failure").await;
        }
        let namespace = job.namespace();
        if self.hub.get(&at_root(NAMESPACE, &namespace)).await?.is_none() {
            return job.take_namespace().await;
        }
        if self.hub.get(&at(SECRET, &namespace, ci_operator::SIGNAL)).await?.is_some() {
            return job.end("success").await;
        }
        let runs = self.jobs.get(job.name()).and_then(|(_, since)| *since);
        let installed = runs.is_none_or(|since| since.elapsed() >= INSTALLING);
        if installed && self.hub.get(&at(SECRET, &namespace, ci_operator::TEST)).await?.is_none() {
            job.leave(&order.kubeconfig, &order.password).await?;
        }
        Ok(())
    }

    /// Deletes the namespace of a job that is over.
    async fn clean(&self, job: &Job) -> anyhow::Result<()> {
        self.hub.delete(&at_root(NAMESPACE, &job.namespace())).await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
