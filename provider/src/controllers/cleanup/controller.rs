//! Controller of claims with cleanup: maps events to claims, and reconciles each.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Api, Client, ResourceExt as _,
    core::{ApiResource, GroupVersionKind},
    runtime::watcher,
};
use testplatform_apis::claim::{API_VERSION, GROUP, VERSION};
use testplatform_runtime::{
    error::{Cause, Error, Reason},
    event::emit_event,
    running::Running,
    timeout::with_timeout,
    watch::{Health, track},
    workqueue::{Action, Concurrency, DEBOUNCE, run_queue},
};
use tokio::{
    sync::mpsc::{UnboundedSender, unbounded_channel},
    time::Instant,
};

use super::{
    execute::{Identity, tear_down, write_annotation},
    metrics::{CleanupMetrics, Teardown},
    observe,
    plan::{Claim, CleanupPlan, Fate, Remark, plan},
    runs::Runs,
};
use crate::{
    config::{Cleaned, Cleanups},
    sparse_object::{PAGE, PartialObject},
};

/// Concurrency of the cleanup.
const PACE: Concurrency = Concurrency { max_concurrent_reconciles: 8, debounce: DEBOUNCE };
/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// When the watch has not seen yet what was written.
const RETRY: Duration = Duration::from_secs(10);
/// Minimum interval between writes of an annotation, so that the controller does not fight another writer in a loop.
const RESPITE: Duration = Duration::from_secs(10);
/// However quiet it is.
const NET: Duration = Duration::from_mins(10);

