//! What there is around one cluster, as data. Nothing is written here, and nothing decided but what may be read.

use std::{sync::Arc, time::Duration};

use kube::{
    Api, Client,
    core::{ApiResource, GroupVersionKind},
};
use testplatform_apis::{
    hive_status::Blocked,
    hub,
    names::{ObjectName, ours},
    template::Backend,
};

use super::{
    caches::Caches,
    kind::{self, Kind, Password, owner},
    next::{matters, may_read},
    object::Cluster,
    world::{Holder, Settings, World},
};
use crate::{
    account::{self, Issue, Whose, callers::Callers, whose},
    ephemeral_cluster::credentials::{Credentials, Published},
    execute::{Cause, Error, limited},
    publish::{Reader, Source, Vault},
    redacted::Redacted,
};

/// Looks.
pub(super) struct Observer {
    /// What it looks at.
    pub kind: &'static dyn Kind,
    /// The same, as the hub serves it.
    pub resource: ApiResource,
    /// The Secrets of the hub.
    pub vault: Vault,
    /// What is known of it without asking.
    pub caches: Arc<Caches>,
    /// What administrators decided.
    pub settings: Settings,
    /// How long one call may take.
    pub patience: Duration,
    /// Leave to call clusters that were delivered.
    pub callers: Callers,
}

/// What was read of a cluster's credentials.
struct Found {
    source: Source,
    lacks: Option<(Blocked, String)>,
}

impl Observer {
    /// What there is around a cluster; None if the API server says that it does not exist any more.
    pub async fn observe(
        &self,
        cached: Arc<Cluster>,
        anew: bool,
    ) -> Result<Option<(Arc<Cluster>, World)>, Error> {
        let published = self.caches.published(&cached);
        let matters = matters(self.kind, &cached, &published, &self.settings);
        let object = if anew || matters {
            match self.object(cached.namespace(), cached.name()).await? {
                Some(object) => Arc::new(object),
                None => return Ok(None),
            }
        } else {
            cached
        };
        let holder = if matters { self.holder(&object).await? } else { unseen(self.kind, &object) };
        // By the object as it is now, which may be another one of the same name.
        let published = self.caches.published(&object);
        let settings = self.settings.clone();
        let mut world = World { settings, holder, source: Source::Unread, lacks: None, published };
        if let Some(holder) = may_read(self.kind, &object, &world) {
            let reader = Reader { vault: &self.vault, patience: self.patience };
            let found = self.read(&reader, &object, holder, &world.published).await?;
            let announced = object.annotation(ours::CREDENTIALS_REVISION);
            let owner = owner(self.kind.backend(), &object);
            let mut published = world.published.clone();
            reader.verify(&owner, announced, &found.source, &mut published).await?;
            let source = reader.tried(&self.callers, found.source, &published).await?;
            world = World { source, lacks: found.lacks, published, ..world };
        }
        Ok(Some((object, world)))
    }

    /// The object of a name.
    pub async fn object(&self, namespace: &str, name: &str) -> Result<Option<Cluster>, Error> {
        let api = api(&self.vault.client(), namespace, &self.resource);
        self.call("get_cluster", api.get_opt(name)).await
    }

    /// The object that has the credentials.
    async fn holder(&self, object: &Cluster) -> Result<Holder, Error> {
        let (namespace, name) = match self.kind.holder(object) {
            kind::Holder::Itself => return Ok(Holder::Itself),
            kind::Holder::NotNamed(_) => return Ok(Holder::NotNamed),
            kind::Holder::HostedCluster { namespace, name } => (namespace, name),
        };
        // They become parts of a path.
        if ObjectName::try_from(namespace).is_err() || ObjectName::try_from(name).is_err() {
            return Ok(Holder::Gone);
        }
        let kind = Backend::HyperShift.cluster_kind();
        let version = kind.versions.first().copied().unwrap_or_default();
        let api = api(&self.vault.client(), namespace, &resource(kind, version));
        let found = self.call("get_hosted_cluster", api.get_opt(name)).await?;
        Ok(found.map_or(Holder::Gone, |found| Holder::Here(Arc::new(found))))
    }

    /// The credentials, from where they are.
    async fn read(
        &self,
        reader: &Reader<'_>,
        object: &Cluster,
        holder: &Cluster,
        published: &Published,
    ) -> Result<Found, Error> {
        let blocked = |(reason, message)| Ok(Found { source: Source::Blocked(reason, message), lacks: None });
        let place = match self.kind.place(holder) {
            Ok(place) => place,
            Err(why) => return blocked((Blocked::MetadataMissing, why.to_owned())),
        };
        let namespace = holder.namespace();
        match whose(object.annotation(account::WISH), published) {
            Whose::Admin => {}
            Whose::Account(wish) => {
                let (admin, revision) = match reader.admin(namespace, &place.kubeconfig).await? {
                    Ok(found) => found,
                    Err(why) => return blocked(why),
                };
                let issue = Issue { admin, wish, uid: object.uid().to_owned(), revision };
                return Ok(Found { source: Source::Account(Box::new(issue)), lacks: None });
            }
            Whose::Nobody(why) => return blocked((Blocked::SecretMissing, why.to_owned())),
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
        let source = Source::Complete(Credentials {
            kubeconfig: Redacted(config),
            password: Redacted(password),
            source_revision: format!("{namespace}:{config_version},{password_version}"),
        });
        Ok(Found { source, lacks })
    }

    /// A call whose answer is not secret.
    async fn call<T>(
        &self,
        action: &'static str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Error> {
        limited(action, self.patience, async { call.await.map_err(Cause::from) }).await
    }
}

/// The object with the credentials of a cluster of which nothing has to be read.
fn unseen(kind: &dyn Kind, object: &Cluster) -> Holder {
    match kind.holder(object) {
        kind::Holder::Itself => Holder::Itself,
        kind::Holder::NotNamed(_) | kind::Holder::HostedCluster { .. } => Holder::NotNamed,
    }
}

/// A kind, as a hub serves it.
pub(crate) fn resource(kind: hub::Kind, version: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(kind.group, version, kind.kind), kind.plural)
}

/// Objects of a kind in a namespace.
pub(crate) fn api(client: &Client, namespace: &str, resource: &ApiResource) -> Api<Cluster> {
    Api::namespaced_with(client.clone(), namespace, resource)
}
