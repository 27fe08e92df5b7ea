//! Controller of claims with cleanup: maps events to claims, and reconciles each.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use jiff::Timestamp;
use kube::{
    Api, Client, ResourceExt as _,
    core::{ApiResource, GroupVersionKind},
    runtime::watcher,
};
use testplatform_apis::claim::{GROUP, VERSION};
use testplatform_runtime::{
    controller::{self, Running},
    error::{Cause, Reason},
    reconcile::{Action, Reconciler},
    watch::{Health, track},
    workqueue::{DEBOUNCE, RequestQueue, Settings},
};
use tokio::time::Instant;

use super::{
    execute::{Identity, tear_down, write_annotation},
    metrics::CleanupMetrics,
    observe,
    plan::{Claim, CleanupPlan, Fate, Remark, plan},
    runs::Runs,
};
use crate::{
    config::{Cleaned, Cleanups},
    sparse_object::{PAGE, PartialObject},
};

/// Time limit of a reconcile.
const RECONCILE_TIMEOUT: Duration = Duration::from_secs(30);
const SETTINGS: Settings = Settings::uncached("cleanup", 8).with_timeout("clean_up", RECONCILE_TIMEOUT);
/// When the watch has not seen yet what was written.
const RETRY: Duration = Duration::from_secs(10);
/// Minimum interval between writes of an annotation, so that the controller does not fight another writer in a loop.
const RESPITE: Duration = Duration::from_secs(10);
/// However quiet it is.
const NET: Duration = Duration::from_mins(10);

/// Options of the controller.
pub type Options = controller::Options<Cleanups>;

/// A claim as the watch had it last.
#[derive(Clone)]
pub(super) struct ObservedClaim {
    claim: Claim,
    identity: Identity,
    flavour: Cleaned,
}

/// Last remark on a claim.
#[derive(Clone)]
pub(super) struct LastRemark {
    pub(super) uid: String,
    pub(super) remark: Remark,
    /// Whether its event was made; until then it is tried again.
    pub(super) made: bool,
}

/// State of the controller.
pub(super) struct CleanupController {
    pub(super) client: Client,
    pub(super) instance: String,
    pub(super) now: fn() -> Timestamp,
    pub(super) poll: Duration,
    pub(super) flavours: Vec<Cleaned>,
    pub(super) metrics: Arc<CleanupMetrics>,
    /// Of the watch of each flavour.
    pub(super) health: Arc<Vec<Health>>,
    pub(super) queue: Arc<RequestQueue<String>>,
    pub(super) runs: Runs,
    /// Those alone that want it.
    pub(super) claims: Mutex<BTreeMap<String, ObservedClaim>>,
    /// By claim: what was said of it last.
    pub(super) last_remarks: Mutex<BTreeMap<String, LastRemark>>,
    /// By claim: when its note was last written.
    pub(super) written_at: Mutex<BTreeMap<String, Instant>>,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<CleanupMetrics>, stop: Running) -> Running {
    Box::pin(async move { controller::run(&CleanupController::new(options, metrics), stop).await })
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

pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reconciler for CleanupController {
    type Key = String;
    /// A claim, and how the runs that own it are.
    type Observed = (ObservedClaim, Vec<Fate>);
    type Plan = CleanupPlan;
    type Error = Cause;

    fn kind(&self, key: &Self::Key) -> &'static str {
        let plural = key.split('/').next();
        let flavour = self.flavours.iter().find(|flavour| Some(flavour.kind().1) == plural);
        flavour.map_or("", |flavour| flavour.kind().0)
    }

    fn uid<'o>(&self, observed: &'o Self::Observed) -> Option<&'o str> {
        Some(&observed.0.identity.uid)
    }

    fn request_queue(&self) -> &RequestQueue<String> {
        &self.queue
    }

    async fn watch(&self) {
        let watched = self.flavours.iter().zip(self.health.iter());
        join_all(watched.map(|(flavour, health)| self.watch_claims(*flavour, health))).await;
    }

    async fn observe(&self, key: &String, _bypass_caches: bool) -> Result<Option<Self::Observed>, Cause> {
        let Some(observed) = lock(&self.claims).get(key).cloned() else { return Ok(None) };
        let claim = &observed.claim;
        let mut fates = Vec::new();
        // For a claim that ends anyway no run has to be read.
        let needed = !claim.ends && claim.tear_down != Some(true) && claim.retention.is_some();
        for run in claim.runs_to_read().iter().filter(|_| needed) {
            fates.push(self.runs.read_fate(run).await?);
        }
        Ok(Some((observed, fates)))
    }

    fn plan(&self, (observed, fates): &Self::Observed) -> CleanupPlan {
        plan(&observed.claim, fates, (self.now)())
    }

    async fn execute(
        &self,
        key: &String,
        (observed, fates): Self::Observed,
        plan: CleanupPlan,
    ) -> Result<Action, Cause> {
        match self.clean_up(key, &observed, &fates, plan).await {
            // There is a newer version. Until the watch has it, an immediate retry fails in the same way.
            Err(Cause { reason: Reason::Conflict, .. }) => {
                let newer = lock(&self.claims).get(key).is_some_and(|now| now.identity != observed.identity);
                Ok(Action::RequeueAfter(if newer { DEBOUNCE } else { RETRY }))
            }
            after => after.map(Action::from),
        }
    }

    /// The claim may be deleted meanwhile, and nothing would forget it then, nor end the watches of its runs.
    fn forget_deleted(&self, key: &String) {
        if !lock(&self.claims).contains_key(key) {
            self.forget_claim(key);
        }
    }
}

