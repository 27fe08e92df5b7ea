//! The loop over pools: what happened, which pool that concerns, and a look at it, one after the other.
//!
//! Pools and their clusters are watched to know when to look; what is decided on is read anew in every look.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use kube::{
    Api, Client, ResourceExt as _,
    api::DynamicObject,
    runtime::watcher::{self, Event},
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::{Instant, sleep_until, timeout},
};

use super::{
    execute::{annotate, emit},
    next::next,
    observe::{LABELS, hive, observe},
};
use crate::{
    execute::error::plain,
    step::Requeue,
    watch::{Health, keep},
};

/// How much that happens at once is one look.
const CALM: Duration = Duration::from_secs(1);
/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// When a look failed.
const RETRY: Duration = Duration::from_secs(10);
/// However quiet it is.
const NET: Duration = Duration::from_mins(10);

/// What the loop needs to know.
#[derive(Clone)]
pub struct Options {
    /// The hub.
    pub client: Client,
    /// The namespaces of the pools that are looked after.
    pub namespaces: BTreeSet<String>,
    /// Who this process is.
    pub instance: String,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Namespace and name.
type Key = (String, String);

/// Runs until `stop`; what has begun is finished.
pub async fn run(options: Options, stop: impl Future<Output = ()>) {
    let (sender, happened) = unbounded_channel();
    let watches = async {
        tokio::join!(watch_pools(&options, sender.clone()), watch_clusters(&options, sender.clone()));
    };
    tokio::select! {
        () = watches => {}
        () = looks(&options, happened, stop) => {}
    }
}

async fn watch_pools(options: &Options, sender: UnboundedSender<Key>) {
    let health = Health::new("clusterpools");
    let api: Api<DynamicObject> = Api::all_with(options.client.clone(), &hive("ClusterPool"));
    keep_dynamic(api, &health, |pool| {
        // A namesake elsewhere concerns every pool of the name.
        for namespace in &options.namespaces {
            let _ = sender.send((namespace.clone(), pool.name_any()));
        }
    })
    .await;
}

async fn watch_clusters(options: &Options, sender: UnboundedSender<Key>) {
    let health = Health::new("clusterdeployments");
    let api: Api<DynamicObject> = Api::all_with(options.client.clone(), &hive("ClusterDeployment"));
    keep_dynamic(api, &health, |cluster| {
        let label = |key| cluster.labels().get(key).cloned();
        if let Some(key) = label(LABELS[0]).zip(label(LABELS[1])) {
            let _ = sender.send(key);
        }
    })
    .await;
}

async fn keep_dynamic(api: Api<DynamicObject>, health: &Health, mut on: impl FnMut(&DynamicObject)) {
    keep(api, watcher::Config::default(), health, |event| match event {
        Event::Apply(object) | Event::InitApply(object) | Event::Delete(object) => on(&object),
        Event::Init | Event::InitDone => {}
    })
    .await;
}

/// One look after the other, each when it is due.
async fn looks(options: &Options, mut happened: UnboundedReceiver<Key>, stop: impl Future<Output = ()>) {
    let mut due: BTreeMap<Key, Instant> = BTreeMap::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let first = due.iter().min_by_key(|(_, at)| **at).map(|(key, at)| (key.clone(), *at));
        let at = first.as_ref().map_or_else(|| Instant::now() + NET, |(_, at)| *at);
        tokio::select! {
            () = &mut stop => return,
            key = happened.recv() => {
                let Some(key) = key else { return };
                if options.namespaces.contains(&key.0) {
                    let soon = Instant::now() + CALM;
                    due.entry(key).and_modify(|at| *at = (*at).min(soon)).or_insert(soon);
                }
            }
            () = sleep_until(at) => {
                let Some((key, _)) = first else { continue };
                due.remove(&key);
                if let Some(after) = look(options, &key).await {
                    due.insert(key, Instant::now() + after);
                }
            }
        }
    }
}

/// Looks at a pool: when to do so again. None: when something happens, because it is gone or not ours.
async fn look(options: &Options, (namespace, name): &Key) -> Option<Duration> {
    match timeout(PATIENCE, pass(options, namespace, name)).await {
        Ok(Ok(requeue)) => requeue.map(|requeue| match requeue {
            Requeue::OnChange => NET,
            Requeue::After(after) => after,
            Requeue::Anew => CALM,
        }),
        Ok(Err(error)) => {
            tracing::warn!(namespace, clusterpool = name, error = plain(&error), "a look failed");
            Some(RETRY)
        }
        Err(_) => {
            tracing::warn!(namespace, clusterpool = name, "a look took too long");
            Some(RETRY)
        }
    }
}

async fn pass(options: &Options, namespace: &str, name: &str) -> kube::Result<Option<Requeue>> {
    let Some(observed) = observe(&options.client, namespace, name).await? else { return Ok(None) };
    let now = (options.now)();
    let step = next(&observed.pool, &observed.world, now);
    if let Some(status) = &step.status {
        annotate(&options.client, &observed.object, status).await?;
        tracing::info!(namespace, clusterpool = name, ceiling = ?status.ceiling, "annotated");
    }
    // After the annotation, so that a look that failed before tells of it once.
    for event in &step.events {
        if let Err(error) = emit(&options.client, &observed.object, event, &options.instance, now).await {
            tracing::warn!(namespace, clusterpool = name, error = plain(&error), "an event was not made");
        }
    }
    Ok(Some(step.requeue))
}
