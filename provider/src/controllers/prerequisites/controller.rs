//! Controller of bundle requests: maps events to requests, and reconciles each.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures_util::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde_json::Value;
use testplatform_apis::{prerequisites::SUFFIX, template::Backend};
use testplatform_runtime::{
    controller::{self, Running},
    error::{Cause, Error, Reason},
    lookup,
    reconcile::{Action, Reconciler},
    timeout::with_timeout,
    workqueue::{RequestQueue, Settings},
};
use tokio::time::Instant;

use super::{
    hub::OnHub,
    metrics::PrerequisiteMetrics,
    objects::RequestObjects,
    plan::{ClusterPresence, PrerequisitePlan, PrerequisiteSet, StepResult, plan},
    request::{MARKS, PrerequisiteRequest, REMOVING},
    state::{PrerequisiteGauge, PrerequisiteState, new_gauge},
};
use crate::{
    config::{AllowedResource, Clusters},
    credentials::cluster_lookup::find,
    manifests::{
        apply::{ApplyError, ApplyErrorReason, ApplyProgress, apply_bundles},
        requests::{EventPublisher, RequestWatch},
    },
};

/// A request that waits for admission does not delay others.
const SETTINGS: Settings = Settings::uncached("prerequisites", 16);
/// How long a look may go on beginning calls.
const LOOK: Duration = Duration::from_mins(1);

/// Options of the controller.
pub type Options = controller::Options<Clusters>;

/// State of the controller.
pub(super) struct PrerequisiteController {
    pub(super) client: Client,
    pub(super) config: Clusters,
    pub(super) allowed: BTreeSet<AllowedResource>,
    pub(super) patience: Duration,
    pub(super) now: fn() -> Timestamp,
    pub(super) metrics: Arc<PrerequisiteMetrics>,
    pub(super) teller: EventPublisher,
    pub(super) gauge: Arc<PrerequisiteGauge>,
    pub(super) queue: RequestQueue<String>,
    pub(super) requests: RequestWatch,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<PrerequisiteMetrics>, stop: Running) -> Running {
    Box::pin(async move { controller::run(&PrerequisiteController::new(options, metrics), stop).await })
}

/// A request, and its cluster.
pub(super) struct ObservedPrerequisites {
    maps: Api<ConfigMap>,
    stored: ConfigMap,
    map: PrerequisiteRequest,
    presence: ClusterPresence,
}

impl Reconciler for PrerequisiteController {
    type Key = String;
    type Observed = ObservedPrerequisites;
    type Plan = PrerequisitePlan;
    type Error = Error;

    fn kind(&self, _key: &Self::Key) -> &'static str {
        "ConfigMap"
    }

    fn uid<'o>(&self, observed: &'o ObservedPrerequisites) -> Option<&'o str> {
        observed.stored.metadata.uid.as_deref()
    }

    fn request_queue(&self) -> &RequestQueue<String> {
        &self.queue
    }

    async fn watch(&self) {
        let namespaces = self.config.prerequisite_namespaces();
        let on_delete = |key: &str| self.gauge.record(key, None);
        let watches = namespaces.iter().zip(&self.gauge.health).map(|(namespace, health)| {
            self.requests.watch(self.client.clone(), namespace, health, &self.queue, on_delete)
        });
        join_all(watches).await;
    }

    async fn observe(
        &self,
        key: &String,
        _bypass_caches: bool,
    ) -> Result<Option<ObservedPrerequisites>, Error> {
        if !self.requests.contains(key) {
            return Ok(None);
        }
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let get = async { lookup::get_opt(&maps, name).await.map_err(Cause::from) };
        let Some(stored) = with_timeout("get_prerequisites", self.patience, get).await? else {
            return Ok(None);
        };
        let map = PrerequisiteRequest::read(&stored);
        let presence = self.cluster_presence(&map).await?;
        Ok(Some(ObservedPrerequisites { maps, stored, map, presence }))
    }

    fn is_cached(&self, key: &String) -> bool {
        self.requests.contains(key)
    }

    fn plan(&self, observed: &ObservedPrerequisites) -> PrerequisitePlan {
        plan(&observed.map, observed.presence, None, (self.now)())
    }

    async fn execute(
        &self,
        key: &String,
        observed: ObservedPrerequisites,
        mut step: PrerequisitePlan,
    ) -> Result<Action, Error> {
        let ObservedPrerequisites { maps, stored, map, presence } = observed;
        if let Some(result) = self.execute_step(key, &map, &step).await {
            step = plan(&map, presence, Some(&result), (self.now)());
        }
        let state = match &step {
            PrerequisitePlan::Write(note, _) => note.report.state,
            _ => map.report.state,
        };
        let after = match step {
            // The requested step is done.
            PrerequisitePlan::Apply(_) | PrerequisitePlan::Remove | PrerequisitePlan::Rest => None,
            PrerequisitePlan::Later(after) => Some(after),
            PrerequisitePlan::Write(note, after) => {
                let removing = note.removing.map_or(Value::Null, |since| since.to_string().into());
                let beside = (note.removing != map.removing).then_some((REMOVING, removing));
                let written = MARKS.write(&maps, &stored, &note.report, beside, note.hold);
                with_timeout("write_prerequisites", self.patience, written).await?;
                self.emit_changes(key, &stored, &map.report, &note).await;
                Some(after)
            }
            PrerequisitePlan::Release(how) => {
                with_timeout("release_prerequisites", self.patience, MARKS.release(&maps, &stored)).await?;
                self.record_release(key, &stored, how).await;
                self.gauge.record(key, None);
                return Ok(Action::AwaitChange);
            }
        };
        if self.requests.contains(key) {
            self.gauge.record(key, Some(PrerequisiteState::of(&map, state)));
        }
        Ok(after.into())
    }
}

