//! Controller of ClusterClaims, next to the one of EphemeralClusters: maps events to claims, and reconciles each. A second one checks published
//! Secrets whose claim may be gone.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use jiff::Timestamp;
use kube::{Api, Resource, api::ListParams};
use serde::de::DeserializeOwned;
use testplatform_runtime::{
    controller::{self, Running},
    error::{Error, is_not_found},
    reconcile::{Action, Reconciler},
    workqueue::RequestQueue,
};
use tokio::time::{sleep, timeout};

use super::{
    caches::ClaimCaches,
    execute::{ClaimExecutor, ClaimFailure},
    hub::ClaimHub,
    metrics::ClaimMetrics,
    object::ClusterClaim,
    observe::ClaimObserver,
    observed_state::{ClaimSettings, ClaimState},
    operation::ClaimPlan,
    plan,
};
use crate::credentials::{
    account::guest_limiter::GuestLimiter,
    publish::{OrphanedSecrets, SecretOwners as _},
};

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

/// State of the controller.
struct ClaimController {
    observer: ClaimObserver,
    executor: ClaimExecutor,
    metrics: Arc<ClaimMetrics>,
    now: fn() -> Timestamp,
}

/// Runs until `stop` and finishes started reconciles. On a hub without Hive it waits for Hive, and disturbs nothing.
pub fn run(options: Options, metrics: Arc<ClaimMetrics>, stop: Running) -> Running {
    Box::pin(run_until(options, metrics, stop))
}

async fn run_until(options: Options, metrics: Arc<ClaimMetrics>, stop: Running) {
    let stop = stop.shared();
    tokio::select! {
        () = stop.clone() => return,
        () = until_served(&options) => {}
    }
    let controller = ClaimController::new(options, metrics);
    let ClaimObserver { hub, caches, patience, callers, .. } = &controller.observer;
    let orphans = OrphanedSecrets {
        owners: &controller.observer,
        owners_health: &caches.health[0],
        published: &caches.secrets,
        vault: hub.credentials_namespace(),
        request_timeout: *patience,
        callers,
    };
    tokio::join!(controller::run(&controller, stop.clone()), controller::run(&orphans, stop),);
    callers.wait_idle().await;
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

impl ClaimController {
    fn new(options: Options, metrics: Arc<ClaimMetrics>) -> Self {
        let Options { hub, settings, patience, instance, now } = options;
        let caches =
            Arc::new(ClaimCaches::new(hub.credentials_namespace().namespace(), metrics.runtime_metrics()));
        metrics.attach_claims(&caches);
        let callers = GuestLimiter::default();
        let executor = ClaimExecutor { hub: hub.clone(), instance, patience, callers: callers.clone(), now };
        let observer = ClaimObserver { hub, caches, settings, patience, callers };
        Self { observer, executor, metrics, now }
    }

    /// Reports the failure to the owner, if it concerns the owner.
    async fn report(&self, claim: &ClusterClaim, ClaimFailure { action, error }: ClaimFailure<'_>) -> Error {
        let failure = action.zip(error.owner_message());
        let notes = failure.and_then(|(action, message)| plan::failed(claim, action, &message));
        if let Some(notes) = notes
            && let Err(unsaid) = self.executor.write_annotations(claim, &notes).await
        {
            self.metrics.runtime_metrics().failed(unsaid.action, unsaid.reason.as_str());
        }
        error
    }
}

impl Reconciler for ClaimController {
    type Key = String;
    type Observed = (Arc<ClusterClaim>, ClaimState);
    type Plan = ClaimPlan;
    type Error = Error;

    fn kind(&self, _key: &Self::Key) -> &'static str {
        "ClusterClaim"
    }

    fn uid<'o>(&self, observed: &'o Self::Observed) -> Option<&'o str> {
        observed.0.metadata.uid.as_deref()
    }

    fn request_queue(&self) -> &RequestQueue<String> {
        &self.observer.caches.queue
    }

    async fn watch(&self) {
        Box::pin(self.observer.caches.watch(&self.observer.hub)).await;
    }

    async fn wait_for_caches(&self) {
        self.observer.wait_for_caches().await;
        let caches = &self.observer.caches;
        tracing::info!(
            clusterclaims = caches.claims.len(),
            clusterpools = caches.pools.len(),
            clusterdeployments = caches.deployments.len(),
            "caches filled"
        );
    }

    async fn observe(&self, key: &String, bypass_caches: bool) -> Result<Option<Self::Observed>, Error> {
        let Some(cached) = self.observer.caches.claim(key) else { return Ok(None) };
        self.observer.observe_claim(cached, bypass_caches).await
    }

    fn is_cached(&self, key: &String) -> bool {
        self.observer.caches.claim(key).is_some()
    }

    fn plan(&self, (claim, observed): &Self::Observed) -> ClaimPlan {
        plan::plan(claim, observed, (self.now)())
    }

    async fn execute(
        &self,
        _key: &String,
        (claim, _): Self::Observed,
        plan: ClaimPlan,
    ) -> Result<Action, Error> {
        let forgone = match self.executor.run(&claim, &plan).await {
            Ok(forgone) => forgone,
            Err(failure) => return Err(self.report(&claim, failure).await),
        };
        for error in forgone {
            self.metrics.runtime_metrics().failed(error.action, error.reason.as_str());
            let (namespace, clusterclaim) = (claim.namespace(), claim.name());
            tracing::warn!(namespace, clusterclaim, %error, "object skipped");
        }
        Ok(plan.requeue)
    }
}
