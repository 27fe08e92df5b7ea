//! Controller of bundle requests: maps events to requests, and reconciles each.

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
use testplatform_apis::bundle::{BundleProgress, BundleReport, CLUSTER, REPORT};
use testplatform_runtime::{
    error::{Cause, Error, Reason},
    lookup,
    running::Running,
    timeout::with_timeout,
    watch::{Health, keep_watching},
    workqueue::{Action, Concurrency, DEBOUNCE, run_queue},
};
use tokio::{
    sync::mpsc::{UnboundedSender, unbounded_channel},
    time::Instant,
};

use super::{
    metrics::{BundleMetrics, BundleOutcome},
    observe::{ObservedCluster, RequestObserver},
    plan::{BundlePlan, BundleRange, BundleRelease, ClusterAccess, StatusUpdate, is_overdue, plan},
    request::{BundleRequest, REQUEST_KEYS},
    state::{BundleGauge, new_gauge},
};
use crate::{
    config::Clusters,
    credentials::{
        cluster_object::Cluster,
        publish::{CredentialsNamespace, write::write_own_annotation},
        published_name,
    },
    manifests::{
        apply::{ApplyErrorReason, ApplyProgress, PendingObject, apply_bundles},
        guest_cluster,
        requests::{EventPublisher, RequestWatch},
    },
};

/// Requests that wait for a cluster do not delay requests for another.
const PACE: Concurrency = Concurrency { max_concurrent_reconciles: 16, debounce: DEBOUNCE };
/// Time until a report that could not be copied is copied again.
const COPY_RETRY: Duration = Duration::from_secs(30);
/// How long a look in a cluster may go on beginning calls.
const LOOK: Duration = Duration::from_mins(1);

/// Options of the controller.
#[derive(Clone)]
pub struct Options {
    /// The hub.
    pub client: Client,
    /// Of which clusters, and where their credentials are published.
    pub config: Clusters,
    /// How long one call to the hub may take.
    pub patience: Duration,
    /// Identity of this process in events.
    pub instance: String,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// State of the controller.
struct BundleController {
    client: Client,
    observer: RequestObserver,
    patience: Duration,
    now: fn() -> Timestamp,
    metrics: Arc<BundleMetrics>,
    teller: EventPublisher,
    gauge: Arc<BundleGauge>,
    requests: RequestWatch,
    /// The Secret that is published for the cluster of an order.
    secrets: Mutex<BTreeMap<String, String>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<BundleMetrics>, stop: Running) -> Running {
    Box::pin(run_until(options, metrics, stop))
}

async fn run_until(options: Options, metrics: Arc<BundleMetrics>, stop: Running) {
    let Options { client, config, patience, instance, now } = options;
    let namespaces = config.namespaces();
    let states = Arc::new(new_gauge(namespaces.len()));
    metrics.attach_bundles(&states);
    let vault = CredentialsNamespace::new(client.clone(), &config.credentials_namespace);
    let controller = BundleController {
        client: client.clone(),
        observer: RequestObserver { credentials_namespace: vault, config, request_timeout: patience },
        patience,
        now,
        teller: EventPublisher { client, patience, instance, metrics: metrics.runtime().clone() },
        metrics,
        gauge: Arc::clone(&states),
        requests: RequestWatch::new(REQUEST_KEYS),
        secrets: Mutex::default(),
    };
    let (sender, happened) = unbounded_channel();
    let Some((published, watches)) = states.health.split_first() else { return };
    let orders = namespaces
        .iter()
        .zip(watches)
        .map(|(namespace, health)| controller.watch_requests(namespace, health, sender.clone()));
    let watching = async { tokio::join!(join_all(orders), controller.watch_published(published, &sender)) };
    let looking = run_queue(
        happened,
        PACE,
        controller.metrics.runtime(),
        async |key: String| controller.reconcile(&key).await,
        stop,
    );
    tokio::select! {
        _ = watching => {}
        () = looking => {}
    }
}

impl BundleController {
    async fn watch_requests(&self, namespace: &str, health: &Health, sender: UnboundedSender<String>) {
        let client = self.client.clone();
        self.requests.watch(client, namespace, health, sender, |key| self.forget_request(key)).await;
    }

