//! Controller of bundle requests: maps events to requests, and reconciles each.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, ResourceExt as _,
    api::ListParams,
    core::PartialObjectMeta,
    runtime::watcher::{self, Event},
};
use testplatform_apis::{
    cloud::{CloudCredentialReport, CredentialPhase, CredentialRequestSpec, ISSUER, LABEL, secret_name},
    names::ObjectName,
    template::Backend,
};
use testplatform_runtime::{
    controller::{self, Running},
    error::{Cause, Error, Reason},
    lookup,
    reconcile::{Action, Reconciler},
    timeout::with_timeout,
    watch::{Health, keep_watching, track},
    workqueue::{RequestQueue, Retry, Settings},
};

use super::{
    execute::Worker,
    gauge::{CredentialGauge, new_gauge},
    issuer::{Issuer, candidates},
    metrics::{CredentialMetrics, CredentialOutcome},
    plan::{ClusterStage, CredentialStep, ObservedCredential, StepResults, StoredSecret, next_step},
    reconcile::{CredentialEvent, PassOutcome, reconcile_credential},
    request::{CredentialRequest, stored_secret},
};
use crate::{
    config::Clusters,
    credentials::cluster_lookup::{api, find, resource},
    manifests::requests::EventPublisher,
};

/// Requeue delay when the steps of one reconcile did not suffice. A pending dependency is no reason to hurry.
const RETRY: Duration = Duration::from_secs(5);
/// The backend whose clusters have cloud credentials. A request names a cluster without its kind, so there can be one.
const BACKEND: Backend = find_backend();
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
struct CloudController {
    options: Options,
    metrics: Arc<CredentialMetrics>,
    teller: EventPublisher,
    gauge: Arc<CredentialGauge>,
    queue: RequestQueue<String>,
    /// The versions of ConfigMaps: what is in one has none of its own.
    known: Mutex<BTreeMap<String, String>>,
    /// The versions of ConfigMaps that we have written ourselves.
    written: Mutex<BTreeMap<String, String>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<CredentialMetrics>, stop: Running) -> Running {
    Box::pin(async move { controller::run(&CloudController::new(options, metrics), stop).await })
}

/// A request, its credential and everything around them.
struct ObservedCredentialRequest {
    observed: ObservedCredential,
    worker: Worker,
    /// The last report.
    report: CloudCredentialReport,
}

impl Reconciler for CloudController {
    type Key = String;
    type Observed = ObservedCredentialRequest;
    /// The first step; each further one depends on the result of the one before.
    type Plan = CredentialStep;
    type Error = Error;

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
        ObservedCredentialRequest { observed, mut worker, report }: ObservedCredentialRequest,
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

    fn record_failure(&self, key: &str, Error { action, reason, message }: &Error) {
        self.metrics.runtime_metrics().failed(action, reason.as_str());
        tracing::warn!(order = key, action, error = message, "a credential could not be looked after");
    }

    async fn observe_request(&self, key: &str) -> Result<Option<ObservedCredentialRequest>, Error> {
        let Options { client, config, request_timeout: patience, now, .. } = &self.options;
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let get = async { lookup::get_opt(&maps, name).await.map_err(Cause::from) };
        let Some(found) = with_timeout("get_cloud_order", *patience, get).await? else { return Ok(None) };
        let map = CredentialRequest::from_config_map(&found);
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let get =
            async { lookup::get_opt(&secrets, name).await.map_err(|error| Cause::about_secret(&error)) };
        let secret = with_timeout("get_cloud_credential", *patience, get).await?;
        let order = map.order.as_ref().ok();
        let stored = stored_secret(secret.as_ref(), order);
        let (issuers, unread) = match self.read_issuers(order).await {
            Ok(issuers) => (issuers, false),
            // The published credential is still checked. Teardown of the cluster waits no longer than for an unresponsive identity service.
            Err(error) if error.reason == Reason::Forbidden => {
                self.record_failure(key, &error);
                (Vec::new(), true)
            }
            Err(error) => return Err(error),
        };
        let observed = ObservedCredential {
            order: map.order.clone(),
            stage: self.cluster_stage(namespace, &map).await?,
            holds: map.holds,
            deleted: map.deleted.is_some(),
            removing: map.removing,
            issuers: order.map(|order| candidates(&issuers, order)).unwrap_or_default(),
            unread,
            stored,
            probe: Duration::try_from(config.cloud_credentials.probe.as_signed()).unwrap_or(RETRY),
            grace: config.cloud_credentials.grace.as_signed(),
        };
        let record_uid = match &observed.stored {
            StoredSecret::Ours { record, .. } => Some(record.uid.clone()),
            StoredSecret::Absent | StoredSecret::Foreign => None,
        };
        let worker = Worker {
            maps,
            secrets,
            map: found,
            secret,
            issuers: issuers.into_iter().map(|issuer| (issuer.name.clone(), issuer)).collect(),
            uid: order.map(|order| order.uid.clone()).or(record_uid).unwrap_or_default(),
            order: order.cloned(),
            patience: *patience,
            now: now(),
            made: None,
            sessions: tokio::sync::Mutex::default(),
        };
        Ok(Some(ObservedCredentialRequest { observed, worker, report: map.report }))
    }

