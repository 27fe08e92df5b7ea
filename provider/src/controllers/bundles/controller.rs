//! Controller of bundle requests: maps events to requests, and reconciles each.

use std::{
    collections::{BTreeMap, BTreeSet},
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
use testplatform_apis::bundle::{BundleProgress, CLUSTER};
use testplatform_runtime::{
    controller::{self, Running},
    error::{Cause, Error},
    lookup,
    reconcile::{Action, Reconciler},
    timeout::with_timeout,
    watch::{Health, keep_watching},
    workqueue::{RequestQueue, Settings},
};

use super::{
    metrics::BundleMetrics,
    observe::{ObservedCluster, RequestObserver},
    plan::{BundlePlan, ClusterAccess, is_overdue, plan},
    request::{BundleRequest, REQUEST_KEYS},
    state::{BundleGauge, new_gauge},
};
use crate::{
    config::Clusters,
    credentials::{cluster_object::Cluster, publish::CredentialsNamespace, published_name},
    manifests::requests::{EventPublisher, RequestWatch},
};

/// Requests that wait for a cluster do not delay requests for another.
const SETTINGS: Settings = Settings::uncached("bundles", 16);
/// Time until a report that could not be copied is copied again.
pub(super) const COPY_RETRY: Duration = Duration::from_secs(30);
/// How long a look in a cluster may go on beginning calls.
pub(super) const LOOK: Duration = Duration::from_mins(1);

/// Options of the controller.
pub type Options = controller::Options<Clusters>;

/// State of the controller.
pub(super) struct BundleController {
    pub(super) client: Client,
    pub(super) observer: RequestObserver,
    pub(super) patience: Duration,
    pub(super) now: fn() -> Timestamp,
    pub(super) metrics: Arc<BundleMetrics>,
    pub(super) teller: EventPublisher,
    pub(super) namespaces: BTreeSet<String>,
    pub(super) gauge: Arc<BundleGauge>,
    pub(super) queue: RequestQueue<String>,
    pub(super) requests: RequestWatch,
    /// The Secret that is published for the cluster of an order.
    pub(super) secrets: Mutex<BTreeMap<String, String>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<BundleMetrics>, stop: Running) -> Running {
    Box::pin(async move { controller::run(&BundleController::new(options, metrics), stop).await })
}

/// A request, and its cluster.
pub(super) struct ObservedBundles {
    maps: Api<ConfigMap>,
    stored: ConfigMap,
    map: BundleRequest,
    access: ClusterAccess,
    object: Option<(Api<Cluster>, Cluster)>,
}

impl Reconciler for BundleController {
    type Key = String;
    type Observed = ObservedBundles;
    type Plan = BundlePlan;
    type Error = Error;

    fn kind(&self, _key: &Self::Key) -> &'static str {
        "ConfigMap"
    }

    fn uid<'o>(&self, observed: &'o ObservedBundles) -> Option<&'o str> {
        observed.stored.metadata.uid.as_deref()
    }

    fn request_queue(&self) -> &RequestQueue<String> {
        &self.queue
    }

    async fn watch(&self) {
        let Some((published, watches)) = self.gauge.health.split_first() else { return };
        let requests = self.namespaces.iter().zip(watches);
        let requests = requests.map(|(namespace, health)| {
            let client = self.client.clone();
            self.requests.watch(client, namespace, health, &self.queue, |key| self.forget_request(key))
        });
        tokio::join!(join_all(requests), self.watch_published(published));
    }

    async fn observe(&self, key: &String, _bypass_caches: bool) -> Result<Option<ObservedBundles>, Error> {
        if !self.requests.contains(key) {
            return Ok(None);
        }
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let get = async { lookup::get_opt(&maps, name).await.map_err(Cause::from) };
        let Some(stored) = with_timeout("get_bundles", self.patience, get).await? else { return Ok(None) };
        let map = BundleRequest::from_config_map(&stored);
        let ObservedCluster { access, object } = self.observe_cluster(key, namespace, &map).await?;
        Ok(Some(ObservedBundles { maps, stored, map, access, object }))
    }

    fn is_cached(&self, key: &String) -> bool {
        self.requests.contains(key)
    }

    fn plan(&self, observed: &ObservedBundles) -> BundlePlan {
        plan(&observed.map, &observed.access, None, (self.now)())
    }

    async fn execute(
        &self,
        key: &String,
        observed: ObservedBundles,
        mut step: BundlePlan,
    ) -> Result<Action, Error> {
        let ObservedBundles { maps, stored, map, access, object } = observed;
        if let BundlePlan::Apply(work) = step {
            let progress = self.apply_planned(&map, &access, work).await;
            step = plan(&map, &access, Some(&progress), (self.now)());
        }
        let cluster = map.cluster.as_deref();
        let after = match step {
            BundlePlan::Apply(_) | BundlePlan::AwaitChange => {
                self.record_state(key, map.report.state);
                self.copy_report(key, &map.report, cluster, object).await
            }
            BundlePlan::RequeueAfter(after) => {
                self.record_state(key, map.report.state);
                let retry = self.copy_report(key, &map.report, cluster, object).await;
                Some(retry.map_or(after, |retry| retry.min(after)))
            }
            BundlePlan::WriteStatus(note, after) => {
                let annotation = note.cluster.as_deref().map(|uid| (CLUSTER, uid.into()));
                let written =
                    REQUEST_KEYS.write(&maps, &stored, &note.report, annotation, note.add_finalizer);
                with_timeout("write_bundles", self.patience, written).await?;
                self.record_state(key, note.report.state);
                self.emit_changes(key, &stored, &map.report, &note).await;
                let retry =
                    self.copy_report(key, &note.report, note.cluster.as_deref().or(cluster), object).await;
                Some(retry.map_or(after, |retry| retry.min(after)))
            }
            BundlePlan::Release(how) => {
                with_timeout("release_bundles", self.patience, REQUEST_KEYS.release(&maps, &stored)).await?;
                self.record_release(key, &stored, &map.report, how).await;
                None
            }
        };
        Ok(after.into())
    }

    /// The object may be deleted meanwhile, and nothing would forget it then.
    fn forget_deleted(&self, key: &String) {
        if !self.requests.contains(key) {
            self.forget_request(key);
        }
    }
}

