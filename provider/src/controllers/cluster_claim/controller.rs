//! Controller of ClusterClaims, next to the one of EphemeralClusters: maps events to claims, and reconciles each.
//!
//! ```text
//! watches ──▶ caches ──▶ queue ──▶ observe ──▶ next ──▶ execute
//! ```
//!
//! A second loop checks published Secrets whose claim may be gone: no owner reference crosses namespaces.

mod feed;
mod reconcile;

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use jiff::Timestamp;
use kube::{
    Api, Resource,
    api::{DynamicObject, ListParams},
    runtime::reflector::ObjectRef,
};
use serde::de::DeserializeOwned;
use testplatform_runtime::{
    error::is_not_found,
    queue::{Queue, Receiver, requests},
    running::Running,
    scheduler::{WORKERS, run_reconciler, until_stopped, work_until},
    watch::Health,
};
use tokio::time::{sleep, timeout};

use super::{
    caches::{ClaimCaches, ClaimWriters},
    execute::ClaimExecutor,
    hub::ClaimHub,
    metrics::ClaimMetrics,
    object::ClusterClaim,
    observe::ClaimObserver,
    observed_state::ClaimSettings,
};
use crate::credentials::{account::guest_limiter::GuestLimiter, secret::SecretMeta};

/// Number of Secrets that are reconciled concurrently.
const CONCURRENCY_OF_ORPHANS: u16 = 2;
/// How often it is asked whether the hub has Hive by now.
const ABSENT: Duration = Duration::from_secs(30);

/// Options of the controller.
#[derive(Clone)]
pub struct Options {
    /// Where.
    pub hub: ClaimHub,
    /// Durations.
    pub settings: ClaimSettings,
    /// How long one call may take.
    pub patience: Duration,
    /// Identity of this process.
    pub instance: String,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Everything that the loops share.
pub struct ClaimController {
    hub: ClaimHub,
    caches: Arc<ClaimCaches>,
    observer: ClaimObserver,
    executor: ClaimExecutor,
    queue: Queue,
    orphans: Queue,
    metrics: Arc<ClaimMetrics>,
    /// Of the watches.
    health: [Health; 4],
    now: fn() -> Timestamp,
}

/// The ends that the loops read from.
struct ClaimInlets {
    claims: Receiver,
    orphans: Receiver,
    writers: ClaimWriters,
}

/// Runs until `stop` and finishes started reconciles. On a hub without Hive it waits for Hive, and disturbs nothing.
pub fn run(options: Options, metrics: Arc<ClaimMetrics>, stop: Running) -> Running {
    Box::pin(run_until(options, metrics, stop))
}

async fn run_until(options: Options, metrics: Arc<ClaimMetrics>, stop: Running) {
    let mut stop = std::pin::pin!(stop);
    tokio::select! {
        () = &mut stop => return,
        () = until_served(&options) => {}
    }
    let (controller, inlets) = ClaimController::new(options, metrics);
    let controller = Arc::new(controller);
    controller.metrics.attach_claims(&controller);
    Box::pin(controller.run(inlets, stop)).await;
}

/// Waits until the hub serves Hive's kinds. Logged once; the watches report all other errors.
async fn until_served(options: &Options) {
    let hub = &options.hub;
    let mut warned = false;
    loop {
        let absent = is_absent(hub.all_claims(), options.patience).await
            || is_absent(hub.all_pools(), options.patience).await
            || is_absent(hub.all_deployments(), options.patience).await;
        if !absent {
            return;
        }
        if !warned {
            tracing::warn!(
                "this hub has no ClusterClaims, ClusterPools and ClusterDeployments of {}: nothing is done about them until it has",
                super::object::GROUP
            );
            warned = true;
        }
        sleep(ABSENT).await;
    }
}

async fn is_absent<K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug>(
    api: Api<K>,
    patience: Duration,
) -> bool {
    let one = ListParams::default().limit(1);
    matches!(timeout(patience, api.list_metadata(&one)).await, Ok(Err(error)) if is_not_found(&error))
}

/// By what a claim is known in queues.
fn claim_key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// The claim of a key.
fn object_ref(key: &str) -> ObjectRef<ClusterClaim> {
    let (namespace, name) = key.split_once('/').unwrap_or_default();
    ObjectRef::new(name).within(namespace)
}

impl ClaimController {
    fn new(options: Options, metrics: Arc<ClaimMetrics>) -> (Self, ClaimInlets) {
        let Options { hub, settings, patience, instance, now } = options;
        let (caches, writers) = ClaimCaches::new(hub.credentials_namespace().namespace());
        let caches = Arc::new(caches);
        let (queue, claims) = Queue::new();
        let (orphans, orphan_requests) = Queue::new();
        let callers = GuestLimiter::default();
        let executor = ClaimExecutor { hub: hub.clone(), instance, patience, callers: callers.clone(), now };
        let observer =
            ClaimObserver { hub: hub.clone(), caches: Arc::clone(&caches), settings, patience, callers };
        let health =
            ["clusterclaims", "clusterpools", "clusterdeployments", "clusterclaim-secrets"].map(Health::new);
        let inlets = ClaimInlets { claims, orphans: orphan_requests, writers };
        (Self { hub, caches, observer, executor, queue, orphans, metrics, health, now }, inlets)
    }