    /// Stage of the cluster's life. Only this kind of clusters has cloud credentials, so it is also assumed for an unreadable request.
    async fn cluster_stage(&self, namespace: &str, map: &CredentialRequest) -> Result<ClusterStage, Error> {
        let Options { client, request_timeout: patience, .. } = &self.options;
        Ok(match find(client, *patience, BACKEND, namespace, &map.cluster).await? {
            None => map.deleted.map_or(ClusterStage::Here, ClusterStage::Gone),
            Some(cluster) if cluster.is_deleted() => ClusterStage::Going,
            Some(_) if map.deleted.is_some() => ClusterStage::Going,
            Some(_) => ClusterStage::Here,
        })
    }

    /// Issuers of the cloud; all of them if the request cannot be read: their credentials have to be deleted.
    async fn read_issuers(&self, order: Option<&CredentialRequestSpec>) -> Result<Vec<Issuer>, Error> {
        let namespace = &self.options.config.cloud_credentials.issuers_namespace;
        let all: Api<Secret> = Api::namespaced(self.options.client.clone(), namespace);
        let label = order.map_or_else(|| ISSUER.to_owned(), |order| format!("{ISSUER}={}", order.cloud));
        let list = async {
            all.list(&ListParams::default().labels(&label)).await.map_err(|error| Cause::about_secret(&error))
        };
        let found = with_timeout("list_cloud_issuers", self.options.request_timeout, list).await?;
        Ok(found.items.iter().map(Issuer::from_secret).collect())
    }

    /// Writes the report, and emits events about changes.
    async fn write_report(
        &self,
        key: &str,
        before: &CloudCredentialReport,
        worker: &mut Worker,
        mut report: CloudCredentialReport,
    ) -> Result<(), Error> {
        let same = before.state == report.state;
        report.since = if same { before.since.or(Some(worker.now)) } else { Some(worker.now) };
        worker.write_report(&report).await?;
        if lock(&self.known).contains_key(key) {
            self.gauge.record(key, report.state);
        }
        if same {
            return Ok(());
        }
        let (state, message) = (report.state, report.message.unwrap_or_default());
        tracing::info!(order = key, ?state, message, "told");
        let outcome = match state {
            Some(CredentialPhase::RotationFailed) => CredentialOutcome::RotationFailed,
            Some(CredentialPhase::OwnerInvalid) => CredentialOutcome::OwnerInvalid,
            Some(
                CredentialPhase::Valid
                | CredentialPhase::Unreachable
                | CredentialPhase::Blocked
                | CredentialPhase::Leaving,
            )
            | None => return Ok(()),
        };
        self.publish_event(key, &worker.map, outcome, message).await;
        Ok(())
    }

    async fn record_event(&self, key: &str, map: &ConfigMap, what: CredentialEvent) {
        tracing::info!(order = key, ?what, "done");
        let (outcome, note) = match what {
            CredentialEvent::Made(name) => (CredentialOutcome::Made, format!("{name} is published")),
            CredentialEvent::Rotated(name) => (
                CredentialOutcome::Rotated,
                format!("{name} is published; the one before it is deleted later"),
            ),
            CredentialEvent::Removed(name) => (CredentialOutcome::Removed, format!("{name} is gone")),
            CredentialEvent::LeftBehind(name) => (
                CredentialOutcome::LeftBehind,
                format!(
                    "{name} could not be deleted by any issuer; an administrator of the cloud has to, if it is there"
                ),
            ),
        };
        self.publish_event(key, map, outcome, note).await;
    }

    async fn publish_event(&self, key: &str, map: &ConfigMap, outcome: CredentialOutcome, note: String) {
        self.metrics.cloud_came_to(outcome);
        let event = testplatform_runtime::event::Event {
            warning: outcome.is_warning(),
            reason: outcome.as_str().into(),
            note,
        };
        self.teller.publish_event(key, map, &event, (self.options.now)()).await;
    }
}
