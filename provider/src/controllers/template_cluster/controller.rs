//! Controller of each cluster kind: maps events to clusters, and reconciles each.

use std::{sync::Arc, time::Duration};

use futures_util::{
    FutureExt as _,
    future::{Shared, join_all},
};
use jiff::Timestamp;
use kube::{Api, api::ListParams, core::ApiResource};
use testplatform_apis::template::Backend;
use testplatform_runtime::{
    controller::{self, Running},
    error::{Error, is_not_found},
    event::Event,
    reconcile::{Action, Reconciler},
    workqueue::RequestQueue,
};
use tokio::time::{sleep, timeout};

use super::{
    caches::ClusterCaches,
    execute::{ClusterExecutor, ClusterFailure},
    metrics::ClusterMetrics,
    observe::ClusterObserver,
    observed_state::{ClusterSettings, ClusterState},
    overdue::LatestEnd,
    plan::{self, ClusterPlan},
};
use crate::{
    config::{Clusters, ClustersOf},
    credentials::{
        account::guest_limiter::GuestLimiter,
        cluster_kind,
        cluster_lookup::resource,
        cluster_object::Cluster,
        publish::{CredentialsNamespace, OrphanedSecrets, SOON, SecretOwners as _},
    },
};

/// How often it is asked whether the hub serves a kind by now.
const ABSENT: Duration = Duration::from_secs(30);

/// Options of the controller.
pub type Options = controller::Options<Clusters>;

/// State of the controller of one kind.
struct ClusterController {
    observer: ClusterObserver,
    executor: ClusterExecutor,
    metrics: Arc<ClusterMetrics>,
    now: fn() -> Timestamp,
}

/// Runs until `stop` and finishes started reconciles. Kinds that the hub does not serve are waited for.
pub fn run(options: Options, metrics: Arc<ClusterMetrics>, stop: Running) -> Running {
    Box::pin(async move {
        let stop = stop.shared();
        let backends = options.config.backends.iter();
        let kinds =
            backends.map(|(backend, of)| serve(*backend, of, &options, metrics.clone(), stop.clone()));
        join_all(kinds.map(Box::pin)).await;
    })
}

/// Runs the controller of one kind.
async fn serve(
    backend: Backend,
    of: &ClustersOf,
    options: &Options,
    metrics: Arc<ClusterMetrics>,
    stop: Shared<Running>,
) {
    let resource = tokio::select! {
        () = stop.clone() => return,
        resource = until_served(backend, options) => resource,
    };
    let controller = ClusterController::new(backend, resource, of, options, metrics);
    let ClusterObserver { vault, caches, patience, callers, .. } = &controller.observer;
    let orphans = OrphanedSecrets {
        owners: &controller.observer,
        owners_health: &caches.health[0],
        published: &caches.secrets,
        vault,
        request_timeout: *patience,
        callers,
    };
    tokio::join!(controller::run(&controller, stop.clone()), controller::run(&orphans, stop));
    callers.wait_idle().await;
}

/// Waits until the hub serves a kind, and returns the best version. Logged once; the watches report all other errors.
async fn until_served(backend: Backend, options: &Options) -> ApiResource {
    let kind = backend.cluster_kind();
    let mut warned = false;
    loop {
        for version in kind.versions {
            let resource = resource(kind, version);
            if !is_absent(options, &resource).await {
                return resource;
            }
        }
        if !warned {
            let (group, plural, versions) = (kind.group, kind.plural, kind.versions.join(" or "));
            tracing::warn!(
                "this hub has no {plural} of {group} in version {versions}: nothing is done about them until it has"
            );
            warned = true;
        }
        sleep(ABSENT).await;
    }
}

async fn is_absent(options: &Options, resource: &ApiResource) -> bool {
    let api: Api<Cluster> = Api::all_with(options.client.clone(), resource);
    let one = ListParams::default().limit(1);
    matches!(timeout(options.request_timeout, api.list_metadata(&one)).await, Ok(Err(error)) if is_not_found(&error))
}

