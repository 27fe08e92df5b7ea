//! Observes one cluster, as data. Nothing is written here, and the only decision is what may be read.

use std::{sync::Arc, time::Duration};

use kube::core::ApiResource;
use testplatform_apis::{
    hive_status::Blocked,
    names::{ObjectName, ours},
};
use testplatform_runtime::{
    error::{Cause, Error},
    lookup,
    redacted::Redacted,
    timeout::with_timeout,
};
use tokio::time::sleep;

use super::{
    caches::ClusterCaches,
    observed_state::{ClusterSettings, ClusterState, HolderState},
    plan::{may_read, needs_fresh_read},
};
use crate::credentials::{
    Credentials, Published,
    account::{self, CredentialsOwner, Issue, credentials_owner, guest_limiter::GuestLimiter},
    cluster_kind::{self as kind, ClusterKind, Password, owner},
    cluster_lookup,
    cluster_object::Cluster,
    publish::{CredentialsNamespace, CredentialsSource, Reader, SecretOwners},
};

/// Looks.
pub(super) struct ClusterObserver {
    /// Kind of the observed clusters.
    pub kind: &'static dyn ClusterKind,
    /// The same, as the hub serves it.
    pub resource: ApiResource,
    /// The Secrets of the hub.
    pub vault: CredentialsNamespace,
    /// Cached objects.
    pub caches: Arc<ClusterCaches>,
    /// Decisions of the administrators.
    pub settings: ClusterSettings,
    /// How long one call may take.
    pub patience: Duration,
    /// Leave to call clusters that were delivered.
    pub callers: GuestLimiter,
}

/// Credentials of a cluster as they were read.
struct FoundCredentials {
    source: CredentialsSource,
    lacks: Option<(Blocked, String)>,
}

impl ClusterObserver {
    /// Observes a cluster; None if the API server says that it does not exist any more.
    pub async fn observe(
        &self,
        cached: Arc<Cluster>,
        anew: bool,
    ) -> Result<Option<(Arc<Cluster>, ClusterState)>, Error> {
        let published = self.caches.published(&cached);
        let matters = needs_fresh_read(self.kind, &cached, &published, &self.settings);
        let object = if anew || matters {
            match self.object(cached.namespace(), cached.name()).await? {
                Some(object) => Arc::new(object),
                None => return Ok(None),
            }
        } else {
            cached
        };
        let holder =
            if matters { self.holder(&object).await? } else { holder_without_read(self.kind, &object) };
        // By the object as it is now, which may be another one of the same name.
        let published = self.caches.published(&object);
        let settings = self.settings.clone();
        let mut observed =
            ClusterState { settings, holder, source: CredentialsSource::Unread, lacks: None, published };
        if let Some(holder) = may_read(self.kind, &object, &observed) {
            let reader = Reader { vault: &self.vault, patience: self.patience };
            let found = self.read(&reader, &object, holder, &observed.published).await?;
            let announced = object.annotation(ours::CREDENTIALS_REVISION);
            let owner = owner(self.kind.backend(), &object);
            let mut published = observed.published.clone();
            reader.verify(&owner, announced, &found.source, &mut published).await?;
            let source = reader.verify_accepted(&self.callers, found.source, &published).await?;
            observed = ClusterState { source, lacks: found.lacks, published, ..observed };
        }
        Ok(Some((object, observed)))
    }

    /// The object of a name.
    pub async fn object(&self, namespace: &str, name: &str) -> Result<Option<Cluster>, Error> {
        let api = cluster_lookup::api(&self.vault.client(), namespace, &self.resource);
        self.call("get_cluster", lookup::get_opt(&api, name)).await
    }

    /// The object that has the credentials.
    async fn holder(&self, object: &Cluster) -> Result<HolderState, Error> {
        let (backend, namespace, name) = match self.kind.holder(object) {
            kind::CredentialsHolder::Itself => return Ok(HolderState::Itself),
            kind::CredentialsHolder::NotNamed(_) => return Ok(HolderState::NotNamed),
            kind::CredentialsHolder::Underlying { backend, namespace, name } => (backend, namespace, name),
        };
        // They become parts of a path.
        if ObjectName::try_from(namespace).is_err() || ObjectName::try_from(name).is_err() {
            return Ok(HolderState::Gone);
        }
        let client = self.vault.client();
        let found = cluster_lookup::find(&client, self.patience, backend, namespace, name).await?;
        Ok(found.map_or(HolderState::Gone, |found| HolderState::Here(Arc::new(found))))
    }

