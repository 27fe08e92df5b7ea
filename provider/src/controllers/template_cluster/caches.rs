//! Caches of the clusters of one kind, and of published Secrets.

use std::sync::{Arc, Mutex, PoisonError};

use kube::{
    Api, Client,
    core::ApiResource,
    runtime::{
        reflector::{ObjectRef, Store, store::Writer},
        watcher::{Config, Event},
    },
};
use testplatform_apis::template::Backend;
use testplatform_runtime::{
    metrics::RuntimeMetrics,
    watch::{Health, keep_watching},
    workqueue::{RequestQueue, Settings, WORKERS},
};

use crate::{
    config::ClustersOf,
    credentials::{
        Published, SUFFIX,
        cluster_kind::{ClusterKind, owner},
        cluster_object::Cluster,
        publish::{CredentialsNamespace, Labelled, PublishedSecrets},
        secret::SecretMeta,
    },
};

/// Caches of one kind, and the queues of their objects.
pub struct ClusterCaches {
    /// The objects in those namespaces that are served; those of others too.
    pub clusters: Store<Cluster>,
    /// Published Secrets.
    pub secrets: PublishedSecrets,
    /// Keys of clusters.
    pub queue: RequestQueue<String>,
    /// Of the watches of clusters and of Secrets.
    pub health: [Health; 2],
    pub(super) kind: &'static dyn ClusterKind,
    pub(super) of: ClustersOf,
    resource: ApiResource,
    credentials_namespace: String,
    writer: Mutex<Option<Writer<Cluster>>>,
}

/// Key of a cluster in the queue.
pub(super) fn key(object: &Cluster) -> String {
    format!("{}/{}", object.namespace(), object.name())
}

impl ClusterCaches {
    /// Empty caches.
    pub(super) fn new(
        kind: &'static dyn ClusterKind,
        resource: ApiResource,
        of: ClustersOf,
        credentials_namespace: &str,
        metrics: &RuntimeMetrics,
    ) -> Self {
        let plural = kind.backend().cluster_kind().plural;
        let [watch, orphans] = kind.secret_names();
        let writer = Writer::new(resource.clone());
        let settings = Settings { measures_wait: true, ..Settings::cached(plural, WORKERS) };
        Self {
            clusters: writer.as_reader(),
            secrets: PublishedSecrets::new(orphans, credentials_namespace, metrics),
            queue: RequestQueue::new(settings, metrics),
            health: [plural, watch].map(Health::new),
            kind,
            of,
            resource,
            credentials_namespace: credentials_namespace.to_owned(),
            writer: Mutex::new(Some(writer)),
        }
    }

    /// The backend whose clusters they are.
    pub fn backend(&self) -> Backend {
        self.kind.backend()
    }

    /// Whether every cache is filled.
    pub(super) fn are_filled(&self) -> bool {
        self.health.iter().all(Health::listed)
    }

    /// `<cluster>-credentials`, as far as the cache knows.
    pub(super) fn published(&self, object: &Cluster) -> Published {
        self.secrets.state_for(&owner(self.backend(), object))
    }

    /// The clusters that are published here, as far as the cache knows.
    pub fn served_clusters(&self) -> Vec<Arc<Cluster>> {
        let all = self.clusters.state().into_iter();
        all.filter(|object| object.is_marked_for(&self.credentials_namespace)).collect()
    }

    /// A cluster by its key.
    pub(super) fn cluster(&self, key: &str) -> Option<Arc<Cluster>> {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        self.clusters.get(&ObjectRef::new_with(name, self.resource.clone()).within(namespace))
    }

    /// Watches until it is dropped.
    pub(super) async fn watch(&self, client: Client, vault: &CredentialsNamespace) {
        let push_secret = |secret: &SecretMeta| self.push_secret(secret);
        tokio::join!(
            self.watch_clusters(client),
            self.secrets.watch(vault, &self.health[1], push_secret, || self.push_all()),
        );
    }

    async fn watch_clusters(&self, client: Client) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut writer) = writer else { return };
        let all: Api<Cluster> = Api::all_with(client, &self.resource);
        keep_watching(all, Config::default(), &self.health[0], |event| {
            if let Event::Apply(object) | Event::InitApply(object) | Event::Delete(object) = &event
                && !self.of.serves(object.namespace())
            {
                return;
            }
            let event = event.modify(|object| object.drop_unread_fields(self.kind.conditions()));
            let is_new = match &event {
                Event::Apply(object) => {
                    self.cluster(&key(object)).is_none_or(|before| !before.is_like(object))
                }
                Event::Init | Event::InitApply(_) | Event::InitDone | Event::Delete(_) => true,
            };
            writer.apply_watcher_event(&event);
            match event {
                Event::Apply(object) if is_new => self.queue.push(key(&object)),
                Event::Delete(object) => self.secrets.push_deleted_owner(object.name()),
                Event::InitDone => {
                    self.push_all();
                    // An owner may have been deleted without an event.
                    for secret in self.secrets.store.state() {
                        self.push_secret(&secret);
                    }
                }
                Event::Init | Event::InitApply(_) | Event::Apply(_) => {}
            }
        })
        .await;
    }

    fn push_all(&self) {
        for object in self.clusters.state() {
            self.queue.push(key(&object));
        }
    }

    /// A Secret may have outlived its cluster, or belong to it. A Secret without an owner may still block a cluster of its name.
    fn push_secret(&self, secret: &SecretMeta) {
        let name = secret.metadata.name.as_deref().unwrap_or_default();
        let Some(cluster) = name.strip_suffix(SUFFIX) else { return };
        let kind = self.backend().cluster_kind();
        if let Some(owner) = Labelled::of(&secret.metadata, kind.group, kind.kind) {
            self.queue.push(format!("{}/{cluster}", owner.namespace));
            self.secrets.queue.push(name);
            return;
        }
        for found in self.clusters.state().iter().filter(|found| found.name() == cluster) {
            self.queue.push(key(found));
        }
    }
}
