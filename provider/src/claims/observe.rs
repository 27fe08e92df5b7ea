//! What there is around one ClusterClaim, as data. Nothing is written here, and nothing decided but what may be read.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Secret;
use kube::runtime::reflector::ObjectRef;
use testplatform_apis::hive_status::Blocked;

use super::{caches::Caches, hub::Hub};
use crate::{
    caches::source_revision,
    cluster_claim::{
        credentials::judge,
        deployment::SecretRef,
        kubeconfig,
        next::may_read,
        object::{ClusterClaim, ClusterDeployment},
        world::{Deployment, Settings, Source, World},
    },
    ephemeral_cluster::credentials::{Credentials, Published, published_name},
    execute::{Cause, Error, Reason, limited, secret},
    redacted::Redacted,
};
use testplatform_apis::names::ours;

/// Keys of Hive's Secrets. `raw-kubeconfig`, which is there too, lacks the certificate authorities that Hive adds.
const KUBECONFIG: &str = "kubeconfig";
const PASSWORD: &str = "password";

/// Looks.
pub struct Observer {
    /// The hub.
    pub hub: Hub,
    /// What is known of it without asking.
    pub caches: Arc<Caches>,
    /// What administrators decided.
    pub settings: Settings,
    /// How long one call may take.
    pub patience: Duration,
}

impl Observer {
    /// What there is around a ClusterClaim; None if the API server says that it does not exist any more.
    ///
    /// What only waits is told from caches. Once there is a cluster, or something is published, the claim and then its cluster are
    /// read anew: what is handed out cannot be taken back, and what is taken back is missed.
    pub async fn observe(
        &self,
        cached: Arc<ClusterClaim>,
        anew: bool,
    ) -> Result<Option<(Arc<ClusterClaim>, World)>, Error> {
        let published = self.caches.published(&cached);
        let is_ours = cached.is_marked() || matches!(published, Published::Ours { .. });
        let matters = is_ours && (cached.assigned().is_some() || matches!(published, Published::Ours { .. }));
        let claim = if anew || matters {
            let api = self.hub.claims(cached.namespace());
            match self.call("get_cluster_claim", api.get_opt(cached.name())).await? {
                Some(claim) => Arc::new(claim),
                None => return Ok(None),
            }
        } else {
            cached
        };
        let deployment = match claim.assigned().filter(|_| is_ours) {
            None => Deployment::Unassigned,
            Some(name) => {
                let api = self.hub.deployments(name);
                match self.call("get_cluster_deployment", api.get_opt(name)).await? {
                    Some(deployment) => Deployment::Here(Arc::new(deployment)),
                    None => Deployment::Gone,
                }
            }
        };
        // By the claim as it is now, which may be another one of the same name.
        let mut published = self.caches.published(&claim);
        let source = match &deployment {
            Deployment::Here(cluster) if may_read(&claim, &deployment) => {
                self.source(&claim, cluster, &mut published).await?
            }
            Deployment::Here(_) | Deployment::Unassigned | Deployment::Gone => Source::Unread,
        };
        let (namespace, pool) = (claim.namespace(), claim.pool());
        let queue = self.caches.claims_of(namespace, pool);
        let waits = |claim: &&Arc<ClusterClaim>| claim.waits();
        let created = |claim: &Arc<ClusterClaim>| claim.metadata.creation_timestamp.as_ref().map(|t| t.0);
        let world = World {
            settings: self.settings,
            pool: self.caches.pool_of(&claim),
            queue: queue.iter().filter(waits).map(created).collect(),
            unclaimed: self.caches.unclaimed_of(namespace, pool),
            deployment,
            source,
            published,
        };
        Ok(Some((claim, world)))
    }