impl BundleController {
    fn new(options: Options, metrics: Arc<BundleMetrics>) -> Self {
        let Options { client, config, request_timeout: patience, instance, now, .. } = options;
        let namespaces = config.namespaces();
        let gauge = Arc::new(new_gauge(namespaces.len()));
        metrics.attach_bundles(&gauge);
        let vault = CredentialsNamespace::new(client.clone(), &config.credentials_namespace);
        let teller = EventPublisher {
            client: client.clone(),
            patience,
            instance,
            metrics: metrics.runtime_metrics().clone(),
        };
        Self {
            client,
            observer: RequestObserver { credentials_namespace: vault, config, request_timeout: patience },
            patience,
            now,
            teller,
            namespaces,
            gauge,
            queue: RequestQueue::new(SETTINGS, metrics.runtime_metrics()),
            requests: RequestWatch::new(REQUEST_KEYS),
            secrets: Mutex::default(),
            metrics,
        }
    }

    /// Watches published Secrets: a request may wait for one.
    async fn watch_published(&self, health: &Health) {
        let secrets = self.observer.credentials_namespace.secrets_metadata();
        keep_watching(secrets, watcher::Config::default(), health, |event| {
            if let Event::Apply(secret) = event {
                let name = secret.name_any();
                for (key, _) in lock(&self.secrets).iter().filter(|(_, waits_for)| **waits_for == name) {
                    self.queue.push(key.as_str());
                }
            }
        })
        .await;
    }

    fn forget_request(&self, key: &str) {
        lock(&self.secrets).remove(key);
        self.gauge.record(key, None);
    }

    fn record_state(&self, key: &str, state: Option<BundleProgress>) {
        if self.requests.contains(key) {
            self.gauge.record(key, Some(state.into()));
        }
    }

    async fn observe_cluster(
        &self,
        key: &str,
        namespace: &str,
        map: &BundleRequest,
    ) -> Result<ObservedCluster, Error> {
        let Ok(order) = &map.order else {
            return Ok(ObservedCluster::without_object(ClusterAccess::Unknown));
        };
        self.waits_for(key, order.cluster.name.as_str());
        match self.observer.observe_cluster(namespace, order).await {
            // Even with an unreadable cluster, the finalizer holds the request no longer than the time of its pre-delete bundles.
            Err(Error { action, reason, message }) if is_overdue(map, (self.now)()) => {
                self.metrics.runtime_metrics().failed(action, reason.as_str());
                tracing::warn!(order = key, action, error = message, "released without reading its cluster");
                let why = "the hub does not allow the cluster to be read";
                Ok(ObservedCluster::without_object(ClusterAccess::Unreachable(why)))
            }
            access => access,
        }
    }

    fn waits_for(&self, key: &str, cluster: &str) {
        let secret = published_name(cluster);
        let mut secrets = lock(&self.secrets);
        if secrets.get(key) != Some(&secret) {
            secrets.insert(key.to_owned(), secret);
        }
    }
}
