//! Remembers what was ever there, because some things must never have been, however briefly.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{StreamExt as _, pin_mut};
use kube::{
    Api, ResourceExt as _,
    api::DynamicObject,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use serde_json::Value;
use testplatform_apis::names::{ephemeral_cluster::KONFLUX_TENANT, ours::EPHEMERAL_CLUSTER_UID};
use tokio::task::JoinHandle;

use crate::{
    cluster::{Cluster, condition},
    kinds::{
        CLAIM, CLUSTER_CLAIM, COMPOSITE, EPHEMERAL_CLUSTER, HOSTED_CLUSTER, INSTANCE, Kind, OBJECT, ORDER,
        PROW_JOB, TEST_CLUSTER, TOPOLOGY,
    },
};

/// A namespace and the name of a claim in it.
pub type Key = (String, String);

/// Conditions and other reports of an object at one moment, as far as others act on them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// Its phase.
    pub phase: String,
    /// The condition `ClusterReady`; null when there was none.
    pub cluster_ready: Value,
    /// Crossplane's own condition `Ready`; null when there was none.
    pub ready: Value,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.phase)?;
        for (name, condition) in [("ClusterReady", &self.cluster_ready), ("Ready", &self.ready)] {
            let [status, reason, since] = ["status", "reason", "lastTransitionTime"]
                .map(|field| condition[field].as_str().unwrap_or("-").to_owned());
            write!(f, "; {name}={status}/{reason} since {since}")?;
        }
        Ok(())
    }
}

type Shared<K, V> = Arc<Mutex<BTreeMap<K, V>>>;
/// The ClusterClaims of one name, by their uids, and whether each was ever bound to a cluster.
type Bound = BTreeMap<String, bool>;

/// Remembers the jobs that were ever made, by the EphemeralCluster for which they were. As long as it exists.
pub struct Jobs {
    made: Shared<String, BTreeSet<String>>,
    task: JoinHandle<()>,
}

impl Jobs {
    /// Begins to remember.
    pub fn start(hub: &Cluster) -> Self {
        let made = Shared::<String, BTreeSet<String>>::default();
        let task = {
            let made = Arc::clone(&made);
            watch(hub, PROW_JOB, move |job| {
                let Some(owner) = job.labels().get(EPHEMERAL_CLUSTER_UID).cloned() else { return };
                lock(&made).entry(owner).or_default().insert(job.metadata.uid.unwrap_or_default());
            })
        };
        Self { made, task }
    }

