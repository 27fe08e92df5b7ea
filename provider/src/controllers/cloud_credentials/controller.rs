//! Controller of bundle requests: maps events to requests, and reconciles each.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt as _,
    core::PartialObjectMeta,
    runtime::watcher::{self, Event},
};
use testplatform_apis::{
    cloud::{CloudCredentialReport, LABEL, secret_name},
    names::ObjectName,
    template::Backend,
};
use testplatform_runtime::{
    controller::{self, Running},
    error::Error,
    reconcile::{Action, Reconciler},
    watch::{Health, keep_watching, track},
    workqueue::{RequestQueue, Retry, Settings},
};

use super::{
    execute::Worker,
    gauge::{CredentialGauge, new_gauge},
    metrics::CredentialMetrics,
    plan::{CredentialStep, ObservedCredential, StepResults, next_step},
    reconcile::{PassOutcome, reconcile_credential},
};
use crate::{
    config::Clusters,
    credentials::cluster_lookup::{api, resource},
    manifests::requests::EventPublisher,
};

/// Requeue delay when the steps of one reconcile did not suffice. A pending dependency is no reason to hurry.
pub(super) const RETRY: Duration = Duration::from_secs(5);
/// The backend whose clusters have cloud credentials. A request names a cluster without its kind, so there can be one.
pub(super) const BACKEND: Backend = find_backend();
/// Requests that wait for an identity service do not delay requests for another.
const SETTINGS: Settings = Settings {
    retry: Retry { not_yet: Action::RequeueAfter(RETRY), ..Retry::UNCACHED },
    ..Settings::uncached("cloud-credentials", 16)
};

/// Options of the controller.
pub type Options = controller::Options<Clusters>;

const fn find_backend() -> Backend {
    let (mut found, mut count, mut index) = (0, 0, 0);
    while index < Backend::ALL.len() {
        if Backend::ALL[index].descriptor().has_cloud_credentials {
            (found, count) = (index, count + 1);
        }
        index += 1;
    }
    assert!(count == 1, "requests for cloud credentials do not name the kind of their cluster");
    Backend::ALL[found]
}

/// State of the controller.
pub(super) struct CloudController {
    pub(super) options: Options,
    pub(super) metrics: Arc<CredentialMetrics>,
    pub(super) teller: EventPublisher,
    pub(super) gauge: Arc<CredentialGauge>,
    pub(super) queue: RequestQueue<String>,
    /// The versions of ConfigMaps: what is in one has none of its own.
    pub(super) known: Mutex<BTreeMap<String, String>>,
    /// The versions of ConfigMaps that we have written ourselves.
    pub(super) written: Mutex<BTreeMap<String, String>>,
}

pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<CredentialMetrics>, stop: Running) -> Running {
    Box::pin(async move { controller::run(&CloudController::new(options, metrics), stop).await })
}

/// A request, its credential and everything around them.
pub(super) struct ObservedCredentialRequest {
    /// Uid of the ConfigMap.
    pub(super) uid: Option<String>,
    pub(super) observed: ObservedCredential,
    pub(super) worker: Worker,
    /// The last report.
    pub(super) report: CloudCredentialReport,
}

impl Reconciler for CloudController {
    type Key = String;
    type Observed = ObservedCredentialRequest;
    /// The first step; each further one depends on the result of the one before.
    type Plan = CredentialStep;
    type Error = Error;

