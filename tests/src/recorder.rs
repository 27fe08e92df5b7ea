//! Remembers what was ever there, because some things must never have been, however briefly.

use std::{
    collections::{BTreeMap, BTreeSet},
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
use testplatform_apis::names::ephemeral_cluster::KONFLUX_TENANT;
use tokio::task::JoinHandle;

use crate::{
    cluster::Cluster,
    kinds::{CLAIM, EPHEMERAL_CLUSTER, Kind, OBJECT},
};

/// Watches as long as it exists.
pub struct Recorder {
    made: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>,
    seen: Arc<Mutex<BTreeMap<String, Vec<String>>>>,
    writes: Arc<Mutex<BTreeMap<String, usize>>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Recorder {
    /// Begins to remember.
    pub fn start(konflux: &Cluster, hub: &Cluster) -> Self {
        let made = Arc::<Mutex<BTreeMap<String, BTreeSet<String>>>>::default();
        let seen = Arc::<Mutex<BTreeMap<String, Vec<String>>>>::default();
        let remote = {
            let made = Arc::clone(&made);
            watch(hub, EPHEMERAL_CLUSTER, move |object| {
                let Some(tenant) = object.annotations().get(KONFLUX_TENANT).cloned() else { return };
                let uid = object.metadata.uid.unwrap_or_default();
                made.lock().unwrap_or_else(PoisonError::into_inner).entry(tenant).or_default().insert(uid);
            })
        };
        let claims = {
            let seen = Arc::clone(&seen);
            watch(konflux, CLAIM, move |object| {
                let Some(phase) = object.data["status"]["phase"].as_str() else { return };
                let key = format!(
                    "{}/{}",
                    object.metadata.namespace.unwrap_or_default(),
                    object.metadata.name.unwrap_or_default()
                );
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                let phases = seen.entry(key).or_default();
                if phases.last().is_none_or(|last| last != phase) {
                    phases.push(phase.to_owned());
                }
            })
        };
        let writes = Arc::<Mutex<BTreeMap<String, usize>>>::default();
        let objects = {
            let writes = Arc::clone(&writes);
            watch(konflux, OBJECT, move |object| {
                let Some(composite) = object.labels().get("crossplane.io/composite").cloned() else { return };
                *writes.lock().unwrap_or_else(PoisonError::into_inner).entry(composite).or_default() += 1;
            })
        };
        Self { made, seen, writes, tasks: vec![remote, claims, objects] }
    }

    /// How many of `EphemeralCluster` there ever were for a tenant.
    pub fn made(&self, tenant: &str) -> usize {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).get(tenant).map_or(0, BTreeSet::len)
    }

    /// How often the Objects of a composite were written, by anybody.
    pub fn writes(&self, composite: &str) -> usize {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner).get(composite).copied().unwrap_or_default()
    }

    /// The phases that a claim showed, in their order. A watch may miss what lasted only for a moment.
    pub fn phases(&self, namespace: &str, name: &str) -> Vec<String> {
        let key = format!("{namespace}/{name}");
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned().unwrap_or_default()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn watch(
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