    /// How many there ever were for the EphemeralCluster of a uid.
    pub fn made(&self, uid: &str) -> usize {
        lock(&self.made).get(uid).map_or(0, BTreeSet::len)
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Watches as long as it exists.
pub struct Recorder {
    jobs: Jobs,
    made: Shared<String, BTreeSet<String>>,
    /// By the tenant and the name.
    pooled: Shared<Key, Bound>,
    claims: Shared<Key, Vec<Said>>,
    composites: Shared<Key, Vec<Said>>,
    writes: Shared<String, usize>,
    tasks: Vec<JoinHandle<()>>,
}

impl Recorder {
    /// Begins to remember.
    pub fn start(konflux: &Cluster, hub: &Cluster) -> Self {
        let made = Shared::<String, BTreeSet<String>>::default();
        let pooled = Shared::<Key, Bound>::default();
        let mut tasks = remotes(hub, &made, &pooled);
        let claims = Shared::<Key, Vec<Said>>::default();
        let of_claims = listen(konflux, CLAIM, &claims, |claim| {
            Some((claim.namespace().unwrap_or_default(), claim.name_any()))
        });
        let composites = Shared::<Key, Vec<Said>>::default();
        let of_composites = listen(konflux, COMPOSITE, &composites, |composite| {
            let label = |name: &str| composite.labels().get(name).cloned();
            Some((label("crossplane.io/claim-namespace")?, label("crossplane.io/claim-name")?))
        });
        // One that is no claim's is both at once.
        let own = |it: &DynamicObject| Some((it.namespace().unwrap_or_default(), it.name_any()));
        tasks.extend([&claims, &composites].map(|said| listen(konflux, TEST_CLUSTER, said, own)));
        let writes = Shared::<String, usize>::default();
        let objects = {
            let writes = Arc::clone(&writes);
            watch(konflux, OBJECT, move |object| {
                let Some(composite) = object.labels().get("crossplane.io/composite").cloned() else { return };
                *lock(&writes).entry(composite).or_default() += 1;
            })
        };
        let jobs = Jobs::start(hub);
        tasks.extend([of_claims, of_composites, objects]);
        Self { jobs, made, pooled, claims, composites, writes, tasks }
    }

    /// Remembers what is made on one more hub, until the tasks are ended.
    pub fn also(&self, hub: &Cluster) -> Vec<JoinHandle<()>> {
        remotes(hub, &self.made, &self.pooled)
    }

    /// How many remote objects there ever were for a tenant.
    pub fn made(&self, tenant: &str) -> usize {
        lock(&self.made).get(tenant).map_or(0, BTreeSet::len)
    }

    /// The most ClusterClaims that there ever were for one of a tenant's composites, and the most of one that were ever bound.
    pub fn pooled(&self, tenant: &str) -> (usize, usize) {
        let pooled = lock(&self.pooled);
        let own = pooled.iter().filter(|((of, _), _)| of == tenant).map(|(_, claims)| claims);
        own.fold((0, 0), |(made, bound), claims| {
            (made.max(claims.len()), bound.max(claims.values().filter(|b| **b).count()))
        })
    }

    /// The most ProwJobs that there ever were for one of a tenant's `EphemeralCluster`.
    pub fn jobs_made(&self, tenant: &str) -> usize {
        let of_tenant = lock(&self.made).get(tenant).cloned().unwrap_or_default();
        of_tenant.iter().map(|uid| self.jobs.made(uid)).max().unwrap_or_default()
    }

    /// How often the Objects of a composite were written, by anybody.
    pub fn writes(&self, composite: &str) -> usize {
        lock(&self.writes).get(composite).copied().unwrap_or_default()
    }

    /// The claims that were ever there.
    pub fn claims(&self) -> Vec<Key> {
        lock(&self.claims).keys().cloned().collect()
    }

    /// Reports of a claim, in its order.
    pub fn of_claim(&self, key: &Key) -> Vec<Said> {
        lock(&self.claims).get(key).cloned().unwrap_or_default()
    }

    /// Reports of the composites behind a claim, in their order.
    pub fn of_composite(&self, key: &Key) -> Vec<Said> {
        lock(&self.composites).get(key).cloned().unwrap_or_default()
    }

    /// The phases that a claim showed, in their order. A watch may miss what lasted only for a moment.
    pub fn phases(&self, key: &Key) -> Vec<String> {
        let mut phases: Vec<_> = self.of_claim(key).into_iter().map(|said| said.phase).collect();
        phases.retain(|phase| !phase.is_empty());
        phases.dedup();
        phases
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Remembers every object on a hub that stands for a cluster.
fn remotes(
    hub: &Cluster,
    made: &Shared<String, BTreeSet<String>>,
    pooled: &Shared<Key, Bound>,
) -> Vec<JoinHandle<()>> {
    let single = [EPHEMERAL_CLUSTER, HOSTED_CLUSTER, TOPOLOGY, ORDER, INSTANCE].map(|kind| {
        let made = Arc::clone(made);
        watch(hub, kind, move |object| {
            let Some(tenant) = object.annotations().get(KONFLUX_TENANT).cloned() else { return };
            let uid = object.metadata.uid.unwrap_or_default();
            lock(&made).entry(tenant).or_default().insert(uid);
        })
    });
    let (made, pooled) = (Arc::clone(made), Arc::clone(pooled));
    let of_pools = watch(hub, CLUSTER_CLAIM, move |object| {
        let Some(tenant) = object.annotations().get(KONFLUX_TENANT).cloned() else { return };
        let uid = object.metadata.uid.clone().unwrap_or_default();
        lock(&made).entry(tenant.clone()).or_default().insert(uid.clone());
        let bound = object.data["spec"]["namespace"].as_str().is_some_and(|n| !n.is_empty());
        let mut pooled = lock(&pooled);
        *pooled.entry((tenant, object.name_any())).or_default().entry(uid).or_default() |= bound;
    });
    single.into_iter().chain([of_pools]).collect()
}

/// Remembers the reports of a kind's objects. Objects that are being deleted have reported all that counts.
fn listen(
    cluster: &Cluster,
    kind: Kind,
    said: &Shared<Key, Vec<Said>>,
    key: impl Fn(&DynamicObject) -> Option<Key> + Send + 'static,
) -> JoinHandle<()> {
    let said = Arc::clone(said);
    watch(cluster, kind, move |object| {
        let Some(key) = key(&object).filter(|_| object.metadata.deletion_timestamp.is_none()) else { return };
        let of = |type_| {
            let mut condition = condition(&object.data, type_).cloned().unwrap_or_default();
            // Of the object that carries it, whoever said it first.
            condition.as_object_mut().map(|fields| fields.remove("observedGeneration"));
            condition
        };
        let now = Said {
            phase: object.data["status"]["phase"].as_str().unwrap_or_default().to_owned(),
            cluster_ready: of("ClusterReady"),
            ready: of("Ready"),
        };
        let mut said = lock(&said);
        let before = said.entry(key).or_default();
        if before.last() != Some(&now) {
            before.push(now);
        }
    })
}

/// Notes every object of a kind that there is, and each of its changes, until the task is ended.
pub(crate) fn watch(
    cluster: &Cluster,
    kind: Kind,
    mut note: impl FnMut(DynamicObject) + Send + 'static,
) -> JoinHandle<()> {
    let api: Api<DynamicObject> = Api::all_with(cluster.client(), &kind.into());
    tokio::spawn(async move {
        let stream = watcher(api, watcher::Config::default()).default_backoff();
        pin_mut!(stream);
        while let Some(event) = stream.next().await {
            if let Ok(Event::Apply(object) | Event::InitApply(object)) = event {
                note(object);
            }
        }
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