impl ClusterController {
    fn new(
        backend: Backend,
        resource: ApiResource,
        of: &ClustersOf,
        options: &Options,
        metrics: Arc<ClusterMetrics>,
    ) -> Self {
        let Options { client, config, request_timeout: patience, instance, now, .. } = options.clone();
        let kind = cluster_kind::of(backend);
        let settings = ClusterSettings::from(&config);
        let vault = CredentialsNamespace::new(client, &settings.credentials_namespace);
        let (served, namespace) = (of.clone(), vault.namespace());
        let caches = ClusterCaches::new(kind, resource.clone(), served, namespace, metrics.runtime_metrics());
        let caches = Arc::new(caches);
        metrics.attach_clusters(&caches);
        let callers = GuestLimiter::default();
        let executor = ClusterExecutor {
            backend,
            resource: resource.clone(),
            vault: vault.clone(),
            instance,
            patience,
            callers: callers.clone(),
            now,
        };
        let observer = ClusterObserver { kind, resource, vault, caches, settings, patience, callers };
        Self { observer, executor, metrics, now }
    }

    /// Reports the failure to the owner, if it concerns the owner.
    async fn report(&self, object: &Cluster, ClusterFailure { action, error }: ClusterFailure<'_>) -> Error {
        let failure = action.zip(error.owner_message());
        let notes = failure.and_then(|(action, message)| plan::failed(object, action, &message));
        if let Some(notes) = notes
            && let Err(unsaid) = self.executor.write_annotations(object, &notes).await
        {
            self.metrics.runtime_metrics().failed(unsaid.action, unsaid.reason.as_str());
        }
        error
    }
}

/// A cluster, and everything around it that its plan depends on.
enum ClusterObservation {
    /// Its latest end has passed: the event to emit.
    Overdue(Arc<Cluster>, Event),
    /// It goes on.
    Live(Arc<Cluster>, Box<ClusterState>),
}

impl Reconciler for ClusterController {
    type Key = String;
    type Observed = ClusterObservation;
    /// None: the cluster is deleted.
    type Plan = Option<ClusterPlan>;
    type Error = Error;

    fn kind(&self, _key: &Self::Key) -> &'static str {
        self.observer.caches.backend().cluster_kind().kind
    }

    fn uid<'o>(&self, observed: &'o ClusterObservation) -> Option<&'o str> {
        match observed {
            ClusterObservation::Overdue(cluster, _) | ClusterObservation::Live(cluster, _) => {
                cluster.metadata.uid.as_deref()
            }
        }
    }

    fn request_queue(&self) -> &RequestQueue<String> {
        &self.observer.caches.queue
    }

    async fn watch(&self) {
        let vault = &self.observer.vault;
        self.observer.caches.watch(vault.client(), vault).await;
    }

    async fn wait_for_caches(&self) {
        self.observer.wait_for_caches().await;
        let resource = &self.observer.resource;
        let (kind, clusters) = (&resource.kind, self.observer.caches.clusters.len());
        tracing::info!(kind, clusters, version = resource.version, "caches filled");
    }

    async fn observe(&self, key: &String, bypass_caches: bool) -> Result<Option<ClusterObservation>, Error> {
        let Some(cached) = self.observer.caches.cluster(key) else { return Ok(None) };
        if let LatestEnd::Overdue(event) = LatestEnd::of(&cached, &self.observer.settings, (self.now)()) {
            return Ok(Some(ClusterObservation::Overdue(cached, event)));
        }
        let observed = self.observer.observe(cached, bypass_caches).await?;
        Ok(observed.map(|(object, state)| ClusterObservation::Live(object, Box::new(state))))
    }

    fn is_cached(&self, key: &String) -> bool {
        self.observer.caches.cluster(key).is_some()
    }

    fn plan(&self, observed: &ClusterObservation) -> Option<ClusterPlan> {
        let ClusterObservation::Live(object, state) = observed else { return None };
        Some(plan::plan(self.observer.kind, object, state, (self.now)()))
    }

    async fn execute(
        &self,
        _key: &String,
        observed: ClusterObservation,
        plan: Option<ClusterPlan>,
    ) -> Result<Action, Error> {
        let (object, plan) = match (observed, plan) {
            (ClusterObservation::Overdue(object, event), _) => {
                self.executor.end_overdue(&object, &event).await?;
                // Its deletion is seen by the watch.
                return Ok(Action::requeue_after(SOON));
            }
            (ClusterObservation::Live(object, _), plan) => (object, plan.unwrap_or_default()),
        };
        let forgone = match self.executor.run(&object, &plan).await {
            Ok(forgone) => forgone,
            Err(failure) => return Err(self.report(&object, failure).await),
        };
        for error in forgone {
            self.metrics.runtime_metrics().failed(error.action, error.reason.as_str());
            let (namespace, cluster) = (object.namespace(), object.name());
            tracing::warn!(namespace, cluster, %error, "object skipped");
        }
        Ok(plan.requeue)
    }
}
