//! Controller of claims that bring their own credentials: maps events to claims, and reconciles each.

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
    core::{ApiResource, GroupVersionKind},
    runtime::watcher,
};
use testplatform_apis::{
    byoc::{HUB_SECRET_NAMES, SecretCopy, SecretSyncReport},
    names::ours,
};
use testplatform_runtime::{
    controller::{self, Running},
    error::{Cause, Error, Reason, is_forbidden},
    reconcile::{Action, Reconciler},
    watch::{Health, track},
    workqueue::{RequestQueue, Retry, Settings},
};
use tokio::time::Instant;

use super::{
    execute::{self, Content},
    hubs::Hubs,
    metrics::{SecretAction, SecretSyncMetrics},
    plan::{SecretState, SyncPlan, SyncRequest, plan},
    state::{SecretSyncGauge, SecretSyncState, new_gauge},
};
use crate::{
    config::{Carried, Carry},
    credentials::publish::write::write_annotations,
    sparse_object::{PAGE, PartialObject},
};

/// Time limit of a reconcile.
const RECONCILE_TIMEOUT: Duration = Duration::from_secs(30);
/// Requests that wait for a hub do not delay requests for another.
const SETTINGS: Settings = Settings {
    retry: Retry { conflict: Action::Backoff, ..Retry::UNCACHED },
    ..Settings::uncached("secret-sync", 32).with_timeout("carry_secrets", RECONCILE_TIMEOUT)
};
/// However quiet it is: what somebody took away on the hub, where nothing is read, is written again within this time.
pub(super) const NET: Duration = Duration::from_mins(10);

/// Options of the controller.
pub type Options = controller::Options<Carry>;

/// When everything was last written, and which state of each Secret, by the field that names it.
type Written = (Instant, BTreeMap<String, String>);

/// State of the controller.
pub(super) struct SecretSyncController {
    pub(super) client: Client,
    pub(super) hubs: Hubs,
    pub(super) now: fn() -> Timestamp,
    pub(super) poll: Duration,
    pub(super) flavours: Vec<Carried>,
    pub(super) metrics: Arc<SecretSyncMetrics>,
    pub(super) gauge: Arc<SecretSyncGauge>,
    pub(super) queue: RequestQueue<String>,
    pub(super) requests: Mutex<BTreeMap<String, SyncRequest>>,
    /// By claim.
    pub(super) written: Mutex<BTreeMap<String, Written>>,
    /// By claim: the hub and the namespace that do not let us in, as it was logged.
    pub(super) shut: Mutex<BTreeMap<String, String>>,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<SecretSyncMetrics>, stop: Running) -> Running {
    Box::pin(async move {
        let Options { client, config, trust, now, .. } = options;
        let (flavours, poll) = (config.flavours.clone(), config.poll);
        let poll = Duration::try_from(poll.as_signed()).unwrap_or(NET);
        let hubs = Hubs::new(config, trust, metrics.runtime_metrics().clone());
        controller::run(&SecretSyncController::new(client, hubs, flavours, poll, now, metrics), stop).await;
    })
}

/// A claim and its namespace on the hub.
pub(super) enum ObservedSync {
    /// There is nothing to sync: the state of the claim, and the next action.
    Unmade(SecretSyncState, Action),
    /// The cluster is gone, and its copies may be left on this hub, in this namespace.
    Over(Client, String),
    /// The hub requests what the claim does not bring: why, and whether copies were reported.
    Invalid { on_hub: Box<RequestMap>, why: String, carried: bool },
    /// Secrets and their copies.
    Copies(Box<ObservedCopies>),
}

/// The ConfigMap on the hub that requests copies.
pub(super) struct RequestMap {
    pub(super) maps: Api<ConfigMap>,
    pub(super) map: ConfigMap,
}

pub(super) struct ObservedCopies {
    pub(super) hub: Client,
    pub(super) namespace: String,
    pub(super) on_hub: RequestMap,
    pub(super) parcels: Vec<SecretCopy>,
    /// By field.
    pub(super) found: BTreeMap<String, SecretState>,
    pub(super) contents: BTreeMap<String, Content>,
    pub(super) written: Written,
    pub(super) before: Option<SecretSyncReport>,
}

