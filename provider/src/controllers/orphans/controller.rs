//! Reconciles at an interval: lists both sides, plans, writes the report, and tears down as planned.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;
use testplatform_runtime::{
    controller::{self, Running},
    error::{Cause, Error, Reason},
    event::{Event, emit_event},
    lookup,
    reconcile::{Action, Reconciler},
    timeout::with_timeout,
    workqueue::{RequestQueue, Settings},
};

use super::{
    execute::{end_orphan, record_owner},
    hubs::HubClients,
    metrics::{OrphanMetrics, OrphanTeardown},
    observe::{observe_hub, observe_konflux},
    placements::Placements,
    plan::{HubRemotes, KonfluxState, OrphanPlan, OrphanSettings, OrphanState, UnownedRecords, plan},
    remote::RemoteRef,
    report::{CONFIG_MAP, KEY, OrphanReport},
    teardown::TeardownCall,
};
use crate::config::Orphans;

/// The field manager of the report.
const FIELD_MANAGER: &str = "provider-testplatform-orphans";
/// The longest time for a complete listing of one side.
const LISTING_TIMEOUT: Duration = Duration::from_mins(3);
/// How long the namespaces of Objects are known. Their manifests are many megabytes, and a new namespace is a matter of configuration.
const PLACEMENTS: SignedDuration = SignedDuration::from_hours(1);
/// The longest time for one call and the reads before it.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

const SETTINGS: Settings = Settings { debounce: Duration::ZERO, ..Settings::uncached("orphans", 1) };

/// Options of the controller.
pub type Options = controller::Options<Orphans>;

/// State of the controller. It compares all clusters at once, so its key says nothing.
struct OrphanController {
    options: Options,
    hubs: HubClients,
    settings: OrphanSettings,
    poll: Duration,
    queue: RequestQueue<()>,
    metrics: Arc<OrphanMetrics>,
    /// Records of the last reconcile. None before the first.
    records: Mutex<Option<UnownedRecords>>,
    /// Namespaces of Objects, and when they were read.
    placements: Mutex<Option<(Timestamp, Placements)>>,
    /// Error of each hub in the last reconcile.
    errors: Mutex<BTreeMap<String, String>>,
}

/// Runs until `stop`. A listing that has begun is not finished: it decides nothing that another process could not decide.
pub fn run(options: Options, metrics: Arc<OrphanMetrics>, stop: Running) -> Running {
    Box::pin(async move {
        let controller = OrphanController::new(options, metrics);
        // Nothing is watched: both sides are listed at an interval.
        controller.queue.push(());
        tokio::select! {
            () = controller::run(&controller, std::future::pending()) => {}
            () = stop => {}
        }
    })
}

/// Both sides.
struct Listings {
    before: UnownedRecords,
    hubs: Vec<HubRemotes>,
    konflux: Result<KonfluxState, String>,
}

impl Reconciler for OrphanController {
    type Key = ();
    type Observed = Listings;
    type Plan = OrphanPlan;
    type Error = Cause;

    fn kind(&self, _key: &Self::Key) -> &'static str {
        "ConfigMap"
    }

    fn request_queue(&self) -> &RequestQueue<()> {
        &self.queue
    }

    async fn observe(&self, (): &(), _bypass_caches: bool) -> Result<Option<Listings>, Cause> {
        let config = &self.options.config;
        let last = self.records.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let before = match last {
            Some(records) => records,
            None => self.restore_records().await,
        };
        let listings = config.hubs.iter().map(|(hub, of)| async move {
            let listing = async { Ok(observe_hub(hub, of, self.hubs.connect(hub, of).await).await) };
            let listed = with_timeout("list_hub", LISTING_TIMEOUT, listing).await;
            listed.unwrap_or_else(|error| HubRemotes { hub: hub.clone(), remotes: Err(error.message) })
        });
        let hubs = join_all(listings).await;
        let now = (self.options.now)();
        let known = self.placements.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let known =
            known.filter(|(read, _)| (SignedDuration::ZERO..PLACEMENTS).contains(&now.duration_since(*read)));
        let read = known.as_ref().map_or(now, |(read, _)| *read);
        let listing = observe_konflux(&self.options.client, config, &hubs, known.map(|(_, known)| known));
        let konflux = with_timeout("list_konflux", LISTING_TIMEOUT, listing).await.map_err(|error| {
            self.warn(&error, "Konflux cluster not listed completely; nothing is decided");
            error.message
        });
        if let Ok(konflux) = &konflux {
            let placements = Some((read, konflux.placements.clone()));
            *self.placements.lock().unwrap_or_else(PoisonError::into_inner) = placements;
        }
        Ok(Some(Listings { before, hubs, konflux }))
    }

    fn plan(&self, Listings { before, hubs, konflux }: &Listings) -> OrphanPlan {
        plan(before, konflux, hubs, &self.settings, (self.options.now)())
    }

    async fn execute(
        &self,
        (): &(),
        Listings { before, konflux, .. }: Listings,
        mut planned: OrphanPlan,
    ) -> Result<Action, Cause> {
        let now = (self.options.now)();
        Self::log_changes(&before, &planned);
        for hub in planned.hubs.iter().filter(|hub| hub.error.is_some() && konflux.is_ok()) {
            self.metrics.runtime_metrics().failed("list_hub", "incomplete");
            tracing::warn!(hub = hub.hub, error = hub.error, "hub not listed completely; nothing is decided");
        }
        // At once: each moment that passes may give an orphan an owner.
        self.end_orphans(&mut planned).await;
        let name = konflux.as_ref().ok().map(|konflux| konflux.name.as_str());
        self.write_report(&OrphanReport::new(&planned, name, now)).await;
        // After the report: a person whom an alert calls reads what it is about.
        self.metrics.report_orphans(&planned, now);
        self.announce_changes(&before, &planned).await;
        if let Ok(konflux) = &konflux {
            self.record_owners(&planned.recorded, &konflux.uid).await;
        }
        *self.records.lock().unwrap_or_else(PoisonError::into_inner) = Some(planned.records);
        Ok(Action::RequeueAfter(self.poll))
    }
}

