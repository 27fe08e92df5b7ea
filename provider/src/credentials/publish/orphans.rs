//! Cache of published Secrets, and the deletion of those that have outlived their owner: no owner reference crosses namespaces.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use kube::{
    ResourceExt as _,
    runtime::{
        reflector::{self, ObjectRef, Store, store::Writer},
        watcher::{Config, Event},
    },
};
use testplatform_runtime::{
    error::{Error, Reason},
    metrics::RuntimeMetrics,
    reconcile::{Action, Reconciler},
    timeout::with_timeout,
    watch::{Health, keep_watching},
    workqueue::{RequestQueue, Settings},
};

use super::{CredentialsNamespace, Labelled, SecretOwner, delete_orphaned_secret};
use crate::credentials::{
    Published, SUFFIX,
    account::guest_limiter::GuestLimiter,
    secret::{SecretMeta, slim_secret},
};

/// Cached Secrets of the credentials namespace that have the name of a published one.
pub struct PublishedSecrets {
    /// The cache.
    pub store: Store<SecretMeta>,
    /// Names of those that may have outlived their owner.
    pub queue: RequestQueue<String>,
    writer: Mutex<Option<Writer<SecretMeta>>>,
    namespace: String,
}

impl PublishedSecrets {
    /// An empty cache of this namespace.
    pub(crate) fn new(controller: &'static str, namespace: &str, metrics: &RuntimeMetrics) -> Self {
        let (store, writer) = reflector::store();
        // Orphans are rare.
        let queue = RequestQueue::new(Settings::cached(controller, 2), metrics);
        Self { store, queue, writer: Mutex::new(Some(writer)), namespace: namespace.to_owned() }
    }

    /// The Secret of an owner, as far as the cache knows.
    pub(crate) fn state_for(&self, owner: &SecretOwner<'_>) -> Published {
        let secret = self.store.get(&ObjectRef::new(&owner.secret_name()).within(&self.namespace));
        owner.published_state(secret.as_deref().map(|secret| &secret.metadata))
    }

    /// Queues the Secret of an owner that was deleted.
    pub(crate) fn push_deleted_owner(&self, name: &str) {
        self.queue.push(format!("{name}{SUFFIX}"));
    }

    /// Fills the cache until it is dropped. `on_change` receives each changed Secret, and `on_list` each complete list.
    pub(crate) async fn watch(
        &self,
        vault: &CredentialsNamespace,
        health: &Health,
        on_change: impl Fn(&SecretMeta),
        on_list: impl Fn(),
    ) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut writer) = writer else { return };
        keep_watching(vault.secrets_metadata(), Config::default(), health, |event| {
            let event = event.modify(|secret| slim_secret(&mut secret.metadata));
            if let Event::Apply(secret) | Event::InitApply(secret) = &event
                && !secret.name_any().ends_with(SUFFIX)
            {
                return;
            }
            writer.apply_watcher_event(&event);
            match event {
                Event::Apply(secret) | Event::Delete(secret) => on_change(&secret),
                Event::InitDone => {
                    for secret in self.store.state() {
                        on_change(&secret);
                    }
                    on_list();
                }
                Event::Init | Event::InitApply(_) => {}
            }
        })
        .await;
    }
}

/// The objects of one kind for which Secrets are published.
pub(crate) trait SecretOwners: Send + Sync {
    /// API group and kind.
    fn kind(&self) -> (&'static str, &'static str);

    /// Whether objects in this namespace are served by this provider. Others are not its concern.
    fn serves(&self, _namespace: &str) -> bool {
        true
    }

    /// Uid of an object, as far as the cache knows.
    fn cached_uid(&self, namespace: &str, name: &str) -> Option<String>;

    /// Uid of an object, as the API server knows it.
    fn read_uid(
        &self,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<Option<String>, Error>> + Send;

    /// Completes when their cache is filled.
    fn wait_for_caches(&self) -> impl Future<Output = ()> + Send;
}

/// Deletes Secrets whose owner does not exist any more. The controller of their owners watches both, and queues the names of Secrets.
pub(crate) struct OrphanedSecrets<'a, O> {
    pub owners: &'a O,
    /// Of the watch of the owners.
    pub owners_health: &'a Health,
    pub published: &'a PublishedSecrets,
    pub vault: &'a CredentialsNamespace,
    pub request_timeout: Duration,
    pub callers: &'a GuestLimiter,
}

impl<O: SecretOwners> Reconciler for OrphanedSecrets<'_, O> {
    type Key = String;
    /// Uid of the owner, and of the object that has its name now. None: it need not be known.
    type Observed = Option<(String, Option<String>)>;
    /// Uid of the owner that does not exist any more.
    type Plan = Option<String>;
    type Error = Error;

    fn kind(&self, _secret: &String) -> &'static str {
        "Secret"
    }

    fn request_queue(&self) -> &RequestQueue<String> {
        &self.published.queue
    }

    async fn wait_for_caches(&self) {
        self.owners.wait_for_caches().await;
    }

    async fn observe(&self, secret: &String, _bypass_caches: bool) -> Result<Option<Self::Observed>, Error> {
        let reference = ObjectRef::new(secret).within(&self.published.namespace);
        let Some(cached) = self.published.store.get(&reference) else { return Ok(None) };
        let (group, kind) = self.owners.kind();
        let (Some(owner), Some(name)) =
            (Labelled::of(&cached.metadata, group, kind), secret.strip_suffix(SUFFIX))
        else {
            return Ok(Some(None));
        };
        let cached_uid = self.owners.cached_uid(owner.namespace, name);
        if !self.owners.serves(owner.namespace)
            || cached_uid.is_some_and(|uid| !owner.is_orphaned(Some(&uid)))
        {
            return Ok(Some(None));
        }
        // If the kind cannot be listed, the absence of an object proves nothing.
        if let Some((_, why)) = self.owners_health.lag_reason() {
            let message = format!("{kind} objects cannot be watched: {why}");
            return Err(Error { action: "sweep_credentials", reason: Reason::NotYet, message });
        }
        let uid = self.owners.read_uid(owner.namespace, name).await?;
        Ok(Some(Some((owner.uid.to_owned(), uid))))
    }

    fn plan(&self, observed: &Self::Observed) -> Option<String> {
        let (owner, current) = observed.as_ref()?;
        (current.as_ref() != Some(owner)).then(|| owner.clone())
    }

    async fn execute(
        &self,
        secret: &String,
        _observed: Self::Observed,
        orphaned_by: Option<String>,
    ) -> Result<Action, Error> {
        if let Some(uid) = orphaned_by {
            let kind = self.owners.kind();
            tracing::warn!(secret, kind = kind.1, "withdrawing credentials: their object is gone");
            let removed = delete_orphaned_secret(self.vault, secret, kind, &uid, self.callers);
            with_timeout("sweep_credentials", self.request_timeout, removed).await?;
        }
        Ok(Action::AwaitChange)
    }
}
