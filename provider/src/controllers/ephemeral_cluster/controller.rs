//! Controller of EphemeralClusters: observes, plans and executes. It runs together with that of orphaned jobs.

mod orphaned_jobs;

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use jiff::Timestamp;
use kube::Client;
use testplatform_runtime::{
    client::Trust,
    controller::{self, Running},
    error::{Cause, Error, Reason},
    reconcile::{Action, Reconciler},
    workqueue::RequestQueue,
};
use tokio::time::sleep;

use self::orphaned_jobs::OrphanedJobs;
use super::{
    caches::Caches,
    execute::{ExecutionFailure, Executor, Patience, Reach, Reached},
    gather::StatusWrites,
    hub::Hub,
    metrics::JobMetrics,
    object::EphemeralCluster,
    observe::{MakeDraft, Observer},
    observed_state::ObservedState,
    operation::{Operation, Plan},
    plan, proxy,
    settings::Settings,
    status::differs,
};
use crate::{build_clusters::BuildClusterSet, credentials::account::guest_limiter::GuestLimiter};

/// Settings for EphemeralClusters.
#[derive(Clone)]
pub enum ControllerMode {
    /// They are made to happen.
    Fulfil(MakeDraft),
    /// Another controller fulfils them; their credentials are kept in sync.
    Proxy,
}

/// Where the build clusters are known from.
#[derive(Clone)]
pub enum BuildClusterSource {
    /// A directory with a kubeconfig for each, and who vouches for those that name no authority.
    Directory(PathBuf, Trust),
    /// These, by name.
    Fixed(Vec<(String, Client)>),
}

/// Options of the controller.
#[derive(Clone)]
pub struct Options {
    /// Whether EphemeralClusters are fulfilled here.
    pub mode: ControllerMode,
    /// Where.
    pub hub: Hub,
    /// Durations and names.
    pub settings: Arc<Settings>,
    /// The build clusters.
    pub build_clusters: BuildClusterSource,
    /// How long one call to the hub may take.
    pub patience: Duration,
    /// How long one call to a build cluster may take.
    pub build_cluster_call: Duration,
    /// Time for which a build cluster that stops answering counts as unchanged.
    pub build_cluster_patience: Duration,
    /// Identity of this process.
    pub instance: String,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// State that both controllers share.
struct Controller {
    mode: ControllerMode,
    hub: Hub,
    settings: Arc<Settings>,
    caches: Arc<Caches>,
    build_clusters: Arc<BuildClusterSet>,
    sites: BuildClusterSource,
    observer: Observer,
    executor: Executor,
    status_writes: StatusWrites,
    metrics: Arc<JobMetrics>,
    now: fn() -> Timestamp,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<JobMetrics>, stop: Running) -> Running {
    Box::pin(run_until(options, metrics, stop))
}

async fn run_until(options: Options, metrics: Arc<JobMetrics>, stop: Running) {
    let controller = Controller::new(options, metrics);
    controller.metrics.attach(&controller.caches, &controller.build_clusters);
    match &controller.sites {
        BuildClusterSource::Fixed(clients) => {
            for (name, client) in clients {
                controller.build_clusters.add_cluster(name, client.clone());
            }
        }
        BuildClusterSource::Directory(directory, trust) => {
            // All build clusters are known before the first reconcile, so that none counts as unknown because it was read late.
            if let Err(error) = controller.build_clusters.read_directory(directory, *trust).await {
                tracing::error!(directory = %directory.display(), %error, "build cluster kubeconfigs not read");
            }
        }
    }
    let (stop, orphans) = (stop.shared(), OrphanedJobs(&controller));
    tokio::join!(controller::run(&controller, stop.clone()), controller::run(&orphans, stop));
    controller.observer.callers.wait_idle().await;
}

impl Controller {
    fn new(options: Options, metrics: Arc<JobMetrics>) -> Self {
        let Options { mode, hub, settings, patience, build_cluster_call, instance, now, .. } = options;
        let (moving, moved) = tokio::sync::mpsc::unbounded_channel();
        let build_clusters = BuildClusterSet::new(moving, options.build_cluster_patience);
        let caches = Arc::new(Caches::new(hub.clone(), moved, metrics.runtime_metrics()));
        let reach: Reach = {
            let build_clusters = Arc::clone(&build_clusters);
            Arc::new(move |name: &str| {
                let away = |why| Cause::new(Reason::Unreachable, format!("build cluster {name}: {why}"));
                let cluster = build_clusters.get_cluster(name).map_err(away)?;
                // A slow build cluster must not block requests for another one.
                let busy = || Cause::new(Reason::NotYet, format!("others wait for build cluster {name}"));
                let leave = Some(cluster.acquire_permit().ok_or_else(busy)?);
                Ok(Reached { client: cluster.client(), leave })
            })
        };
        let callers = GuestLimiter::default();
        let observer = Observer {
            hub: hub.clone(),
            caches: Arc::clone(&caches),
            build_clusters: Arc::clone(&build_clusters),
            settings: Arc::clone(&settings),
            draft: match &mode {
                ControllerMode::Fulfil(draft) => Some(Arc::clone(draft)),
                ControllerMode::Proxy => None,
            },
            patience,
            build_cluster_call,
            callers: callers.clone(),
            now,
        };
        let patience = Patience { hub: patience, build_clusters: build_cluster_call };
        let executor = Executor::new(hub.clone(), reach, callers, &instance, patience, now);
        let sites = options.build_clusters;
        Self {
            mode,
            hub,
            settings,
            caches,
            build_clusters,
            sites,
            observer,
            executor,
            status_writes: StatusWrites::default(),
            metrics,
            now,
        }
    }