impl OrphanController {
    fn new(options: Options, metrics: Arc<OrphanMetrics>) -> Self {
        let config = &options.config;
        let settings = OrphanSettings {
            mode: config.mode,
            grace: config.grace.as_signed(),
            max_unowned_percent: config.max_unowned_percent,
            confirmed: config.confirmed_uids.iter().cloned().collect(),
            hubs: config.hubs.clone(),
        };
        metrics.attach_orphans(config.hubs.iter().map(|(hub, of)| (hub, of.kinds.as_slice())));
        Self {
            hubs: HubClients::new(options.client.clone(), options.trust, metrics.runtime_metrics().clone()),
            settings,
            poll: Duration::try_from(config.poll.as_signed()).unwrap_or(LISTING_TIMEOUT),
            queue: RequestQueue::new(SETTINGS, metrics.runtime_metrics()),
            options,
            records: Mutex::default(),
            placements: Mutex::default(),
            errors: Mutex::default(),
            metrics,
        }
    }

    fn report_map(&self) -> Api<ConfigMap> {
        Api::namespaced(self.options.client.clone(), &self.options.config.namespace)
    }

    /// The records of the process before, from its report.
    async fn restore_records(&self) -> UnownedRecords {
        let maps = self.report_map();
        let read = async { Ok(lookup::get_opt(&maps, CONFIG_MAP).await?) };
        let found = with_timeout("read_orphan_report", CALL_TIMEOUT, read).await;
        match found {
            Ok(found) => {
                let text = found.and_then(|map| map.data?.remove(KEY)).unwrap_or_default();
                let report = OrphanReport::parse(&text).unwrap_or_default();
                report.into_records((self.options.now)())
            }
            Err(error) => {
                self.warn(&error, "orphan report not read; the grace period starts again");
                UnownedRecords::new()
            }
        }
    }

    /// One line for each orphan that was none before.
    fn log_changes(before: &UnownedRecords, planned: &OrphanPlan) {
        for identity in planned.new_orphans(before) {
            let RemoteRef { hub, kind, namespace, name, uid } = identity;
            let tenant = planned.records.get(identity).and_then(|record| record.remote.tenant.as_deref());
            let state = planned.states.get(identity).unwrap_or(&OrphanState::Reported);
            tracing::warn!(
                hub,
                kind = kind.as_str(),
                namespace,
                name,
                uid,
                tenant,
                state = state.as_str(),
                message = state.message(),
                "orphan found",
            );
        }
    }

    async fn client_of(&self, hub: &str) -> Result<Client, Cause> {
        let of = self.options.config.hubs.get(hub);
        let missing = || Cause::new(Reason::Unreachable, format!("hub {hub} is not configured"));
        self.hubs.connect(hub, of.ok_or_else(missing)?).await
    }

    async fn record_owners(&self, remotes: &[RemoteRef], uid: &str) {
        let mut recorded = 0_u32;
        let mut silent = BTreeSet::new();
        for remote in remotes {
            if silent.contains(remote.hub.as_str()) {
                continue;
            }
            let record = async { record_owner(&self.client_of(&remote.hub).await?, remote, uid).await };
            match with_timeout("record_owner", CALL_TIMEOUT, record).await {
                Ok(is_recorded) => recorded += u32::from(is_recorded),
                // The next reconcile tries it again.
                Err(error) => {
                    if is_silent(&error) {
                        silent.insert(remote.hub.as_str());
                    }
                    self.warn(&error, "owner not recorded");
                }
            }
        }
        if recorded > 0 {
            tracing::info!(recorded, "owners recorded on remote objects");
        }
    }

