//! Watches the ConfigMaps of requests. The watch keeps little of their metadata; a reconcile reads the object.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, ResourceExt as _, core::PartialObjectMeta, runtime::watcher};
use testplatform_runtime::{
    watch::{Health, track},
    workqueue::RequestQueue,
};

use super::RequestKeys;

/// State of a ConfigMap that is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ObservedRequest {
    uid: String,
    reported: bool,
    has_finalizer: bool,
    deleted: bool,
}

impl ObservedRequest {
    /// Our own writes are no reason to reconcile.
    fn is_news_after(&self, before: &Self) -> bool {
        self.uid != before.uid
            || self.deleted != before.deleted
            || (before.reported && !self.reported)
            || (before.has_finalizer && !self.has_finalizer)
    }
}

/// The orders of a kind that are there.
pub(crate) struct RequestWatch {
    marks: RequestKeys,
    known: Mutex<BTreeMap<String, ObservedRequest>>,
}

impl RequestWatch {
    /// None is known yet.
    pub fn new(marks: RequestKeys) -> Self {
        Self { marks, known: Mutex::default() }
    }

    /// Whether there is one, by its namespace and name.
    pub fn contains(&self, key: &str) -> bool {
        self.lock_known().contains_key(key)
    }

    /// Watches the requests of a namespace until it is dropped: `queue` receives the key of each changed one, and `on_delete` that of each
    /// deleted one.
    pub async fn watch(
        &self,
        client: Client,
        namespace: &str,
        health: &Health,
        queue: &RequestQueue<String>,
        on_delete: impl Fn(&str),
    ) {
        let maps: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(client, namespace);
        let key = |map: &PartialObjectMeta<ConfigMap>| format!("{namespace}/{}", map.name_any());
        let on_apply = |key: &str, map: &PartialObjectMeta<ConfigMap>| {
            let known = ObservedRequest {
                uid: map.uid().unwrap_or_default(),
                reported: map.annotations().contains_key(self.marks.report),
                has_finalizer: map.finalizers().iter().any(|one| one == self.marks.finalizer),
                deleted: map.metadata.deletion_timestamp.is_some(),
            };
            let before = self.lock_known().insert(key.to_owned(), known.clone());
            if before.is_none_or(|before| known.is_news_after(&before)) {
                queue.push(key);
            }
        };
        let labelled = watcher::Config::default().labels(&format!("{}=true", self.marks.label));
        let on_delete = |key: &str| {
            self.lock_known().remove(key);
            on_delete(key);
        };
        track(maps, labelled, health, key, on_apply, on_delete).await;
    }

    fn lock_known(&self) -> MutexGuard<'_, BTreeMap<String, ObservedRequest>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