impl PrerequisiteController {
    fn new(options: Options, metrics: Arc<PrerequisiteMetrics>) -> Self {
        let Options { client, config, request_timeout: patience, instance, now, .. } = options;
        let gauge = Arc::new(new_gauge(config.prerequisite_namespaces().len()));
        metrics.attach_prerequisites(&gauge);
        let teller = EventPublisher {
            client: client.clone(),
            patience,
            instance,
            metrics: metrics.runtime_metrics().clone(),
        };
        Self {
            client,
            allowed: config.prerequisites.allowed(),
            config,
            patience,
            now,
            teller,
            gauge,
            queue: RequestQueue::new(SETTINGS, metrics.runtime_metrics()),
            requests: RequestWatch::new(MARKS),
            metrics,
        }
    }

    /// Whether the cluster's object exists. For an unreadable request every kind is looked up by the name of its ConfigMap.
    async fn cluster_presence(&self, map: &PrerequisiteRequest) -> Result<ClusterPresence, Error> {
        let namespace = &map.owner.namespace;
        let (backends, name): (Vec<Backend>, &str) = if let Ok(order) = &map.order {
            let named = &order.cluster;
            let backend = self.config.backend(namespace, &named.group, &named.kind);
            (backend.into_iter().collect(), named.name.as_str())
        } else {
            let all = self.config.backends.iter().filter(|(_, of)| of.namespaces.contains(namespace));
            let name = &*map.owner.name;
            (all.map(|(backend, _)| *backend).collect(), name.strip_suffix(SUFFIX).unwrap_or(name))
        };
        if backends.is_empty() {
            if map.deleted.is_some() && map.holds {
                tracing::warn!(
                    namespace,
                    order = map.owner.name,
                    "prerequisites kept: the hub no longer serves clusters of this kind, so their end cannot be observed"
                );
            }
            return Ok(ClusterPresence::Unknown);
        }
        if map.deleted.is_none() {
            return Ok(ClusterPresence::Unasked);
        }
        for backend in backends {
            if find(&self.client, self.patience, backend, namespace, name).await?.is_some() {
                return Ok(ClusterPresence::There);
            }
        }
        Ok(ClusterPresence::Gone)
    }

    /// Does what a step asks for on the hub.
    async fn execute_step(
        &self,
        key: &str,
        map: &PrerequisiteRequest,
        step: &PrerequisitePlan,
    ) -> Option<StepResult> {
        let order = map.order.as_ref().ok()?;
        let hub = OnHub::new(self.client.clone(), &self.allowed);
        let own = RequestObjects { hub: &hub, owner: &map.owner };
        let until = Instant::now() + LOOK;
        match step {
            PrerequisitePlan::Apply(work) => {
                let bundles: Vec<_> = work.of(order).map(|(_, bundle)| bundle).collect();
                let progress = apply_bundles(bundles, 0, &own, until).await;
                if *work == PrerequisiteSet::Prerequisites {
                    self.log_drift(key, &progress);
                }
                Some(StepResult::Applied(progress))
            }
            PrerequisitePlan::Remove => {
                let bundles: Vec<_> =
                    PrerequisiteSet::Everything.of(order).rev().map(|(_, bundle)| bundle).collect();
                Some(StepResult::Removed(own.remove(bundles, until).await))
            }
            PrerequisitePlan::Rest
            | PrerequisitePlan::Later(_)
            | PrerequisitePlan::Write(..)
            | PrerequisitePlan::Release(_) => None,
        }
    }

    /// The cluster lives, so that something of it is not as it was is for administrators alone.
    fn log_drift(&self, key: &str, progress: &ApplyProgress) {
        let ApplyProgress::At(_, stop) = progress else { return };
        let ApplyError { reason, message, .. } = &stop.why;
        let kind =
            if stop.why.has_reason(ApplyErrorReason::NotReady) { Reason::NotYet } else { Reason::Refused };
        self.metrics.runtime_metrics().failed("keep_prerequisites", kind.as_str());
        tracing::warn!(order = key, object = stop.object, reason, message, "prerequisite not restored");
    }
}
