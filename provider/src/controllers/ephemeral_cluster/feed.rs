//! Maps events of the watches to objects.

use std::sync::PoisonError;

use kube::{
    core::ObjectMeta,
    runtime::{
        reflector::store::Writer,
        watcher::{Config, Event},
    },
};
use testplatform_apis::names::ephemeral_cluster::LABEL;
use testplatform_runtime::watch;
use tokio::sync::mpsc::UnboundedReceiver;

use super::{
    caches::{Caches, Writers},
    object::EphemeralCluster,
    prow_job::ProwJob,
};
use crate::build_clusters::BuildClusterEvent;

/// Page size of lists of full objects. With kube's 500, and a configuration of some KiB in each object, the pages took more memory than the
/// cache of five thousand, and an allocator seldom returns such memory.
const PAGE: u32 = 100;

/// Labels and annotations of this project, and of the controllers of EphemeralClusters.
const PREFIXES: [&str; 2] = ["testplatform.ci.openshift.org/", "ephemeralcluster.ci.openshift.io/"];

impl Caches {
    /// Watches until it is dropped.
    ///
    /// Lists come in pages: that bounds what is held while they are read, and works with every API server.
    pub(super) async fn watch(&self) {
        let writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Writers { ephemeral_clusters, prow_jobs, moved }) = writers else { return };
        tokio::join!(
            self.feed_ephemeral_clusters(ephemeral_clusters),
            self.feed_prow_jobs(prow_jobs),
            self.feed_published(),
            self.feed_moved(moved),
        );
    }

    async fn feed_ephemeral_clusters(&self, mut writer: Writer<EphemeralCluster>) {
        let api = self.hub.ephemeral_clusters();
        watch::keep_watching(api, Config::default().page_size(PAGE), &self.health[0], |event| {
            let event = event.modify(|object| drop_unread_metadata(&mut object.metadata));
            writer.apply_watcher_event(&event);
            match event {
                Event::Apply(object) => self.requests.push(object.name()),
                // Its jobs may be orphans now.
                Event::Delete(object) => {
                    for job in self.names_of_jobs(object.name()) {
                        self.orphans.push(job);
                    }
                }
                Event::InitDone => {
                    for object in self.ephemeral_clusters.state() {
                        self.requests.push(object.name());
                    }
                    for job in self.prow_jobs.state() {
                        self.orphans.push(job.name());
                    }
                }
                Event::Init | Event::InitApply(_) => {}
            }
        })
        .await;
    }

    async fn feed_prow_jobs(&self, mut writer: Writer<ProwJob>) {
        let api = self.hub.prow_jobs();
        watch::keep_watching(
            api,
            Config::default().labels(LABEL).page_size(PAGE),
            &self.health[1],
            |event| {
                let event = event.modify(|job| drop_unread_metadata(&mut job.metadata));
                writer.apply_watcher_event(&event);
                self.index_job(&event);
                match event {
                    Event::Apply(job) | Event::Delete(job) => self.push_job(&job),
                    Event::InitDone => {
                        for job in self.prow_jobs.state() {
                            self.push_job(&job);
                        }
                        // A deleted job may be the reason to reconcile an EphemeralCluster.
                        for object in self.ephemeral_clusters.state() {
                            self.requests.push(object.name());
                        }
                    }
                    Event::Init | Event::InitApply(_) => {}
                }
            },
        )
        .await;
    }

    async fn feed_published(&self) {
        let api = self.hub.secrets_metadata();
        watch::keep_watching(api, Config::default(), &self.health[2], |event| {
            for ephemeral_cluster in self.take_published(&event) {
                self.requests.push(ephemeral_cluster);
            }
        })
        .await;
    }

    async fn feed_moved(&self, mut moved: UnboundedReceiver<BuildClusterEvent>) {
        while let Some(moved) = moved.recv().await {
            match moved {
                BuildClusterEvent::Job(job) => {
                    if let Some(job) = self.prow_job(&job) {
                        self.push_job(&job);
                    }
                }
                BuildClusterEvent::Cluster(cluster) => {
                    for job in self.prow_jobs.state() {
                        if job.spec.value.cluster == cluster {
                            self.push_job(&job);
                        }
                    }
                }
            }
        }
    }

    /// A job may be an orphan, or its EphemeralCluster's.
    fn push_job(&self, job: &ProwJob) {
        if let Some(owner) = job.label(LABEL) {
            if self.ephemeral_cluster(owner).is_some() {
                self.requests.push(owner);
            }
            self.orphans.push(job.name());
        }
    }
}

/// Keeps only the labels and annotations that decisions need: there may be thousands of objects, and somebody's annotation can be as long as a
/// spec.
fn drop_unread_metadata(metadata: &mut ObjectMeta) {
    let matters = |key: &str| key == LABEL || PREFIXES.iter().any(|prefix| key.starts_with(prefix));
    for map in [&mut metadata.labels, &mut metadata.annotations].into_iter().flatten() {
        map.retain(|key, _| matters(key));
    }
}
