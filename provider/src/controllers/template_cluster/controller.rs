//! Controller of each cluster kind: maps events to clusters, and reconciles each.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, future::join_all};
use jiff::Timestamp;
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
    core::ApiResource,
    runtime::reflector::ObjectRef,
};
use testplatform_apis::template::Backend;
use testplatform_runtime::{
    error::is_not_found,
    queue::{Queue, Receiver, requests},
    running::Running,
    scheduler::{WORKERS, run_reconciler, until_stopped, work_until},
    watch::Health,
};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::{
    caches::{ClusterCaches, ClusterWriters},
    execute::ClusterExecutor,
    metrics::ClusterMetrics,
    observe::ClusterObserver,
    observed_state::ClusterSettings,
};
use crate::{
    config::{Clusters, ClustersOf},
    credentials::{
        account::guest_limiter::GuestLimiter,
        cluster_kind::{self as kind, ClusterKind},
        cluster_lookup::resource,
        cluster_object::Cluster,
        publish::CredentialsNamespace,
        secret::SecretMeta,
    },
};

/// Number of Secrets that are reconciled concurrently.
const CONCURRENCY_OF_ORPHANS: u16 = 2;
/// How often it is asked whether the hub serves a kind by now.
const ABSENT: Duration = Duration::from_secs(30);

/// Options of the controller.
#[derive(Clone)]
pub struct Options {
    /// The hub.
    pub client: Client,
    /// Credentials to publish, and their target namespace.
    pub config: Clusters,
    /// How long one call may take.
    pub patience: Duration,
    /// Identity of this process.
    pub instance: String,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Everything that the loops of one kind share.
pub struct ClusterController {
    pub(super) kind: &'static dyn ClusterKind,
    pub(super) resource: ApiResource,
    pub(super) of: ClustersOf,
    pub(super) vault: CredentialsNamespace,
    pub(super) caches: Arc<ClusterCaches>,
    pub(super) observer: ClusterObserver,
    pub(super) executor: ClusterExecutor,
    pub(super) queue: Queue,
    pub(super) orphans: Queue,
    pub(super) metrics: Arc<ClusterMetrics>,
    /// Of the watches.
    pub(super) health: [Health; 2],
    pub(super) now: fn() -> Timestamp,
}

/// The ends that the loops read from.
struct ClusterInlets {
    clusters: Receiver,
    orphans: Receiver,
    writers: ClusterWriters,
}

/// Runs until `stop` and finishes started reconciles. Kinds that the hub does not serve are waited for.
pub fn run(options: Options, metrics: Arc<ClusterMetrics>, stop: Running) -> Running {
    Box::pin(run_until(options, metrics, stop))
}

async fn run_until(options: Options, metrics: Arc<ClusterMetrics>, stop: Running) {
    let (stopping, stopped) = watch::channel(());
    let loops = options
        .config
        .backends
        .iter()
        .map(|(backend, of)| Box::pin(serve(*backend, of, &options, metrics.clone(), stopped.clone())));
    let mut loops = std::pin::pin!(join_all(loops));
    tokio::select! {
        _ = &mut loops => {}
        () = stop => {
            let _ = stopping.send(());
            loops.await;
        }
    }
}

/// The loop of one kind.
async fn serve(
    backend: Backend,
    of: &ClustersOf,
    options: &Options,
    metrics: Arc<ClusterMetrics>,
    stopped: watch::Receiver<()>,
) {
    let kind = kind::of(backend);
    let resource = tokio::select! {
        () = until_stopped(stopped.clone()) => return,
        resource = until_served(backend, options) => resource,
    };
    let (controller, inlets) = ClusterController::new(kind, resource, of, options, metrics);
    let controller = Arc::new(controller);
    controller.metrics.attach_clusters(&controller);
    Box::pin(controller.run(inlets, until_stopped(stopped))).await;
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
    matches!(timeout(options.patience, api.list_metadata(&one)).await, Ok(Err(error)) if is_not_found(&error))
}

/// By what a cluster is known in queues.
pub(super) fn key(object: &Cluster) -> String {
    format!("{}/{}", object.namespace(), object.name())
}

/// Names of the watch of Secrets and of their queue, next to those of the kind itself.
const fn queue_names(backend: Backend) -> [&'static str; 2] {
    match backend {
        Backend::HyperShift => ["hostedcluster-secrets", "hostedcluster-orphans"],
        Backend::ClusterApi => ["cluster-secrets", "cluster-orphans"],
        Backend::Caas => ["clustertemplateinstance-secrets", "clustertemplateinstance-orphans"],
        Backend::Osac => ["clusterorder-secrets", "clusterorder-orphans"],
    }
}

impl ClusterController {
    fn new(
        kind: &'static dyn ClusterKind,
        resource: ApiResource,
        of: &ClustersOf,
        options: &Options,
        metrics: Arc<ClusterMetrics>,
    ) -> (Self, ClusterInlets) {
        let Options { client, config, patience, instance, now } = options.clone();
        let backend = kind.backend();
        let settings = ClusterSettings::from(&config);
        let vault = CredentialsNamespace::new(client, &settings.credentials_namespace);
        let (caches, writers) = ClusterCaches::new(backend, resource.clone(), vault.namespace());
        let caches = Arc::new(caches);
        let (queue, clusters) = Queue::new();
        let (orphans, orphan_requests) = Queue::new();
        let callers = GuestLimiter::default();
        let observer = ClusterObserver {
            kind,
            resource: resource.clone(),
            vault: vault.clone(),
            caches: Arc::clone(&caches),
            settings,
            patience,
            callers: callers.clone(),
        };
        let executor = ClusterExecutor {
            backend,
            resource: resource.clone(),
            vault: vault.clone(),
            instance,
            patience,
            callers,
            now,
        };
        let health = [backend.cluster_kind().plural, queue_names(backend)[0]].map(Health::new);
        let inlets = ClusterInlets { clusters, orphans: orphan_requests, writers };
        let of = of.clone();
        let controller = Self {
            kind,
            resource,
            of,
            vault,
            caches,
            observer,
            executor,
            queue,
            orphans,
            metrics,
            health,
            now,
        };
        (controller, inlets)
    }

