//! The loop over orders: what happened, which order that concerns, and a look at it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt as _,
    runtime::watcher::{self, Event},
};
use testplatform_apis::bundle::{CLUSTER, Report, State};
use tokio::{
    sync::mpsc::{UnboundedSender, unbounded_channel},
    time::Instant,
};

use super::{
    apply::{Looked, Stop, carry_out},
    inside,
    map::{MARKS, Map},
    next::{Here, Note, Release, Step, Work, is_overdue, next},
    observe::Observer,
    seen::{Seen, seen},
};
use crate::{
    config::Clusters,
    ephemeral_cluster::credentials::published_name,
    execute::{Cause, Error, Reason, limited},
    looks::{CALM, Next, Pace, looks},
    metrics::{Metrics, bundles::Outcome},
    named,
    orders::{Orders, Teller},
    publish::Vault,
    running::Running,
    step,
    watch::{Health, keep},
};

/// How many looks at once: those that wait for a cluster keep nobody waiting for another.
const PACE: Pace = Pace { at_once: 16, calm: CALM };
/// How long a look in a cluster may go on beginning calls.
const LOOK: Duration = Duration::from_mins(1);

/// What the loop needs to know.
#[derive(Clone)]
pub struct Options {
    /// The hub.
    pub client: Client,
    /// Of which clusters, and where their credentials are published.
    pub config: Clusters,
    /// How long one call to the hub may take.
    pub patience: Duration,
    /// Who this process is, in events.
    pub instance: String,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// What the loop works with.
struct Controller {
    client: Client,
    observer: Observer,
    patience: Duration,
    now: fn() -> Timestamp,
    metrics: Metrics,
    teller: Teller,
    seen: Arc<Seen>,
    orders: Orders,
    /// The Secret that is published for the cluster of an order.
    secrets: Mutex<BTreeMap<String, String>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Metrics, stop: Running) -> Running {
    Box::pin(until(options, metrics, stop))
}

async fn until(options: Options, metrics: Metrics, stop: Running) {
    let Options { client, config, patience, instance, now } = options;
    let namespaces = config.namespaces();
    let seen = Arc::new(seen(namespaces.len()));
    metrics.attach_bundles(&seen);
    let vault = Vault::new(client.clone(), &config.credentials_namespace);
    let controller = Controller {
        client: client.clone(),
        observer: Observer { vault, config, patience },
        patience,
        now,
        metrics: metrics.clone(),
        teller: Teller { client, patience, instance, metrics },
        seen: Arc::clone(&seen),
        orders: Orders::new(MARKS),
        secrets: Mutex::default(),
    };
    let (sender, happened) = unbounded_channel();
    let Some((published, watches)) = seen.health.split_first() else { return };
    let orders = namespaces
        .iter()
        .zip(watches)
        .map(|(namespace, health)| controller.watch(namespace, health, sender.clone()));
    let watching = async { tokio::join!(join_all(orders), controller.watch_published(published, &sender)) };
    let looking =
        looks(happened, PACE, &controller.metrics, async |key: String| controller.look(&key).await, stop);
    tokio::select! {
        _ = watching => {}
        () = looking => {}
    }
}

impl Controller {
    async fn watch(&self, namespace: &str, health: &Health, sender: UnboundedSender<String>) {
        let client = self.client.clone();
        self.orders.watch(client, namespace, health, sender, |key| self.forget(key)).await;
    }

    /// What is published, by its names: an order may wait for it.
    async fn watch_published(&self, health: &Health, sender: &UnboundedSender<String>) {
        let secrets = self.observer.vault.secrets_metadata();
        keep(secrets, watcher::Config::default(), health, |event| {
            if let Event::Apply(secret) = event {
                let name = secret.name_any();
                for (key, waits_for) in lock(&self.secrets).iter() {
                    if *waits_for == name {
                        let _ = sender.send(key.clone());
                    }
                }
            }
        })
        .await;
    }

    fn forget(&self, key: &str) {
        lock(&self.secrets).remove(key);
        self.seen.saw(key, None);
    }

    /// Looks at an order, and says when to do so again.
    async fn look(&self, key: &str) -> Next {
        if !self.orders.knows(key) {
            return Next::Rest;
        }
        let passed = self.pass(key).await;
        // It may have gone meanwhile, and nobody would forget it then.
        if !self.orders.knows(key) {
            self.forget(key);
        }
        match passed {
            Ok(after) => after.into(),
            // It is not as it was when it was read.
            Err(Error { reason: Reason::Conflict, .. }) => Next::After(CALM),
            Err(Error { action, reason, message }) => {
                self.metrics.failed(action, reason.as_str());
                tracing::warn!(order = key, action, error = message, "bundles could not be looked after");
                Next::Failed
            }
        }
    }

