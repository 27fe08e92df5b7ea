//! Caches of the objects that the hub's watches report.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    core::PartialObjectMeta,
    runtime::{
        reflector::{self, ObjectRef, Store, store::Writer},
        watcher::Event,
    },
};
use testplatform_apis::names::{ephemeral_cluster::LABEL, ours};
use testplatform_runtime::{
    metrics::RuntimeMetrics,
    table::Table,
    watch::Health,
    workqueue::{RequestQueue, Settings, WORKERS},
};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{
    execute::secret,
    hub::Hub,
    object::EphemeralCluster,
    prow_job::{ProwJob, name_for},
};
use crate::{
    build_clusters::BuildClusterEvent,
    credentials::{Published, SUFFIX, secret::source_revision},
};

/// Maximum number of ProwJobs without EphemeralCluster that are reconciled concurrently. They are rare.
const WORKERS_OF_ORPHANS: usize = 2;

/// Cached objects of the hub, and the queues of them.
pub struct Caches {
    /// EphemeralClusters.
    pub ephemeral_clusters: Store<EphemeralCluster>,
    /// ProwJobs of EphemeralClusters.
    pub prow_jobs: Store<ProwJob>,
    /// Names of EphemeralClusters.
    pub requests: RequestQueue<String>,
    /// Names of ProwJobs whose EphemeralCluster may be deleted.
    pub orphans: RequestQueue<String>,
    /// Of the watches of EphemeralClusters, ProwJobs and Secrets.
    pub health: [Health; 3],
    /// Names of ProwJobs by the EphemeralCluster that their label names. May contain deleted ones.
    by_owner: RwLock<HashMap<String, BTreeSet<String>>>,
    published: RwLock<Table<Arc<ObjectMeta>>>,
    pub(super) hub: Hub,
    pub(super) writers: Mutex<Option<Writers>>,
}

/// Fill the caches.
pub(super) struct Writers {
    pub ephemeral_clusters: Writer<EphemeralCluster>,
    pub prow_jobs: Writer<ProwJob>,
    /// Events of build clusters.
    pub moved: UnboundedReceiver<BuildClusterEvent>,
}

impl Caches {
    /// Empty caches.
    pub fn new(hub: Hub, moved: UnboundedReceiver<BuildClusterEvent>, metrics: &RuntimeMetrics) -> Self {
        let (ephemeral_clusters, ephemeral_cluster_writer) = reflector::store();
        let (prow_jobs, prow_job_writer) = reflector::store();
        let writers =
            Writers { ephemeral_clusters: ephemeral_cluster_writer, prow_jobs: prow_job_writer, moved };
        let settings = Settings { measures_wait: true, ..Settings::cached("ephemeralclusters", WORKERS) };
        Self {
            ephemeral_clusters,
            prow_jobs,
            requests: RequestQueue::new(settings, metrics),
            orphans: RequestQueue::new(Settings::cached("orphans", WORKERS_OF_ORPHANS), metrics),
            health: ["ephemeralclusters", "prowjobs", "secrets"].map(Health::new),
            by_owner: RwLock::default(),
            published: RwLock::default(),
            hub,
            writers: Mutex::new(Some(writers)),
        }
    }

    /// Whether every possible cache is filled. Without permissions in their namespace Secrets cannot be listed: it may be deleted, and everything
    /// in it must end nevertheless.
    pub fn are_filled(&self) -> bool {
        let [ephemeral_clusters, prow_jobs, secrets] = &self.health;
        ephemeral_clusters.listed() && prow_jobs.listed() && (secrets.listed() || secrets.is_forbidden())
    }

    /// An EphemeralCluster.
    pub fn ephemeral_cluster(&self, name: &str) -> Option<Arc<EphemeralCluster>> {
        self.ephemeral_clusters.get(&ObjectRef::new(name).within(self.hub.namespace()))
    }

    /// A ProwJob.
    pub fn prow_job(&self, name: &str) -> Option<Arc<ProwJob>> {
        self.prow_jobs.get(&ObjectRef::new(name).within(self.hub.prow_job_namespace()))
    }