    /// Watches published Secrets: a request may wait for one.
    async fn watch_published(&self, health: &Health, sender: &UnboundedSender<String>) {
        let secrets = self.observer.credentials_namespace.secrets_metadata();
        keep_watching(secrets, watcher::Config::default(), health, |event| {
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

    fn forget_request(&self, key: &str) {
        lock(&self.secrets).remove(key);
        self.gauge.record(key, None);
    }

    /// Reconciles a request, and returns the next action.
    async fn reconcile(&self, key: &str) -> Action {
        if !self.requests.contains(key) {
            return Action::AwaitChange;
        }
        let passed = self.reconcile_request(key).await;
        // The object may be deleted meanwhile, and nothing would forget it then.
        if !self.requests.contains(key) {
            self.forget_request(key);
        }
        match passed {
            Ok(after) => after.into(),
            // It is not as it was when it was read.
            Err(Error { reason: Reason::Conflict, .. }) => Action::RequeueAfter(DEBOUNCE),
            Err(Error { action, reason, message }) => {
                self.metrics.runtime().failed(action, reason.as_str());
                tracing::warn!(order = key, action, error = message, "bundles could not be looked after");
                Action::Failed
            }
        }
    }

    async fn reconcile_request(&self, key: &str) -> Result<Option<Duration>, Error> {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let get = async { lookup::get_opt(&maps, name).await.map_err(Cause::from) };
        let Some(stored) = with_timeout("get_bundles", self.patience, get).await? else { return Ok(None) };
        let map = BundleRequest::from_config_map(&stored);
        let ObservedCluster { access, object } = match &map.order {
            Ok(order) => {
                self.waits_for(key, order.cluster.name.as_str());
                match self.observer.observe_cluster(namespace, order).await {
                    // Even with an unreadable cluster, the finalizer holds the request no longer than the time of its pre-delete bundles.
                    Err(Error { action, reason, message }) if is_overdue(&map, (self.now)()) => {
                        self.metrics.runtime().failed(action, reason.as_str());
                        tracing::warn!(
                            order = key,
                            action,
                            error = message,
                            "let go without a look at its cluster"
                        );
                        let why = "the hub does not let the cluster be looked at";
                        ObservedCluster::without_object(ClusterAccess::Unreachable(why))
                    }
                    access => access?,
                }
            }
            Err(_) => ObservedCluster::without_object(ClusterAccess::Unknown),
        };
        let mut step = plan(&map, &access, None, (self.now)());
        if let BundlePlan::Apply(work) = step {
            let progress = self.apply_planned(&map, &access, work).await;
            step = plan(&map, &access, Some(&progress), (self.now)());
        }
        let record_state = |state: Option<BundleProgress>| {
            if self.requests.contains(key) {
                self.gauge.record(key, Some(state.into()));
            }
        };
        match step {
            BundlePlan::Apply(_) | BundlePlan::AwaitChange => {
                record_state(map.report.state);
                Ok(self.copy_report(key, &map.report, map.cluster.as_deref(), object).await)
            }
            BundlePlan::RequeueAfter(after) => {
                record_state(map.report.state);
                let retry = self.copy_report(key, &map.report, map.cluster.as_deref(), object).await;
                Ok(Some(retry.map_or(after, |retry| retry.min(after))))
            }
            BundlePlan::WriteStatus(note, after) => {
                let cluster = note.cluster.as_deref().map(|uid| (CLUSTER, uid.into()));
                let written = REQUEST_KEYS.write(&maps, &stored, &note.report, cluster, note.add_finalizer);
                with_timeout("write_bundles", self.patience, written).await?;
                record_state(note.report.state);
                self.emit_changes(key, &stored, &map.report, &note).await;
                let cluster = note.cluster.as_deref().or(map.cluster.as_deref());
                let retry = self.copy_report(key, &note.report, cluster, object).await;
                Ok(Some(retry.map_or(after, |retry| retry.min(after))))
            }
            BundlePlan::Release(how) => {
                with_timeout("release_bundles", self.patience, REQUEST_KEYS.release(&maps, &stored)).await?;
                self.record_release(key, &stored, &map.report, how).await;
                Ok(None)
            }
        }
    }

    /// Copies the report to the cluster's object, which provider-kubernetes watches. `cluster` is the uid for which the work began. Returns when
    /// to try again. The ConfigMap has the report, so a failure delays the function only, and must not repeat the work in the cluster.
    async fn copy_report(
        &self,
        key: &str,
        report: &BundleReport,
        cluster: Option<&str>,
        object: Option<(Api<Cluster>, Cluster)>,
    ) -> Option<Duration> {
        let (api, object) = object.filter(|(_, object)| cluster == Some(object.uid()))?;
        report.state?;
        let write = async {
            let text = serde_json::to_string(report)
                .map_err(|_| Cause::new(Reason::Bug, "a report cannot be written"))?;
            write_own_annotation(&api, &object.metadata, (REPORT, text)).await
        };
        let Error { action, reason, message } =
            with_timeout("copy_bundles_report", self.patience, write).await.err()?;
        self.metrics.runtime().failed(action, reason.as_str());
        tracing::warn!(
            order = key,
            action,
            error = message,
            "the report was not copied to the cluster's object"
        );
        Some(COPY_RETRY)
    }

    async fn apply_planned(
        &self,
        map: &BundleRequest,
        access: &ClusterAccess,
        BundleRange { list, from }: BundleRange,
    ) -> ApplyProgress {
        let (Ok(order), ClusterAccess::Reachable { admin, .. }) = (&map.order, access) else {
            // It is only called in that case.
            return ApplyProgress::At(
                from,
                PendingObject::of(ApplyErrorReason::NotPublished, "nothing is published"),
            );
        };
        match guest_cluster::connect(admin).await {
            Ok(cluster) => apply_bundles(list.bundles_of(order), from, &cluster, Instant::now() + LOOK).await,
            Err(why) => ApplyProgress::At(from, PendingObject { object: None, why }),
        }
    }

    fn waits_for(&self, key: &str, cluster: &str) {
        let secret = published_name(cluster);
        let mut secrets = lock(&self.secrets);
        if secrets.get(key) != Some(&secret) {
            secrets.insert(key.to_owned(), secret);
        }
    }

    /// Emits events about changes: once, because the state is recorded.
    async fn emit_changes(&self, key: &str, map: &ConfigMap, before: &BundleReport, note: &StatusUpdate) {
        let now = &note.report;
        let (bundle, object) = (now.bundle.as_deref(), now.object.as_deref());
        let (reason, message) = (now.reason.as_deref(), now.message.as_deref());
        tracing::info!(order = key, state = ?now.state, bundle, object, reason, message, "told");
        let passed = before.bundle.is_some() && now.bundle != before.bundle;
        if let Some(since) =
            before.since.filter(|_| passed && now.state != Some(BundleProgress::BeforeDeletion))
        {
            self.metrics.bundle_took((self.now)().duration_since(since));
        }
        if before.state == now.state {
            return;
        }
        let what = [bundle, object, reason, message].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let event = match now.state {
            Some(BundleProgress::Applied) => {
                (BundleOutcome::Applied, "all that belongs into the cluster is there".to_owned())
            }
            Some(BundleProgress::SetupFailed) => (BundleOutcome::Failed, what),
            Some(BundleProgress::Running | BundleProgress::BeforeDeletion) | None => return,
        };
        self.publish_event(key, map, event.0, event.1).await;
    }

    async fn record_release(&self, key: &str, map: &ConfigMap, before: &BundleReport, how: BundleRelease) {
        let bundle = before.bundle.as_deref().unwrap_or_default();
        let (outcome, text) = match how {
            BundleRelease::Done => {
                (BundleOutcome::Released, "all that comes before the deletion is done".to_owned())
            }
            BundleRelease::NotNeeded => (
                BundleOutcome::Released,
                "the cluster is gone or goes by itself; nothing is done before".to_owned(),
            ),
            BundleRelease::GivenUp => {
                let why = before.message.as_deref().unwrap_or("it was not ready in time");
                (BundleOutcome::GivenUp, format!("{bundle}: {why}; the cluster is deleted all the same"))
            }
        };
        tracing::info!(order = key, ?how, "let go");
        self.publish_event(key, map, outcome, text).await;
    }

    async fn publish_event(&self, key: &str, map: &ConfigMap, outcome: BundleOutcome, note: String) {
        self.metrics.bundles_came_to(outcome);
        let event = testplatform_runtime::event::Event {
            warning: outcome.is_warning(),
            reason: outcome.as_str().into(),
            note,
        };
        self.teller.publish_event(key, map, &event, (self.now)()).await;
    }
}