    async fn pass(&self, key: &str) -> Result<Option<Duration>, Error> {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let get = async { named::find(&maps, name).await.map_err(Cause::from) };
        let Some(stored) = limited("get_bundles", self.patience, get).await? else { return Ok(None) };
        let map = Map::read(&stored);
        let here = match &map.order {
            Ok(order) => {
                self.waits_for(key, order.cluster.name.as_str());
                match self.observer.here(namespace, order).await {
                    // Whatever hides it, it is held no longer than what comes before its end may take.
                    Err(Error { action, reason, message }) if is_overdue(&map, (self.now)()) => {
                        self.metrics.failed(action, reason.as_str());
                        tracing::warn!(
                            order = key,
                            action,
                            error = message,
                            "let go without a look at its cluster"
                        );
                        Here::Closed("the hub does not let the cluster be looked at")
                    }
                    here => here?,
                }
            }
            Err(_) => Here::Unknown,
        };
        let mut step = next(&map, &here, None, (self.now)());
        if let Step::Apply(work) = step {
            let looked = self.apply(&map, &here, work).await;
            step = next(&map, &here, Some(&looked), (self.now)());
        }
        let stands = |state: Option<State>| {
            if self.orders.knows(key) {
                self.seen.saw(key, Some(state.into()));
            }
        };
        match step {
            Step::Apply(_) | Step::Rest => {
                stands(map.report.state);
                Ok(None)
            }
            Step::Later(after) => {
                stands(map.report.state);
                Ok(Some(after))
            }
            Step::Write(note, after) => {
                let cluster = note.cluster.as_deref().map(|uid| (CLUSTER, uid.into()));
                let written = MARKS.write(&maps, &stored, &note.report, cluster, note.hold);
                limited("write_bundles", self.patience, written).await?;
                stands(note.report.state);
                self.said(key, &stored, &map.report, &note).await;
                Ok(Some(after))
            }
            Step::Release(how) => {
                limited("release_bundles", self.patience, MARKS.release(&maps, &stored)).await?;
                self.released(key, &stored, &map.report, how).await;
                Ok(None)
            }
        }
    }

    async fn apply(&self, map: &Map, here: &Here, Work { list, from }: Work) -> Looked {
        let (Ok(order), Here::Open { admin, .. }) = (&map.order, here) else {
            // It is asked for of nothing else.
            return Looked::At(from, Stop::of(super::apply::Why::NotPublished, "nothing is published"));
        };
        match inside::open(admin).await {
            Ok(cluster) => carry_out(list.of(order), from, &cluster, Instant::now() + LOOK).await,
            Err(why) => Looked::At(from, Stop { object: None, why }),
        }
    }

    fn waits_for(&self, key: &str, cluster: &str) {
        let secret = published_name(cluster);
        let mut secrets = lock(&self.secrets);
        if secrets.get(key) != Some(&secret) {
            secrets.insert(key.to_owned(), secret);
        }
    }

    /// Tells of what has changed: once, because it is written down.
    async fn said(&self, key: &str, map: &ConfigMap, before: &Report, note: &Note) {
        let now = &note.report;
        let (bundle, object) = (now.bundle.as_deref(), now.object.as_deref());
        let (reason, message) = (now.reason.as_deref(), now.message.as_deref());
        tracing::info!(order = key, state = ?now.state, bundle, object, reason, message, "told");
        let passed = before.bundle.is_some() && now.bundle != before.bundle;
        if let Some(since) = before.since.filter(|_| passed && now.state != Some(State::BeforeDeletion)) {
            self.metrics.bundle_took((self.now)().duration_since(since));
        }
        if before.state == now.state {
            return;
        }
        let what = [bundle, object, reason, message].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let told = match now.state {
            Some(State::Applied) => {
                (Outcome::Applied, "all that belongs into the cluster is there".to_owned())
            }
            Some(State::SetupFailed) => (Outcome::Failed, what),
            Some(State::Running | State::BeforeDeletion) | None => return,
        };
        self.tell(key, map, told.0, told.1).await;
    }

    async fn released(&self, key: &str, map: &ConfigMap, before: &Report, how: Release) {
        let bundle = before.bundle.as_deref().unwrap_or_default();
        let (outcome, text) = match how {
            Release::Done => (Outcome::Released, "all that comes before the deletion is done".to_owned()),
            Release::Needless => (
                Outcome::Released,
                "the cluster is gone or goes by itself; nothing is done before".to_owned(),
            ),
            Release::GivenUp => {
                let why = before.message.as_deref().unwrap_or("it was not ready in time");
                (Outcome::GivenUp, format!("{bundle}: {why}; the cluster is deleted all the same"))
            }
        };
        tracing::info!(order = key, ?how, "let go");
        self.tell(key, map, outcome, text).await;
    }

    async fn tell(&self, key: &str, map: &ConfigMap, outcome: Outcome, note: String) {
        self.metrics.bundles_came_to(outcome);
        let event = step::Event { warning: outcome.is_warning(), reason: outcome.as_str().into(), note };
        self.teller.tell(key, map, &event, (self.now)()).await;
    }
}
