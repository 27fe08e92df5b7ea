//! Many claims of many tenants, and what is seen of them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use kube::{
    Api, ResourceExt as _,
    api::{DynamicObject, ListParams},
};
use serde_json::json;
use tokio::task::{JoinHandle, JoinSet};

use super::{
    timeline::{Moment, Timeline},
    workers::{Workers, claim_of, holds},
};
use crate::{
    actors::Fulfilled,
    cluster::{At, Cluster},
    crossplane::Engine,
    hub,
    kinds::{CLAIM, EPHEMERAL_CLUSTER, SECRET},
    recorder::watch,
    tenant::{KUBECONFIG, PASSWORD, Tenant},
};

/// How many claims a tenant has.
const EACH: u32 = 50;
/// For how long nothing may move before it counts as stuck.
const PATIENCE: Duration = Duration::from_mins(3);
/// How often it is said how far it is.
const SAY: Duration = Duration::from_secs(10);

/// The claims.
pub struct Crowd<'e> {
    claims: Vec<Tenant<'e>>,
    /// How many at the same moment, and the time between two of these moments.
    burst: (usize, Duration),
    workers: Workers,
    timeline: Timeline,
    /// The composite of each claim.
    composites: Arc<Mutex<BTreeMap<String, String>>>,
    konflux: Cluster,
    tasks: Vec<JoinHandle<()>>,
}

impl<'e> Crowd<'e> {
    /// Tenants for that many claims, none of which is made yet.
    pub async fn new(engine: &'e Engine, claims: u32, rate: f64, burst: u32) -> anyhow::Result<Self> {
        let mut all: Vec<Tenant<'e>> = Vec::new();
        for n in 0..claims {
            // The namespace is there after the first.
            let mut tenant = match all.last() {
                Some(before) if n % EACH > 0 => Tenant::clone(before),
                _ => Tenant::new(engine, &format!("scale-{}", n / EACH), Fulfilled::ByProvider).await?,
            };
            tenant.name = format!("claim-{n:05}");
            all.push(tenant);
        }
        let (konflux, hub) = (engine.konflux.cluster(), engine.hub.cluster());
        let timeline = Timeline::default();
        let composites = Arc::<Mutex<BTreeMap<String, String>>>::default();
        let mut tasks = vec![of_claims(konflux, &timeline, &composites)];
        tasks.push(of_secrets(konflux, "-kubeconfig", &timeline, |secret| {
            Some((secret.to_owned(), Moment::Delivered))
        }));
        tasks.push(of_secrets(hub, "-credentials", &timeline, |secret| {
            Some((claim_of(secret)?.to_owned(), Moment::Published))
        }));
        tasks.push({
            let timeline = timeline.clone();
            watch(hub, EPHEMERAL_CLUSTER, move |object| {
                if let Some(claim) = claim_of(&object.name_any()) {
                    timeline.note(claim, Moment::Remote);
                }
            })
        });
        let workers = Workers::start(hub);
        let pause = Duration::from_secs(1).div_f64(rate) * burst;
        let burst = (usize::try_from(burst)?, pause);
        Ok(Self { claims: all, burst, workers, timeline, composites, konflux: konflux.clone(), tasks })
    }

    /// When what was seen.
    pub fn timeline(&self) -> Timeline {
        self.timeline.clone()
    }

    /// Makes the claims.
    pub async fn ask(&self) -> anyhow::Result<()> {
        self.each("made", |tenant| {
            let (konflux, claim) = (self.konflux.clone(), tenant.manifest(&json!({})));
            let (timeline, name) = (self.timeline.clone(), tenant.name.clone());
            async move {
                timeline.note(&name, Moment::Asked);
                konflux.create(&claim).await.map(|_| ()).context("a claim is refused")
            }
        })
        .await
    }

    /// The steps of their jobs leave credentials.
    pub async fn give(&self) -> anyhow::Result<()> {
        self.each("given credentials", |tenant| {
            let composite = self.composite(&tenant.name);
            let job = composite.and_then(|composite| self.workers.job(&composite));
            let (timeline, name) = (self.timeline.clone(), tenant.name.clone());
            async move {
                timeline.note(&name, Moment::Left);
                job?.leave(KUBECONFIG, PASSWORD).await
            }
        })
        .await
    }

    /// Tells them to end.
    pub async fn end(&self) -> anyhow::Result<()> {
        self.each("told to end", |tenant| {
            let (konflux, claim) = (self.konflux.clone(), tenant.claim());
            let (timeline, name) = (self.timeline.clone(), tenant.name.clone());
            async move {
                timeline.note(&name, Moment::Told);
                Ok(konflux.merge(&claim, &json!({ "spec": { "tearDownCluster": true } })).await?)
            }
        })
        .await
    }

