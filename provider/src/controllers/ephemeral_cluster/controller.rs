//! Controller of EphemeralClusters: maps events to objects, and reconciles each.
//!
//! ```text
//! watches ──▶ caches ──▶ queue ──▶ observe ──▶ next ──▶ execute
//! ```
//!
//! There are two loops: one over EphemeralClusters, and one over ProwJobs whose EphemeralCluster is deleted.

mod feed;
mod gather;
mod reconcile;

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use jiff::Timestamp;
use kube::{
    Client,
    api::DynamicObject,
    runtime::reflector::{self, ObjectRef},
};
use testplatform_runtime::{
    client::Trust,
    error::{Cause, Reason},
    queue::{Queue, Receiver, requests},
    running::Running,
    scheduler::{WORKERS, run_reconciler, until_stopped, work_until},
    watch::Health,
};
use tokio::sync::mpsc::UnboundedReceiver;

use gather::StatusWrites;

use super::{
    caches::Caches,
    execute::{Executor, Patience, Reach, Reached},
    hub::Hub,
    metrics::JobMetrics,
    object::EphemeralCluster,
    observe::{MakeDraft, Observer},
    prow_job::ProwJob,
    settings::Settings,
};
use crate::{
    build_clusters::{BuildClusterEvent, BuildClusterSet},
    credentials::account::guest_limiter::GuestLimiter,
};

/// Number of orphans that are reconciled concurrently. They are rare.
const CONCURRENCY_OF_ORPHANS: u16 = 2;

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
    /// What is done.
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

/// Everything that the loops share.
pub struct Controller {
    mode: ControllerMode,
    hub: Hub,
    settings: Arc<Settings>,
    caches: Arc<Caches>,
    build_clusters: Arc<BuildClusterSet>,
    observer: Observer,
    executor: Executor,
    status_writes: StatusWrites,
    queue: Queue,
    orphans: Queue,
    metrics: Arc<JobMetrics>,
    /// Of the watches of the hub.
    health: [Health; 3],
    now: fn() -> Timestamp,
}

/// The ends that the loops read from.
struct Inlets {
    ephemeral_clusters: Receiver,
    prow_jobs: Receiver,
    moved: UnboundedReceiver<BuildClusterEvent>,
    writers: feed::Writers,
}

/// Runs until `stop`; what has begun is finished.
pub fn run(options: Options, metrics: Arc<JobMetrics>, stop: Running) -> Running {
    Box::pin(run_until(options, metrics, stop))
}

async fn run_until(options: Options, metrics: Arc<JobMetrics>, stop: Running) {
    let sites = options.build_clusters.clone();
    let (controller, inlets) = Controller::new(options, metrics);
    let controller = Arc::new(controller);
    controller.metrics.attach(&controller);
    let build_clusters = &controller.build_clusters;
    match sites {
        BuildClusterSource::Fixed(clients) => {
            for (name, client) in clients {
                build_clusters.add_cluster(&name, client);
            }
            Box::pin(controller.run(inlets, stop)).await;
        }
        BuildClusterSource::Directory(directory, trust) => {
            // All build clusters are known before the first reconcile, so that none counts as unknown because it was read late.
            if let Err(error) = build_clusters.read_directory(&directory, trust).await {
                tracing::error!(directory = %directory.display(), %error, "kubeconfigs cannot be read");
            }
            tokio::select! {
                () = controller.run(inlets, stop) => {}
                () = build_clusters.watch_directory(&directory, trust) => {}
            }
        }
    }
}