    async fn wait_until_filled(&self) {
        // Two controllers wait for the same caches, and a store of kube wakes only the last one that waits for it.
        while !self.caches.are_filled() {
            sleep(Duration::from_millis(20)).await;
        }
        // An unreachable build cluster is waited for as long as it may be unreachable; otherwise every restart would report clusters as out of
        // reach.
        self.build_clusters.wait_for_first_list().await;
    }

    /// Reports the failure to the owner, if it concerns the owner. In proxy mode the status belongs to the other controller.
    async fn report(&self, failure: ExecutionFailure<'_>, step: &Plan) -> Error {
        let ExecutionFailure { mut object, action, error } = failure;
        let message = action.and_then(|action| failure_message(action, &error));
        let status = match (&self.mode, &object, action, message) {
            (ControllerMode::Fulfil(_), Some(object), Some(action), Some(message)) => {
                plan::failed(object, step, action, &message, (self.now)())
            }
            _ => None,
        };
        if let Some(status) = status
            && let Err(unsaid) = self.executor.status(&mut object, &status).await
        {
            self.count(&unsaid);
        }
        error
    }

    fn count(&self, error: &Error) {
        self.metrics.runtime_metrics().failed(error.action, error.reason.as_str());
    }
}

impl Reconciler for Controller {
    type Key = String;
    type Observed = (Arc<EphemeralCluster>, ObservedState);
    type Plan = Plan;
    type Error = Error;

    fn kind(&self, _key: &Self::Key) -> &'static str {
        "EphemeralCluster"
    }

    fn uid<'o>(&self, observed: &'o Self::Observed) -> Option<&'o str> {
        observed.0.metadata.uid.as_deref()
    }

    fn request_queue(&self) -> &RequestQueue<String> {
        &self.caches.requests
    }

    async fn watch(&self) {
        let watch_directory = async {
            if let BuildClusterSource::Directory(directory, trust) = &self.sites {
                self.build_clusters.watch_directory(directory, *trust).await;
            }
        };
        tokio::join!(self.caches.watch(), watch_directory);
    }

    async fn wait_for_caches(&self) {
        self.wait_until_filled().await;
        tracing::info!(
            ephemeralclusters = self.caches.ephemeral_clusters.len(),
            prowjobs = self.caches.prow_jobs.len(),
            "caches filled"
        );
    }

    async fn observe(&self, name: &String, bypass_caches: bool) -> Result<Option<Self::Observed>, Error> {
        let Some(cached) = self.caches.ephemeral_cluster(name) else { return Ok(None) };
        self.observer.observe(cached, bypass_caches).await
    }

    fn is_cached(&self, name: &String) -> bool {
        self.caches.ephemeral_cluster(name).is_some()
    }

    fn plan(&self, (object, observed): &Self::Observed) -> Plan {
        match &self.mode {
            ControllerMode::Fulfil(_) => plan::plan(object, observed, (self.now)()),
            ControllerMode::Proxy => proxy::plan_proxy(object, observed, (self.now)()),
        }
    }

    async fn execute(
        &self,
        name: &String,
        (object, _): Self::Observed,
        mut step: Plan,
    ) -> Result<Action, Error> {
        if let Some(remaining) = self.status_writes.postpone(&object, &mut step) {
            step.requeue = step.requeue.earlier(Action::RequeueAfter(remaining));
        }
        let outcome = match self.executor.run(Some(EphemeralCluster::clone(&object)), &step).await {
            Ok(outcome) => outcome,
            Err(failure) => return Err(self.report(failure, &step).await),
        };
        for error in &outcome.forgone {
            self.count(error);
            tracing::warn!(namespace = self.hub.namespace(), ephemeralcluster = name, %error, "object skipped");
        }
        if let Some(status) = &step.status {
            self.metrics.transition(&object, status);
            if differs(&object.status.value, status) {
                self.status_writes.record(object.name());
            }
        }
        if step.actions.contains(&Operation::RemoveFinalizer) {
            self.metrics.record_release(&object, (self.now)());
        }
        outcome.undone.map_or(Ok(step.requeue), Err)
    }
}

/// Message about a failure for the owner. A signal that fails to arrive is reported even if the failure may be transient: time is limited from
/// then on.
fn failure_message(action: &Operation, error: &Error) -> Option<String> {
    let counts = matches!(action, Operation::SignalWaitStep { .. }) && !error.reason.nothing_is_wrong();
    let refused = || "the build cluster does not take the signal; tried again".to_owned();
    error.owner_message().or_else(|| counts.then(refused))
}
