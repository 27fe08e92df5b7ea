//! Maps events of the watches to clusters.

use kube::{
    Api, ResourceExt as _,
    runtime::{
        reflector::{ObjectRef, store::Writer},
        watcher::{Config, Event},
    },
};
use testplatform_runtime::watch;

use super::{
    caches::ClusterWriters,
    controller::{ClusterController, key},
};
use crate::credentials::{
    SUFFIX,
    cluster_object::Cluster,
    publish::Labelled,
    secret::{SecretMeta, slim_secret},
};

impl ClusterController {
    /// Watches until it is dropped.
    pub(super) async fn feed(&self, writers: ClusterWriters) {
        tokio::join!(self.feed_clusters(writers.clusters), self.feed_secrets(writers.secrets));
    }

    async fn feed_clusters(&self, mut writer: Writer<Cluster>) {
        let all: Api<Cluster> = Api::all_with(self.vault.client(), &self.resource);
        watch::keep_watching(all, Config::default(), &self.health[0], |event| {
            if let Event::Apply(object) | Event::InitApply(object) | Event::Delete(object) = &event
                && !self.of.serves(object.namespace())
            {
                return;
            }
            let event = event.modify(|object| object.drop_unread_fields(self.kind.conditions()));
            let is_new = match &event {
                Event::Apply(object) => {
                    self.cached_cluster(&key(object)).is_none_or(|before| !before.is_like(object))
                }
                Event::Init | Event::InitApply(_) | Event::InitDone | Event::Delete(_) => true,
            };
            writer.apply_watcher_event(&event);
            match event {
                Event::Apply(object) if is_new => self.queue.push(key(&object)),
                Event::Delete(object) => self.orphans.push(format!("{}{SUFFIX}", object.name())),
                Event::InitDone => {
                    self.push_all();
                    // An owner may have been deleted without an event.
                    self.push_secrets();
                }
                Event::Init | Event::InitApply(_) | Event::Apply(_) => {}
            }
        })
        .await;
    }

    async fn feed_secrets(&self, mut writer: Writer<SecretMeta>) {
        watch::keep_watching(self.vault.secrets_metadata(), Config::default(), &self.health[1], |event| {
            let event = event.modify(|secret| slim_secret(&mut secret.metadata));
            if let Event::Apply(secret) | Event::InitApply(secret) = &event
                && !secret.name_any().ends_with(SUFFIX)
            {
                return;
            }
            writer.apply_watcher_event(&event);
            match event {
                Event::Apply(secret) | Event::Delete(secret) => self.push_secret(&secret),
                Event::InitDone => {
                    self.push_secrets();
                    self.push_all();
                }
                Event::Init | Event::InitApply(_) => {}
            }
        })
        .await;
    }

    fn push_all(&self) {
        for object in self.caches.clusters.state() {
            self.queue.push(key(&object));
        }
    }

    fn push_secrets(&self) {
        for secret in self.caches.secrets.state() {
            self.push_secret(&secret);
        }
    }

    /// A Secret may have outlived its cluster, or belong to it. A Secret without an owner may still block a cluster of its name.
    fn push_secret(&self, secret: &SecretMeta) {
        let name = secret.name_any();
        let Some(cluster) = name.strip_suffix(SUFFIX) else { return };
        let kind = self.kind.backend().cluster_kind();
        if let Some(owner) = Labelled::of(&secret.metadata, kind.group, kind.kind) {
            self.queue.push(format!("{}/{cluster}", owner.namespace));
            self.orphans.push(name);
            return;
        }
        for found in self.caches.clusters.state().iter().filter(|found| found.name() == cluster) {
            self.queue.push(key(found));
        }
    }

    /// A cluster by its key, as the cache knows it.
    pub(super) fn cached_cluster(&self, key: &str) -> Option<std::sync::Arc<Cluster>> {
        self.caches.clusters.get(&self.reference(key))
    }

    /// The object of a key.
    pub(super) fn reference(&self, key: &str) -> ObjectRef<Cluster> {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        ObjectRef::new_with(name, self.resource.clone()).within(namespace)
    }
}