    /// The ProwJobs that have to do with an EphemeralCluster, by label, by our own naming, or by its status.
    pub fn jobs_of(&self, object: &EphemeralCluster) -> Vec<Arc<ProwJob>> {
        let mut names = self.names_of_jobs(object.name());
        names.insert(name_for(object.uid()));
        names.insert(object.status.value.prow_job_id.clone());
        let own = name_for(object.uid());
        let of_it = |job: &Arc<ProwJob>| {
            job.label(LABEL) == Some(object.name())
                || job.name() == own
                || job.name() == object.status.value.prow_job_id
        };
        names.iter().filter_map(|name| self.prow_job(name)).filter(of_it).collect()
    }

    /// Names of ProwJobs whose label names an EphemeralCluster.
    pub fn names_of_jobs(&self, ephemeral_cluster: &str) -> BTreeSet<String> {
        let by_owner = self.by_owner.read().unwrap_or_else(PoisonError::into_inner);
        by_owner.get(ephemeral_cluster).cloned().unwrap_or_default()
    }

    /// Takes over what a watch of ProwJobs said, after the store has.
    pub fn index_job(&self, event: &Event<ProwJob>) {
        let mut by_owner = self.by_owner.write().unwrap_or_else(PoisonError::into_inner);
        let mut add = |job: &ProwJob| {
            if let Some(owner) = job.label(LABEL) {
                by_owner.entry(owner.to_owned()).or_default().insert(job.name().to_owned());
            }
        };
        match event {
            Event::Apply(job) => add(job),
            Event::Init | Event::InitApply(_) => {}
            Event::InitDone => {
                for job in self.prow_jobs.state() {
                    add(&job);
                }
                by_owner.retain(|_, names| {
                    names.retain(|name| self.prow_job(name).is_some());
                    !names.is_empty()
                });
            }
            Event::Delete(job) => {
                let owner = job.label(LABEL).unwrap_or_default();
                if let Some(names) = by_owner.get_mut(owner) {
                    names.remove(job.name());
                    if names.is_empty() {
                        by_owner.remove(owner);
                    }
                }
            }
        }
    }

    /// Takes over what a watch of Secrets said. Returns the names of the EphemeralClusters that it may concern.
    pub fn take_published(&self, event: &Event<PartialObjectMeta<Secret>>) -> Vec<String> {
        let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
        let changed = published.apply_event(event, |secret| {
            let name = secret.metadata.name.clone()?;
            name.ends_with(SUFFIX).then(|| (name, Arc::new(keep_owner_metadata(&secret.metadata))))
        });
        let owner = |name: &String| Some(name.strip_suffix(SUFFIX)?.to_owned());
        changed.iter().filter_map(owner).collect()
    }

    /// `<ec>-credentials`, as far as the cache knows.
    pub fn published(&self, object: &EphemeralCluster) -> Published {
        let published = self.published.read().unwrap_or_else(PoisonError::into_inner);
        published_state(published.get(&object.secret_name()).map(AsRef::as_ref), object)
    }
}

/// Decides whether a Secret belongs to an EphemeralCluster.
pub fn published_state(secret: Option<&ObjectMeta>, object: &EphemeralCluster) -> Published {
    let Some(metadata) = secret else { return Published::Absent };
    match secret::ours(metadata, object) {
        Ok(()) => Published::Ours {
            revision: metadata.resource_version.clone().unwrap_or_default(),
            source_revision: source_revision(metadata).cloned(),
        },
        Err(whose) => Published::Foreign(whose),
    }
}

/// There may be thousands.
fn keep_owner_metadata(metadata: &ObjectMeta) -> ObjectMeta {
    let revision =
        source_revision(metadata).map(|revision| (ours::SOURCE_REVISION.to_owned(), revision.clone()));
    ObjectMeta {
        name: metadata.name.clone(),
        resource_version: metadata.resource_version.clone(),
        owner_references: metadata.owner_references.clone(),
        annotations: Some(revision.into_iter().collect()),
        ..ObjectMeta::default()
    }
}