impl Reconciler for SecretSyncController {
    type Key = String;
    type Observed = ObservedSync;
    /// None: no copies are planned.
    type Plan = Option<SyncPlan>;
    type Error = Cause;

    fn kind(&self, key: &Self::Key) -> &'static str {
        let plural = key.split('/').next();
        let flavour = self.flavours.iter().find(|flavour| Some(flavour.kind().1) == plural);
        flavour.map_or("", |flavour| flavour.kind().0)
    }

    fn request_queue(&self) -> &RequestQueue<String> {
        &self.queue
    }

    async fn watch(&self) {
        let watched = self.flavours.iter().zip(&self.gauge.health);
        join_all(watched.map(|(flavour, health)| self.watch_composites(*flavour, health))).await;
    }

    async fn observe(&self, key: &String, _bypass_caches: bool) -> Result<Option<ObservedSync>, Cause> {
        let Some(order) = self.lock_requests().get(key).cloned() else { return Ok(None) };
        self.observe_claim(key, &order).await.map(Some)
    }

    fn plan(&self, observed: &ObservedSync) -> Option<SyncPlan> {
        let ObservedSync::Copies(copies) = observed else { return None };
        Some(plan(&copies.parcels, &copies.found, &copies.written.1, copies.before.as_ref()))
    }

    async fn execute(
        &self,
        key: &String,
        observed: ObservedSync,
        plan: Option<SyncPlan>,
    ) -> Result<Action, Cause> {
        let (state, action) = match (observed, plan) {
            (ObservedSync::Unmade(state, action), _) => (state, action),
            (ObservedSync::Over(hub, namespace), _) => {
                self.remove_copies(key, &hub, &namespace).await?;
                (SecretSyncState::Removed, Action::AwaitChange)
            }
            (ObservedSync::Invalid { on_hub, why, carried }, _) => {
                let refused = Some(why.clone());
                let report = SecretSyncReport { carried, refused, ..SecretSyncReport::default() };
                write_report(&on_hub, key, &report).await?;
                return Err(Cause::new(Reason::Foreign, why));
            }
            (ObservedSync::Copies(copies), Some(plan)) => {
                let state = plan.sync_state();
                self.write_copies(key, *copies, plan).await?;
                (state, Action::RequeueAfter(self.poll))
            }
            (ObservedSync::Copies(_), None) => return Ok(Action::AwaitChange),
        };
        self.metrics.count_sync(state, (self.now)());
        self.record_state(key, state);
        Ok(action)
    }

    fn forget_deleted(&self, key: &String) {
        if !self.lock_requests().contains_key(key) {
            self.forget_claim(key);
        }
    }

    fn error_policy(&self, key: &String, error: &Error) -> Action {
        self.metrics.count_failed_sync(error.reason);
        self.record_state(key, SecretSyncState::Failing);
        self.queue.settings().retry.after(error.reason)
    }
}

impl SecretSyncController {
    fn new(
        client: Client,
        hubs: Hubs,
        flavours: Vec<Carried>,
        poll: Duration,
        now: fn() -> Timestamp,
        metrics: Arc<SecretSyncMetrics>,
    ) -> Self {
        let gauge = Arc::new(new_gauge(&flavours));
        metrics.attach_carries(&gauge);
        Self {
            client,
            hubs,
            now,
            poll,
            flavours,
            gauge,
            queue: RequestQueue::new(SETTINGS, metrics.runtime_metrics()),
            requests: Mutex::default(),
            written: Mutex::default(),
            shut: Mutex::default(),
            metrics,
        }
    }