/// Options of the controller.
#[derive(Clone)]
pub struct Options {
    /// The cluster of the tenants.
    pub client: Client,
    /// Kinds to clean up.
    pub config: Cleanups,
    /// Reporting instance of events.
    pub instance: String,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// A claim as the watch had it last.
#[derive(Clone)]
struct ObservedClaim {
    claim: Claim,
    identity: Identity,
    flavour: Cleaned,
}

/// Last remark on a claim.
#[derive(Clone)]
struct LastRemark {
    uid: String,
    remark: Remark,
    /// Whether its event was made; until then it is tried again.
    made: bool,
}

/// State of the controller.
struct CleanupController {
    client: Client,
    instance: String,
    now: fn() -> Timestamp,
    poll: Duration,
    metrics: Arc<CleanupMetrics>,
    runs: Runs,
    /// Those alone that want it.
    claims: Mutex<BTreeMap<String, ObservedClaim>>,
    /// By claim: what was said of it last.
    last_remarks: Mutex<BTreeMap<String, LastRemark>>,
    /// By claim: when its note was last written.
    written_at: Mutex<BTreeMap<String, Instant>>,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<CleanupMetrics>, stop: Running) -> Running {
    Box::pin(run_until(options, metrics, stop))
}

async fn run_until(options: Options, metrics: Arc<CleanupMetrics>, stop: Running) {
    let Options { client, config, instance, now } = options;
    let health = Arc::new(watch_health(&config.flavours));
    metrics.attach_cleanups(&health);
    let (sender, happened) = unbounded_channel();
    let controller = CleanupController {
        runs: Runs::new(client.clone(), sender.clone()),
        client,
        instance,
        now,
        poll: Duration::try_from(config.poll.as_signed()).unwrap_or(NET),
        metrics,
        claims: Mutex::default(),
        last_remarks: Mutex::default(),
        written_at: Mutex::default(),
    };
    let watches = futures_util::future::join_all(
        config
            .flavours
            .iter()
            .zip(health.iter())
            .map(|(flavour, health)| controller.watch(*flavour, health, sender.clone())),
    );
    let looking = run_queue(
        happened,
        PACE,
        controller.metrics.runtime(),
        async |name: String| controller.reconcile(&name).await,
        stop,
    );
    tokio::select! {
        _ = watches => {}
        () = looking => {}
    }
}

/// How the watch of each flavour runs: none has begun.
fn watch_health(flavours: &[Cleaned]) -> Vec<Health> {
    let name = |flavour: &Cleaned| match flavour {
        Cleaned::Claims => "cleaned-claims",
        Cleaned::TestClusters => "cleaned-testclusters",
    };
    flavours.iter().map(|flavour| Health::new(name(flavour))).collect()
}

fn claims_api(client: &Client, flavour: Cleaned, namespace: Option<&str>) -> Api<PartialObject> {
    let (kind, plural) = flavour.kind();
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, kind), plural);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CleanupController {
    /// Watches the claims of one flavour. The spec tells which of them want cleanup, so not only their metadata is read; little is cached of
    /// these, and nothing of the others.
    async fn watch(&self, flavour: Cleaned, health: &Health, sender: UnboundedSender<String>) {
        let (kind, plural) = flavour.kind();
        let key = |object: &PartialObject| {
            format!("{plural}/{}/{}", object.namespace().unwrap_or_default(), object.name_any())
        };
        let on_apply = |key: &str, object: &PartialObject| {
            let Some(claim) = observe::read_claim(&object.metadata, &object.body) else {
                self.forget_claim(key);
                return;
            };
            let identity = Identity {
                kind,
                namespace: object.namespace().unwrap_or_default(),
                name: object.name_any(),
                uid: object.uid().unwrap_or_default(),
                version: object.resource_version().unwrap_or_default(),
            };
            let before = lock(&self.claims).insert(
                key.to_owned(),
                ObservedClaim { claim: claim.clone(), identity: identity.clone(), flavour },
            );
            if before.is_none_or(|old| old.claim != claim || old.identity.uid != identity.uid) {
                let _ = sender.send(key.to_owned());
            }
        };
        let paged = watcher::Config::default().page_size(PAGE);
        track(claims_api(&self.client, flavour, None), paged, health, key, on_apply, |key| {
            self.forget_claim(key);
        })
        .await;
    }

    /// Forgets a claim that is deleted or does not want cleanup any more. An annotation on it means nothing then.
    fn forget_claim(&self, key: &str) {
        lock(&self.claims).remove(key);
        lock(&self.last_remarks).remove(key);
        lock(&self.written_at).remove(key);
        self.runs.watch_runs(key, &[]);
    }

    /// Reconciles a claim, and returns the next action.
    async fn reconcile(&self, key: &str) -> Action {
        let Some(observed) = lock(&self.claims).get(key).cloned() else { return Action::AwaitChange };
        let passed = with_timeout("clean_up", PATIENCE, self.reconcile_claim(key, &observed)).await;
        // The claim may be deleted meanwhile, and nothing would forget it then, nor end the watches of its runs.
        if !lock(&self.claims).contains_key(key) {
            self.forget_claim(key);
        }
        match passed {
            Ok(after) => after.into(),
            // There is a newer version. Until the watch has it, an immediate retry fails in the same way.
            Err(Error { reason: Reason::Conflict, .. }) => {
                let newer = lock(&self.claims).get(key).is_some_and(|now| now.identity != observed.identity);
                Action::RequeueAfter(if newer { DEBOUNCE } else { RETRY })
            }
            Err(Error { action, reason, message }) => {
                self.metrics.runtime().failed(action, reason.as_str());
                tracing::warn!(claim = key, error = message, "a claim could not be cleaned up");
                Action::Failed
            }
        }
    }

    async fn reconcile_claim(&self, key: &str, observed: &ObservedClaim) -> Result<Option<Duration>, Cause> {
        let ObservedClaim { claim, identity, flavour } = observed;
        let mut fates = Vec::new();
        // For a claim that ends anyway no run has to be read.
        let needed = !claim.ends && claim.tear_down != Some(true) && claim.retention.is_some();
        for run in claim.runs_to_read().iter().filter(|_| needed) {
            fates.push(self.runs.read_fate(run).await?);
        }
        let now = (self.now)();
        let mut step = plan(claim, &fates, now);
        self.runs.watch_runs(key, if step.follow { &claim.runs } else { &[] });
        if fates.contains(&Fate::Forbidden) {
            self.metrics.runtime().failed("read_owner", Reason::Forbidden.as_str());
        }
        let api = claims_api(&self.client, *flavour, Some(&identity.namespace));
        let mut version = identity.version.clone();
        let calm = lock(&self.written_at).get(key).is_none_or(|at| at.elapsed() >= RESPITE);
        if let Some(text) = step.note.as_ref().filter(|_| calm) {
            let Some(now) = write_annotation(&api, identity, text.as_deref()).await? else { return Ok(None) };
            version = now;
            lock(&self.written_at).insert(key.to_owned(), Instant::now());
            tracing::info!(claim = key, note = text, "noted by whom it is needed, or since when it is not");
        }
        if step.tear_down && !tear_down(&api, identity, &version).await? {
            step.remark = Some(Remark::Held);
        }
        self.emit_remark(key, identity, &step).await?;
        let remaining =
            step.due.map_or(NET, |at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        let patience = if step.note.is_some() && !calm { RESPITE } else { self.poll };
        Ok(step.follow.then(|| remaining.min(patience)))
    }

    /// Emits a remark on a claim once. A plan from before this process started was reported when it was recorded.
    async fn emit_remark(&self, key: &str, claim: &Identity, step: &CleanupPlan) -> Result<(), Cause> {
        let Some(remark) = step.remark else { return Ok(()) };
        let note = |made| {
            let last = LastRemark { uid: claim.uid.clone(), remark, made };
            lock(&self.last_remarks).insert(key.to_owned(), last);
        };
        let before = lock(&self.last_remarks).get(key).filter(|last| last.uid == claim.uid).cloned();
        let known = before.is_none() && matches!(remark, Remark::Planned(_)) && step.note.is_none();
        let before = before.filter(|last| last.remark == remark);
        if known || before.as_ref().is_some_and(|last| last.made) {
            note(true);
            return Ok(());
        }
        note(false);
        let event = remark.event();
        if before.is_none() {
            self.count_remark(remark);
            if event.warning {
                tracing::warn!(claim = key, reason = event.reason, "{}", event.note);
            } else {
                tracing::info!(claim = key, reason = event.reason, "{}", event.note);
            }
        }
        let regarding = ObjectReference {
            api_version: Some(API_VERSION.into()),
            kind: Some(claim.kind.into()),
            namespace: Some(claim.namespace.clone()),
            name: Some(claim.name.clone()),
            uid: Some(claim.uid.clone()),
            ..ObjectReference::default()
        };
        let events = Api::namespaced(self.client.clone(), &claim.namespace);
        emit_event(&events, &self.instance, regarding, &event, (self.now)()).await?;
        note(true);
        Ok(())
    }

    fn count_remark(&self, remark: Remark) {
        match remark {
            Remark::TornDown => self.metrics.decided_teardown(Teardown::Told),
            Remark::Held => self.metrics.decided_teardown(Teardown::Held),
            Remark::Forbidden | Remark::NoOwner | Remark::Unreadable | Remark::Planned(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