    fn kind(&self, _key: &Self::Key) -> &'static str {
        "ConfigMap"
    }

    fn uid<'o>(&self, observed: &'o ObservedCredentialRequest) -> Option<&'o str> {
        observed.uid.as_deref()
    }

    fn request_queue(&self) -> &RequestQueue<String> {
        &self.queue
    }

    async fn watch(&self) {
        let namespaces = self.options.config.cloud_namespaces();
        let (orders, clusters) = self.gauge.health.split_at(namespaces.len());
        let orders = namespaces.iter().zip(orders);
        let clusters = namespaces.iter().zip(clusters);
        tokio::join!(
            join_all(orders.map(|(namespace, health)| self.watch_requests(namespace, health))),
            join_all(clusters.map(|(namespace, health)| self.watch_clusters(namespace, health))),
        );
    }

    async fn observe(
        &self,
        key: &String,
        _bypass_caches: bool,
    ) -> Result<Option<ObservedCredentialRequest>, Error> {
        if !lock(&self.known).contains_key(key) {
            return Ok(None);
        }
        self.observe_request(key).await
    }

    fn is_cached(&self, key: &String) -> bool {
        lock(&self.known).contains_key(key)
    }

    fn plan(&self, observed: &ObservedCredentialRequest) -> CredentialStep {
        next_step(&observed.observed, &StepResults::default(), (self.options.now)())
    }

    async fn execute(
        &self,
        key: &String,
        ObservedCredentialRequest { observed, mut worker, report, uid: _ }: ObservedCredentialRequest,
        step: CredentialStep,
    ) -> Result<Action, Error> {
        let mut happened = Vec::new();
        let now = (self.options.now)();
        let end = reconcile_credential(observed, step, &mut worker, now, |what| happened.push(what)).await;
        for what in happened {
            self.record_event(key, &worker.map, what).await;
        }
        let end = match end {
            Ok(PassOutcome::Told(told, after)) => {
                self.write_report(key, &report, &mut worker, told).await.map(|()| Some(after))
            }
            Ok(PassOutcome::Later(after)) => Ok(Some(after)),
            Ok(PassOutcome::Released | PassOutcome::Nothing) => Ok(None),
            Err(error) => Err(error),
        };
        if let Some(version) = worker.map.resource_version() {
            lock(&self.written).insert(key.to_owned(), version);
        }
        end.map(Action::from)
    }

    /// The object may be deleted meanwhile, and nothing would forget it then.
    fn forget_deleted(&self, key: &String) {
        if !lock(&self.known).contains_key(key) {
            self.forget_request(key);
        }
    }
}

impl CloudController {
    fn new(options: Options, metrics: Arc<CredentialMetrics>) -> Self {
        let gauge = Arc::new(new_gauge(options.config.cloud_namespaces().len()));
        metrics.attach_cloud(&gauge);
        let Options { client, request_timeout: patience, instance, .. } = options.clone();
        Self {
            options,
            teller: EventPublisher { client, patience, instance, metrics: metrics.runtime_metrics().clone() },
            gauge,
            queue: RequestQueue::new(SETTINGS, metrics.runtime_metrics()),
            known: Mutex::default(),
            written: Mutex::default(),
            metrics,
        }
    }

    /// Watches the requests of a namespace. Little of their metadata is kept; a reconcile reads the object.
    async fn watch_requests(&self, namespace: &str, health: &Health) {
        let maps: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(self.options.client.clone(), namespace);
        let key = |map: &PartialObjectMeta<ConfigMap>| format!("{namespace}/{}", map.name_any());
        let on_apply = |key: &str, map: &PartialObjectMeta<ConfigMap>| {
            let version = map.resource_version().unwrap_or_default();
            let own = lock(&self.written).get(key) == Some(&version);
            let before = lock(&self.known).insert(key.to_owned(), version.clone());
            // Our own writes are no reason to reconcile.
            if before.is_none_or(|before| before != version) && !own {
                self.queue.push(key);
            }
        };
        let labelled = watcher::Config::default().labels(&format!("{LABEL}=true"));
        track(maps, labelled, health, key, on_apply, |key| self.forget_request(key)).await;
    }

    /// Clusters, for when their deletion begins, before which it is asked whether the credential works, and when it ends.
    async fn watch_clusters(&self, namespace: &str, health: &Health) {
        let kind = BACKEND.cluster_kind();
        let version = kind.versions.first().copied().unwrap_or_default();
        let clusters = api(&self.options.client, namespace, &resource(kind, version));
        let mut terminating: BTreeSet<String> = BTreeSet::new();
        keep_watching(clusters, watcher::Config::default(), health, |event| {
            let (Event::Apply(cluster) | Event::InitApply(cluster) | Event::Delete(cluster)) = &event else {
                return;
            };
            let news = match &event {
                Event::Delete(_) => {
                    terminating.remove(cluster.name());
                    true
                }
                _ => cluster.is_deleted() && terminating.insert(cluster.name().to_owned()),
            };
            let Ok(cluster) = ObjectName::try_from(cluster.name()) else { return };
            let key = format!("{namespace}/{}", secret_name(&cluster));
            if news && lock(&self.known).contains_key(&key) {
                self.queue.push(key);
            }
        })
        .await;
    }

    fn forget_request(&self, key: &str) {
        lock(&self.known).remove(key);
        lock(&self.written).remove(key);
        self.gauge.record(key, None);
    }

    pub(super) fn record_failure(&self, key: &str, Error { action, reason, message }: &Error) {
        self.metrics.runtime_metrics().failed(action, reason.as_str());
        tracing::warn!(order = key, action, error = message, "cloud credential not reconciled");
    }
}