    /// Deletes them, and waits until they are gone on both sides.
    pub async fn delete(&self) -> anyhow::Result<()> {
        self.each("deleted", |tenant| {
            let (konflux, claim): (Cluster, At) = (self.konflux.clone(), tenant.claim());
            async move { konflux.delete(&claim).await }
        })
        .await?;
        let engine = self.claims.first().context("no claims")?.engine;
        let left = async || -> anyhow::Result<usize> {
            let claims: Api<DynamicObject> = Api::all_with(self.konflux.client(), &CLAIM.into());
            let client = engine.hub.client();
            let remote: Api<DynamicObject> =
                Api::namespaced_with(client, hub::NAMESPACE, &EPHEMERAL_CLUSTER.into());
            let all = ListParams::default();
            let (claims, remote) = tokio::try_join!(claims.list_metadata(&all), remote.list_metadata(&all))?;
            Ok(claims.items.len() + remote.items.len())
        };
        let mut progress = Progress::new("left of claims and remote objects");
        loop {
            let left = left().await?;
            if left == 0 {
                return Ok(());
            }
            progress.at(left)?;
            // Rarely, because a list of thousands costs more than what is measured.
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    }

    /// Waits until all claims were seen at a moment.
    pub async fn until_all(&self, moment: Moment) -> anyhow::Result<()> {
        let mut progress = Progress::new(match moment {
            Moment::Provisioning => "provisioning",
            Moment::Ready => "ready",
            Moment::Over => "deprovisioned",
            Moment::Delivered => "delivered",
            Moment::Asked | Moment::Remote | Moment::Left | Moment::Published | Moment::Told => "there",
        });
        loop {
            let count = self.timeline.count(moment);
            if count == self.claims.len() {
                return Ok(());
            }
            progress.at(count)?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Does something with each, one burst after the other at the steady rate, whether or not the one before is done.
    async fn each<F: Future<Output = anyhow::Result<()>> + Send + 'static>(
        &self,
        what: &'static str,
        mut act: impl FnMut(&Tenant<'e>) -> F,
    ) -> anyhow::Result<()> {
        let mut progress = Progress::new(what);
        let (burst, pause) = self.burst;
        let mut clock = tokio::time::interval(pause);
        let mut acts = JoinSet::new();
        for (n, tenant) in self.claims.iter().enumerate() {
            if n % burst == 0 {
                clock.tick().await;
            }
            acts.spawn(act(tenant));
            progress.at(n)?;
        }
        while let Some(done) = acts.join_next().await {
            done??;
        }
        Ok(())
    }

    fn composite(&self, claim: &str) -> anyhow::Result<String> {
        let composites = self.composites.lock().unwrap_or_else(PoisonError::into_inner);
        composites.get(claim).cloned().with_context(|| format!("claim {claim} has no composite"))
    }
}

impl Drop for Crowd<'_> {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn of_claims(
    konflux: &Cluster,
    timeline: &Timeline,
    composites: &Arc<Mutex<BTreeMap<String, String>>>,
) -> JoinHandle<()> {
    let (timeline, composites) = (timeline.clone(), Arc::clone(composites));
    watch(konflux, CLAIM, move |claim| {
        let name = claim.name_any();
        if let Some(composite) = claim.data["spec"]["resourceRef"]["name"].as_str() {
            let mut composites = composites.lock().unwrap_or_else(PoisonError::into_inner);
            composites.entry(name.clone()).or_insert_with(|| composite.to_owned());
        }
        match claim.data["status"]["phase"].as_str() {
            Some("Provisioning") => timeline.note(&name, Moment::Provisioning),
            Some("Ready") => timeline.note(&name, Moment::Ready),
            Some("Deprovisioned") => timeline.note(&name, Moment::Over),
            _ => {}
        }
    })
}

/// Notes Secrets with a kubeconfig whose names end so.
fn of_secrets(
    cluster: &Cluster,
    ending: &'static str,
    timeline: &Timeline,
    whose: impl Fn(&str) -> Option<(String, Moment)> + Send + 'static,
) -> JoinHandle<()> {
    let timeline = timeline.clone();
    watch(cluster, SECRET, move |secret| {
        if !holds(&secret.data, "kubeconfig") {
            return;
        }
        let name = secret.name_any();
        if let Some((claim, moment)) = name.strip_suffix(ending).and_then(&whose) {
            timeline.note(&claim, moment);
        }
    })
}

/// How far something is: said now and then, and an error when it stands still.
struct Progress {
    what: &'static str,
    begun: Instant,
    said: Instant,
    moved: (usize, Instant),
}

impl Progress {
    fn new(what: &'static str) -> Self {
        let now = Instant::now();
        Self { what, begun: now, said: now, moved: (0, now) }
    }

    fn at(&mut self, count: usize) -> anyhow::Result<()> {
        if count != self.moved.0 {
            self.moved = (count, Instant::now());
        }
        if self.said.elapsed() > SAY {
            self.said = Instant::now();
            eprintln!("{count} {} after {} s", self.what, self.begun.elapsed().as_secs());
        }
        if self.moved.1.elapsed() > PATIENCE {
            bail!("it stands still: {count} {} since {PATIENCE:?}", self.what);
        }
        Ok(())
    }
}