    /// The credentials, from where they are.
    async fn read(
        &self,
        reader: &Reader<'_>,
        object: &Cluster,
        holder: &Cluster,
        published: &Published,
    ) -> Result<FoundCredentials, Error> {
        let blocked = |(reason, message)| {
            Ok(FoundCredentials { source: CredentialsSource::Blocked(reason, message), lacks: None })
        };
        let place = match self.kind.place(holder) {
            Ok(place) => place,
            Err(why) => return blocked((Blocked::MetadataMissing, why.to_owned())),
        };
        let namespace = holder.namespace();
        match credentials_owner(object.annotation(account::WISH), published) {
            CredentialsOwner::Admin => {}
            CredentialsOwner::Account(wish) => {
                let (admin, revision) = match reader.admin(namespace, &place.kubeconfig).await? {
                    Ok(found) => found,
                    Err(why) => return blocked(why),
                };
                let issue = Issue { admin, wish, uid: object.uid().to_owned(), revision };
                return Ok(FoundCredentials {
                    source: CredentialsSource::Account(Box::new(issue)),
                    lacks: None,
                });
            }
            CredentialsOwner::Nobody(why) => return blocked((Blocked::SecretMissing, why.to_owned())),
        }
        let (config, config_version) = match reader.kubeconfig(namespace, &place.kubeconfig).await? {
            Ok(found) => found,
            Err(why) => return blocked(why),
        };
        let none = || (Vec::new(), "none".to_owned());
        let mut lacks = None;
        let (password, password_version) = match &place.password {
            Password::None => none(),
            Password::At(key) => match reader.value(namespace, key).await? {
                Ok(found) => found,
                Err(why) => return blocked(why),
            },
            Password::Perhaps { at: None, .. } => {
                let message = "the cluster does not name a Secret with a password".to_owned();
                lacks = Some((Blocked::MetadataMissing, message));
                none()
            }
            Password::Perhaps { at: Some(key), .. } => match reader.value(namespace, key).await? {
                Ok(found) => found,
                Err(why) => {
                    lacks = Some(why);
                    none()
                }
            },
        };
        let source = CredentialsSource::Complete(Credentials {
            kubeconfig: Redacted(config),
            password: Redacted(password),
            source_revision: format!("{namespace}:{config_version},{password_version}"),
        });
        Ok(FoundCredentials { source, lacks })
    }

    /// A call whose answer is not secret.
    async fn call<T>(
        &self,
        action: &'static str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Error> {
        with_timeout(action, self.patience, async { call.await.map_err(Cause::from) }).await
    }
}

impl SecretOwners for ClusterObserver {
    fn kind(&self) -> (&'static str, &'static str) {
        let kind = self.kind.backend().cluster_kind();
        (kind.group, kind.kind)
    }

    fn serves(&self, namespace: &str) -> bool {
        self.caches.of.serves(namespace)
    }

    fn cached_uid(&self, namespace: &str, name: &str) -> Option<String> {
        Some(self.caches.cluster(&format!("{namespace}/{name}"))?.uid().to_owned())
    }

    async fn read_uid(&self, namespace: &str, name: &str) -> Result<Option<String>, Error> {
        Ok(self.object(namespace, name).await?.map(|object| object.uid().to_owned()))
    }

    async fn wait_for_caches(&self) {
        while !self.caches.are_filled() {
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The object with the credentials of a cluster of which nothing has to be read.
fn holder_without_read(kind: &dyn ClusterKind, object: &Cluster) -> HolderState {
    match kind.holder(object) {
        kind::CredentialsHolder::Itself => HolderState::Itself,
        kind::CredentialsHolder::NotNamed(_) | kind::CredentialsHolder::Underlying { .. } => {
            HolderState::NotNamed
        }
    }
}