    /// One by one.
    async fn end_orphans(&self, planned: &mut OrphanPlan) {
        let now = (self.options.now)();
        let mut refused = BTreeMap::new();
        let mut silent = BTreeSet::new();
        for identity in &planned.teardowns {
            if silent.contains(identity.hub.as_str()) {
                continue;
            }
            let Some(record) = planned.records.get_mut(identity) else { continue };
            let end = async {
                let hub = self.client_of(&identity.hub).await?;
                end_orphan(&self.options.client, &hub, &record.remote, &self.options.config.flavours).await
            };
            match with_timeout("end_orphan", CALL_TIMEOUT, end).await {
                Ok(call @ (TeardownCall::SetField | TeardownCall::Delete)) => {
                    record.requested = record.requested.or(Some(now));
                    self.metrics.count_orphan_teardown(OrphanTeardown::Requested);
                    self.announce(identity, call).await;
                }
                Ok(TeardownCall::AwaitHub) => record.requested = record.requested.or(Some(now)),
                Ok(TeardownCall::Changed) => {
                    refused.insert(identity.clone(), OrphanState::Pending);
                }
                Err(error) => {
                    record.failures = record.failures.saturating_add(1);
                    if is_silent(&error) {
                        silent.insert(identity.hub.as_str());
                    }
                    self.metrics.count_orphan_teardown(OrphanTeardown::Failed);
                    self.warn(&error, "orphan not ended");
                }
            }
        }
        planned.states.extend(refused);
    }

    /// Events about new orphans, and about hubs that cannot be listed completely any more.
    async fn announce_changes(&self, before: &UnownedRecords, planned: &OrphanPlan) {
        let errors = planned.hubs.iter().filter_map(|hub| Some((hub.hub.clone(), hub.error.clone()?)));
        let errors: BTreeMap<String, String> = errors.collect();
        let last = {
            let mut last = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *last, errors.clone())
        };
        for (hub, error) in errors.iter().filter(|(hub, error)| last.get(*hub) != Some(*error)) {
            let note =
                format!("hub {hub} is not listed completely, so that no orphan is found on it: {error}");
            self.emit(Event { warning: true, reason: "HubNotListed".into(), note }).await;
        }
        let new: Vec<&RemoteRef> = planned.new_orphans(before).collect();
        if let [first, rest @ ..] = new.as_slice() {
            let RemoteRef { hub, kind, namespace, name, .. } = first;
            let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            let note = format!("{} {namespace}/{name} on hub {hub} has no owner{more}", kind.as_str());
            self.emit(Event { warning: true, reason: "OrphanFound".into(), note }).await;
        }
    }

    /// A log line, and an event about the report.
    async fn announce(&self, identity: &RemoteRef, call: TeardownCall) {
        let RemoteRef { hub, kind, namespace, name, uid } = identity;
        let kind = kind.as_str();
        tracing::warn!(hub, kind, namespace, name, uid, ?call, "orphan teardown requested");
        let action =
            if call == TeardownCall::Delete { "deleted" } else { "requested to tear its cluster down" };
        let note = format!("{kind} {namespace}/{name} on hub {hub} has no owner and was {action}");
        self.emit(Event { warning: true, reason: "OrphanTeardown".into(), note }).await;
    }

    /// An event about the report.
    async fn emit(&self, event: Event) {
        let namespace = &self.options.config.namespace;
        let regarding = ObjectReference {
            api_version: Some("v1".into()),
            kind: Some("ConfigMap".into()),
            namespace: Some(namespace.clone()),
            name: Some(CONFIG_MAP.into()),
            ..ObjectReference::default()
        };
        let events = Api::namespaced(self.options.client.clone(), namespace);
        let made = emit_event(&events, &self.options.instance, regarding, &event, (self.options.now)());
        if let Err(error) = with_timeout("emit", CALL_TIMEOUT, made).await {
            self.warn(&error, "event not made");
        }
    }

    async fn write_report(&self, report: &OrphanReport) {
        let maps = self.report_map();
        let write = async {
            let text = serde_json::to_string_pretty(report).unwrap_or_default();
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": CONFIG_MAP, "namespace": self.options.config.namespace },
                "data": { KEY: text },
            });
            maps.patch(CONFIG_MAP, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(map)).await?;
            Ok(())
        };
        if let Err(error) = with_timeout("write_orphan_report", CALL_TIMEOUT, write).await {
            self.warn(&error, "orphan report not written");
        }
    }

    fn warn(&self, error: &Error, event: &str) {
        self.metrics.runtime_metrics().failed(error.action, error.reason.as_str());
        tracing::warn!(action = error.action, error = error.message, "{event}");
    }
}

/// Whether further calls of the same reconcile to a hub would only wait for it.
fn is_silent(error: &Error) -> bool {
    error.reason.may_pass() || error.reason == Reason::Unreachable
}