    async fn run(self: &Arc<Self>, inlets: ClaimInlets, stop: impl Future<Output = ()>) {
        let ClaimInlets { claims, orphans, writers } = inlets;
        let work = async |stopped: tokio::sync::watch::Receiver<()>| {
            self.wait_for_caches().await;
            let name_of = |deleted: &ObjectRef<DynamicObject>| {
                claim_key(deleted.namespace.as_deref().unwrap_or_default(), &deleted.name)
            };
            let looks = run_reconciler(
                self,
                self.caches.claims.clone(),
                requests(claims, object_ref).take_until(Box::pin(until_stopped(stopped.clone()))),
                WORKERS,
                |claim, controller| Box::pin(async move { controller.reconcile_claim(claim).await }),
                |deleted| self.queue.forget(&name_of(deleted)),
            );
            let namespace = self.hub.credentials_namespace().namespace().to_owned();
            let sweeps = run_reconciler(
                self,
                self.caches.secrets.clone(),
                requests(orphans, move |name: &str| ObjectRef::<SecretMeta>::new(name).within(&namespace))
                    .take_until(Box::pin(until_stopped(stopped))),
                CONCURRENCY_OF_ORPHANS,
                |secret, controller| Box::pin(async move { controller.reconcile_secret(secret).await }),
                |deleted| self.orphans.forget(&deleted.name),
            );
            tokio::join!(looks, sweeps);
            self.observer.callers.wait_idle().await;
        };
        work_until(stop, self.feed_caches(writers), || self.has_begun(), work).await;
    }

    /// Waits until every cache is filled.
    async fn wait_for_caches(&self) {
        while !self.has_begun() {
            sleep(Duration::from_millis(20)).await;
        }
        tracing::info!(
            clusterclaims = self.caches.claims.len(),
            clusterpools = self.caches.pools.len(),
            clusterdeployments = self.caches.deployments.len(),
            "caches of Hive are filled"
        );
    }

    fn has_begun(&self) -> bool {
        self.health.iter().all(Health::listed)
    }

    /// The caches.
    pub fn caches(&self) -> &ClaimCaches {
        &self.caches
    }

    /// The watches.
    pub fn health(&self) -> &[Health] {
        &self.health
    }

    /// The queues and what they hold.
    pub fn queues(&self) -> [(&'static str, &Queue); 2] {
        [("clusterclaims", &self.queue), ("clusterclaim-orphans", &self.orphans)]
    }
}