impl CleanupController {
    fn new(Options { client, config, instance, now, .. }: Options, metrics: Arc<CleanupMetrics>) -> Self {
        let health = Arc::new(watch_health(&config.flavours));
        metrics.attach_cleanups(&health);
        let queue = Arc::new(RequestQueue::new(SETTINGS, metrics.runtime_metrics()));
        Self {
            runs: Runs::new(client.clone(), Arc::clone(&queue)),
            client,
            instance,
            now,
            poll: Duration::try_from(config.poll.as_signed()).unwrap_or(NET),
            flavours: config.flavours,
            health,
            queue,
            claims: Mutex::default(),
            last_remarks: Mutex::default(),
            written_at: Mutex::default(),
            metrics,
        }
    }

    /// Watches the claims of one flavour. The spec tells which of them want cleanup, so not only their metadata is read; little is cached of
    /// these, and nothing of the others.
    async fn watch_claims(&self, flavour: Cleaned, health: &Health) {
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
                self.queue.push(key);
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

    async fn clean_up(
        &self,
        key: &str,
        ObservedClaim { claim, identity, flavour }: &ObservedClaim,
        fates: &[Fate],
        mut step: CleanupPlan,
    ) -> Result<Option<Duration>, Cause> {
        self.runs.watch_runs(key, if step.follow { &claim.runs } else { &[] });
        if fates.contains(&Fate::Forbidden) {
            self.metrics.runtime_metrics().failed("read_owner", Reason::Forbidden.as_str());
        }
        let api = claims_api(&self.client, *flavour, Some(&identity.namespace));
        let mut version = identity.version.clone();
        let calm = lock(&self.written_at).get(key).is_none_or(|at| at.elapsed() >= RESPITE);
        if let Some(text) = step.note.as_ref().filter(|_| calm) {
            let Some(now) = write_annotation(&api, identity, text.as_deref()).await? else { return Ok(None) };
            version = now;
            lock(&self.written_at).insert(key.to_owned(), Instant::now());
            tracing::info!(claim = key, note = text, "owner runs recorded");
        }
        if step.tear_down && !tear_down(&api, identity, &version).await? {
            step.remark = Some(Remark::Held);
        }
        self.emit_remark(key, identity, &step).await?;
        let until = |at: Timestamp| Duration::try_from(at.duration_since((self.now)())).unwrap_or_default();
        let remaining = step.due.map_or(NET, until);
        let patience = if step.note.is_some() && !calm { RESPITE } else { self.poll };
        Ok(step.follow.then(|| remaining.min(patience)))
    }
}

#[cfg(test)]
mod tests;