    /// The credentials of a claimed cluster. `published` is put right where a cache or an annotation misleads.
    async fn source(
        &self,
        claim: &ClusterClaim,
        cluster: &ClusterDeployment,
        published: &mut Published,
    ) -> Result<Source, Error> {
        let Some(metadata) =
            cluster.spec.value.cluster_metadata.as_ref().filter(|m| !m.kubeconfig.name.is_empty())
        else {
            let message = "the ClusterDeployment does not name the Secret with its kubeconfig yet".to_owned();
            return Ok(Source::Blocked(Blocked::MetadataMissing, message));
        };
        let (config, config_version) =
            match self.value(cluster.name(), &metadata.kubeconfig, KUBECONFIG).await? {
                Ok(found) => found,
                Err(blocked) => return Ok(blocked),
            };
        if let Err(why) = kubeconfig::judge(&config) {
            let message = format!("what Secret {} has as {KUBECONFIG} {why}", metadata.kubeconfig.name);
            return Ok(Source::Blocked(Blocked::KubeconfigRejected, message));
        }
        // A cluster that was adopted, or whose console has other logins, has none.
        let reference = metadata.password.as_ref().filter(|reference| !reference.name.is_empty());
        let (password, password_version) = match reference {
            None => (Vec::new(), "none".to_owned()),
            Some(reference) => match self.value(cluster.name(), reference, PASSWORD).await? {
                Ok(found) => found,
                Err(blocked) => return Ok(blocked),
            },
        };
        let credentials = Credentials {
            kubeconfig: Redacted(config),
            password: Redacted(password),
            source_revision: format!("{}:{config_version},{password_version}", cluster.name()),
        };
        self.compare(claim, &credentials, published).await?;
        Ok(Source::Complete(credentials))
    }

    /// One value, and which state of which Secret it is from.
    async fn value(
        &self,
        namespace: &str,
        reference: &SecretRef,
        key: &str,
    ) -> Result<Result<(Vec<u8>, String), Source>, Error> {
        let name = &reference.name;
        let blocked = |reason, message| Ok(Err(Source::Blocked(reason, message)));
        let secret = match self.secret(self.hub.secrets_of(namespace).get_opt(name)).await {
            Ok(Some(secret)) => secret,
            Ok(None) => {
                return blocked(
                    Blocked::SecretMissing,
                    format!("Secret {name} of the cluster does not exist"),
                );
            }
            // Said, because only an administrator can change it: the claim has to name the provider among its subjects.
            Err(error) if error.reason == Reason::Forbidden => {
                let message = format!("the provider is not let in to read Secret {name} of the cluster");
                return blocked(Blocked::SecretMissing, message);
            }
            Err(error) => return Err(error),
        };
        let version = secret.metadata.resource_version.unwrap_or_default();
        match secret.data.and_then(|mut data| data.remove(key)).filter(|value| !value.0.is_empty()) {
            Some(value) => Ok(Ok((value.0, format!("{name}@{version}")))),
            None => blocked(Blocked::KeyMissing, format!("Secret {name} of the cluster has no {key}")),
        }
    }

    /// Reads what is published where neither the cache nor the annotation is a proof that it is what it was.
    async fn compare(
        &self,
        claim: &ClusterClaim,
        credentials: &Credentials,
        published: &mut Published,
    ) -> Result<(), Error> {
        let Published::Ours { revision, source_revision: made_from } = &*published else { return Ok(()) };
        // What somebody changed by hand has another resourceVersion than the one that was announced.
        let untouched = claim.annotation(ours::CREDENTIALS_REVISION) == Some(revision);
        if untouched || made_from.as_ref() != Some(&credentials.source_revision) {
            return Ok(());
        }
        let stored = self.secret(self.hub.secrets().get_opt(&published_name(claim.name()))).await?;
        *published = judge(stored.as_ref().map(|secret| &secret.metadata), claim);
        if let (Some(stored), Published::Ours { source_revision: said, .. }) = (stored, published) {
            let same = stored.data.as_ref() == Some(&secret::data(credentials));
            *said = source_revision(&stored.metadata).filter(|_| same).cloned();
        }
        Ok(())
    }

    /// A call whose answer is secret.
    async fn secret(
        &self,
        call: impl Future<Output = kube::Result<Option<Secret>>>,
    ) -> Result<Option<Secret>, Error> {
        let call = async { call.await.map_err(|error| Cause::about_secret(&error)) };
        limited("get_credentials", self.patience, call).await
    }

    /// Any other call.
    pub async fn call<T>(
        &self,
        action: &'static str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Error> {
        limited(action, self.patience, async { call.await.map_err(Cause::from) }).await
    }

    /// A claim by the name of its Secret, as the cache knows it.
    pub fn cached(&self, namespace: &str, name: &str) -> Option<Arc<ClusterClaim>> {
        self.caches.claims.get(&ObjectRef::new(name).within(namespace))
    }
}