    async fn run(self: &Arc<Self>, inlets: ClusterInlets, stop: impl Future<Output = ()>) {
        let ClusterInlets { clusters, orphans, writers } = inlets;
        let work = async |stopped: watch::Receiver<()>| {
            self.begin().await;
            let name_of = |deleted: &ObjectRef<DynamicObject>| {
                format!("{}/{}", deleted.namespace.as_deref().unwrap_or_default(), deleted.name)
            };
            let reference = |key: &str| self.reference(key);
            let looks = run_reconciler(
                self,
                self.caches.clusters.clone(),
                requests(clusters, reference).take_until(Box::pin(until_stopped(stopped.clone()))),
                WORKERS,
                |object, controller| Box::pin(async move { controller.reconcile_cluster(object).await }),
                |deleted| self.queue.forget(&name_of(deleted)),
            );
            let secret = |name: &str| ObjectRef::<SecretMeta>::new(name).within(self.vault.namespace());
            let sweeps = run_reconciler(
                self,
                self.caches.secrets.clone(),
                requests(orphans, secret).take_until(Box::pin(until_stopped(stopped))),
                CONCURRENCY_OF_ORPHANS,
                |secret, controller| Box::pin(async move { controller.reconcile_secret(secret).await }),
                |deleted| self.orphans.forget(&deleted.name),
            );
            tokio::join!(looks, sweeps);
            self.observer.callers.wait_idle().await;
        };
        work_until(stop, self.feed(writers), || self.has_begun(), work).await;
    }

    /// Waits until every cache is filled.
    async fn begin(&self) {
        while !self.has_begun() {
            sleep(Duration::from_millis(20)).await;
        }
        let (kind, clusters) = (&self.resource.kind, self.caches.clusters.len());
        tracing::info!(kind, clusters, version = self.resource.version, "caches of clusters are filled");
    }

    fn has_begun(&self) -> bool {
        self.health.iter().all(Health::listed)
    }

    /// The backend whose clusters they are.
    pub fn backend(&self) -> Backend {
        self.kind.backend()
    }

    /// The clusters that are published here, as far as the cache knows.
    pub fn served_clusters(&self) -> Vec<Arc<Cluster>> {
        let namespace = self.vault.namespace();
        let all = self.caches.clusters.state().into_iter();
        all.filter(|object| object.is_marked_for(namespace)).collect()
    }

    /// The watches.
    pub fn health(&self) -> &[Health] {
        &self.health
    }

    /// The queues and what they hold.
    pub fn queues(&self) -> [(&'static str, &Queue); 2] {
        let backend = self.backend();
        [(backend.cluster_kind().plural, &self.queue), (queue_names(backend)[1], &self.orphans)]
    }
}