impl Controller {
    fn new(options: Options, metrics: Arc<JobMetrics>) -> (Self, Inlets) {
        let Options { mode, hub, settings, patience, build_cluster_call, instance, now, .. } = options;
        let (moving, moved) = tokio::sync::mpsc::unbounded_channel();
        let build_clusters = BuildClusterSet::new(moving, options.build_cluster_patience);
        let (ephemeral_clusters, ephemeral_cluster_writer) = reflector::store();
        let (prow_jobs, prow_job_writer) = reflector::store();
        let caches = Arc::new(Caches::new(hub.clone(), ephemeral_clusters, prow_jobs));
        let (queue, ephemeral_cluster_requests) = Queue::new();
        let (orphans, prow_job_requests) = Queue::new();
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
        let health = ["ephemeralclusters", "prowjobs", "secrets"].map(Health::new);
        let inlets = Inlets {
            ephemeral_clusters: ephemeral_cluster_requests,
            prow_jobs: prow_job_requests,
            moved,
            writers: feed::Writers {
                ephemeral_clusters: ephemeral_cluster_writer,
                prow_jobs: prow_job_writer,
            },
        };
        let controller = Self {
            mode,
            hub,
            settings,
            caches,
            build_clusters,
            observer,
            executor,
            status_writes: StatusWrites::default(),
            queue,
            orphans,
            metrics,
            health,
            now,
        };
        (controller, inlets)
    }

    async fn run(self: &Arc<Self>, inlets: Inlets, stop: impl Future<Output = ()>) {
        let Inlets { ephemeral_clusters, prow_jobs, moved, writers } = inlets;
        let work = async |stopped: tokio::sync::watch::Receiver<()>| {
            self.begin().await;
            let on_delete = |deleted: &ObjectRef<DynamicObject>| {
                self.queue.forget(&deleted.name);
                self.orphans.forget(&deleted.name);
            };
            let clusters_in = self.hub.namespace().to_owned();
            let clusters = run_reconciler(
                self,
                self.caches.ephemeral_clusters.clone(),
                requests(ephemeral_clusters, move |name: &str| {
                    ObjectRef::<EphemeralCluster>::new(name).within(&clusters_in)
                })
                .take_until(Box::pin(until_stopped(stopped.clone()))),
                WORKERS,
                |object, controller| Box::pin(async move { controller.reconcile_cluster(object).await }),
                on_delete,
            );
            let jobs_in = self.hub.prow_job_namespace().to_owned();
            let orphans = run_reconciler(
                self,
                self.caches.prow_jobs.clone(),
                requests(prow_jobs, move |name: &str| ObjectRef::<ProwJob>::new(name).within(&jobs_in))
                    .take_until(Box::pin(until_stopped(stopped))),
                CONCURRENCY_OF_ORPHANS,
                |job, controller| Box::pin(async move { controller.reconcile_job(job).await }),
                on_delete,
            );
            tokio::join!(clusters, orphans);
            self.observer.callers.wait_idle().await;
        };
        work_until(stop, self.feed(writers, moved), || self.has_begun(), work).await;
    }

    /// Waits until every possible cache is filled. An unreachable build cluster is waited for as long as it may be unreachable; otherwise every
    /// restart would report clusters as out of reach.
    async fn begin(&self) {
        // An error means that the writer is dropped, and with it the process ends.
        let _ = self.caches.ephemeral_clusters.wait_until_ready().await;
        let _ = self.caches.prow_jobs.wait_until_ready().await;
        while !self.has_begun() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.build_clusters.wait_for_first_list().await;
        tracing::info!(
            ephemeralclusters = self.caches.ephemeral_clusters.len(),
            prowjobs = self.caches.prow_jobs.len(),
            "caches are filled"
        );
    }

    /// Without permissions in their namespace Secrets cannot be listed: it may be deleted, and everything in it must end nevertheless.
    fn has_begun(&self) -> bool {
        let [ephemeral_clusters, prow_jobs, secrets] = &self.health;
        ephemeral_clusters.listed() && prow_jobs.listed() && (secrets.listed() || secrets.is_forbidden())
    }

    /// The caches.
    pub fn caches(&self) -> &Caches {
        &self.caches
    }

    /// The build clusters.
    pub fn build_clusters(&self) -> &BuildClusterSet {
        &self.build_clusters
    }

    /// The watches of the hub.
    pub fn health(&self) -> &[Health] {
        &self.health
    }

    /// The queues and what they hold.
    pub fn queues(&self) -> [(&'static str, &Queue); 2] {
        [("ephemeralclusters", &self.queue), ("orphans", &self.orphans)]
    }
}