    /// Composites of one flavour. Which of them bring credentials is in their spec, so it is not their metadata alone that is read; what does not
    /// matter of them is forgotten at once.
    async fn watch_composites(&self, flavour: Carried, health: &Health) {
        let (kind, plural) = flavour.kind();
        let kind = GroupVersionKind::gvk("ci.openshift.org", "v1alpha1", kind);
        let api: Api<PartialObject> =
            Api::all_with(self.client.clone(), &ApiResource::from_gvk_with_plural(&kind, plural));
        let key = |object: &PartialObject| {
            format!("{plural}/{}/{}", object.namespace().unwrap_or_default(), object.name_any())
        };
        let on_apply = |key: &str, object: &PartialObject| {
            let order =
                SyncRequest::from_composite(&object.name_any(), object.namespace().as_deref(), &object.body);
            let changed = match order {
                Some(order) => {
                    self.lock_requests().insert(key.to_owned(), order.clone()).is_none_or(|old| old != order)
                }
                None => self.lock_requests().remove(key).inspect(|_| self.gauge.record(key, None)).is_some(),
            };
            if changed {
                self.queue.push(key);
            }
        };
        let paged = watcher::Config::default().page_size(PAGE);
        track(api, paged, health, key, on_apply, |key| self.forget_claim(key)).await;
    }

    /// The composite's Objects delete the namespace on the hub, and with it all copies.
    fn forget_claim(&self, key: &str) {
        self.lock_requests().remove(key);
        self.gauge.record(key, None);
        self.lock_written().remove(key);
        self.shut.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    async fn remove_copies(&self, key: &str, hub: &Client, namespace: &str) -> Result<(), Cause> {
        for name in HUB_SECRET_NAMES {
            if execute::remove_copy(hub, namespace, name).await? {
                self.metrics.count_secret_action(SecretAction::Removed);
            }
        }
        tracing::info!(claim = key, "copied Secrets removed: the cluster is gone");
        self.lock_written().remove(key);
        Ok(())
    }

    async fn write_copies(&self, key: &str, copies: ObservedCopies, plan: SyncPlan) -> Result<(), Cause> {
        let ObservedCopies { hub, namespace, on_hub, parcels, found, mut contents, .. } = copies;
        let (at, mut written) = copies.written;
        for parcel in parcels.iter().filter(|parcel| plan.write.contains(&parcel.field)) {
            let content = contents.remove(&parcel.field).unwrap_or_default();
            execute::write_copy(&hub, &namespace, &parcel.to, content).await?;
            self.metrics.count_secret_action(SecretAction::Written);
            if let Some(SecretState::Whole(revision)) = found.get(&parcel.field) {
                written.insert(parcel.field.clone(), revision.clone());
            }
        }
        self.lock_written().insert(key.to_owned(), (at, written));
        write_report(&on_hub, key, &plan.report).await
    }

    fn record_state(&self, key: &str, state: SecretSyncState) {
        if self.lock_requests().contains_key(key) {
            self.gauge.record(key, Some(state));
        }
    }

    /// Logs once per claim and change that a hub denies access: it resolves itself when the claim's Objects are created, and otherwise needs
    /// attention.
    pub(super) fn log_access_denied(&self, key: &str, place: &str, error: Option<&kube::Error>) {
        let mut shut = self.shut.lock().unwrap_or_else(PoisonError::into_inner);
        if !error.is_some_and(is_forbidden) {
            shut.remove(key);
        } else if shut.insert(key.to_owned(), place.to_owned()).is_none_or(|before| before != place) {
            tracing::warn!(
                claim = key,
                place,
                "the hub has not granted the carrier access to the claim's namespace yet"
            );
        }
    }

    fn lock_requests(&self) -> MutexGuard<'_, BTreeMap<String, SyncRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_written(&self) -> MutexGuard<'_, BTreeMap<String, Written>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes what the claim is to know, if it is not known yet.
async fn write_report(
    RequestMap { maps, map }: &RequestMap,
    key: &str,
    report: &SecretSyncReport,
) -> Result<(), Cause> {
    let text = report.to_annotation().map_err(|_| Cause::new(Reason::Bug, "a report cannot be written"))?;
    if write_annotations(maps, &map.metadata, [(ours::BYOC_REPORT, Some(text))]).await? {
        tracing::info!(claim = key, carried = report.carried, secrets = ?report.secrets, refused = report.refused, "secret sync reported");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
