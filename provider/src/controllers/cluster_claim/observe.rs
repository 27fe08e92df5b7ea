//! Observes one ClusterClaim, as data. Nothing is written here, and the only decision is what may be read.

use std::{sync::Arc, time::Duration};

use testplatform_apis::{foreign::cluster_claim::KIND, hive_status::Blocked, names::ours};
use testplatform_runtime::{
    error::{Cause, Error},
    lookup,
    redacted::Redacted,
    timeout::with_timeout,
};
use tokio::time::sleep;

use super::{
    caches::{ClaimCaches, claim_key},
    deployment::{ClusterMetadata, SecretRef},
    hub::ClaimHub,
    object::{ClusterClaim, ClusterDeployment, GROUP},
    observed_state::{ClaimSettings, ClaimState, CredentialsSource, DeploymentState},
    plan::may_read,
};
use crate::credentials::{
    Credentials, Published,
    account::{
        self, CredentialsOwner, Issue, admin::AdminKubeconfig, credentials_owner, guest_limiter::GuestLimiter,
    },
    publish::{Key, Reader, SecretOwners},
};

/// Keys of Hive's Secrets. `raw-kubeconfig`, which is there too, lacks the certificate authorities that Hive adds.
const KUBECONFIG: &str = "kubeconfig";
const PASSWORD: &str = "password";

/// Looks.
pub struct ClaimObserver {
    /// The hub.
    pub hub: ClaimHub,
    /// Cached objects.
    pub caches: Arc<ClaimCaches>,
    /// Decisions of the administrators.
    pub settings: ClaimSettings,
    /// How long one call may take.
    pub patience: Duration,
    /// Leave to call clusters that were delivered.
    pub callers: GuestLimiter,
}

impl ClaimObserver {
    /// Observes a ClusterClaim; None if the API server says that it does not exist any more.
    ///
    /// Waiting claims are observed from caches. Once there is a cluster, or something is published, the claim and then its cluster are read
    /// from the API server: published credentials cannot be recalled, and withdrawn ones are missed.
    pub async fn observe_claim(
        &self,
        cached: Arc<ClusterClaim>,
        anew: bool,
    ) -> Result<Option<(Arc<ClusterClaim>, ClaimState)>, Error> {
        let published = self.caches.published(&cached);
        let is_ours = cached.is_marked() || matches!(published, Published::Ours { .. });
        let matters = is_ours && (cached.assigned().is_some() || matches!(published, Published::Ours { .. }));
        let claim = if anew || matters {
            let api = self.hub.claims(cached.namespace());
            match self.call_api("get_cluster_claim", lookup::get_opt(&api, cached.name())).await? {
                Some(claim) => Arc::new(claim),
                None => return Ok(None),
            }
        } else {
            cached
        };
        let deployment = match claim.assigned().filter(|_| is_ours) {
            None => DeploymentState::Unassigned,
            Some(name) => {
                let api = self.hub.deployments(name);
                match self.call_api("get_cluster_deployment", lookup::get_opt(&api, name)).await? {
                    Some(deployment) => DeploymentState::Here(Arc::new(deployment)),
                    None => DeploymentState::Gone,
                }
            }
        };
        // By the claim as it is now, which may be another one of the same name.
        let mut published = self.caches.published(&claim);
        let source = match &deployment {
            DeploymentState::Here(cluster) if may_read(&claim, &deployment) => {
                self.credentials_source(&claim, cluster, &mut published).await?
            }
            DeploymentState::Here(_) | DeploymentState::Unassigned | DeploymentState::Gone => {
                CredentialsSource::Unread
            }
        };
        let (namespace, pool) = (claim.namespace(), claim.pool());
        let queue = self.caches.claims_of(namespace, pool);
        let waits = |claim: &&Arc<ClusterClaim>| claim.is_waiting();
        let created = |claim: &Arc<ClusterClaim>| claim.metadata.creation_timestamp.as_ref().map(|t| t.0);
        let observed = ClaimState {
            settings: self.settings,
            pool: self.caches.pool_of(&claim),
            queue: queue.iter().filter(waits).map(created).collect(),
            unclaimed: self.caches.unclaimed_of(namespace, pool),
            deployment,
            source,
            published,
        };
        Ok(Some((claim, observed)))
    }

    /// The credentials of a claimed cluster. `published` is put right where a cache or an annotation misleads.
    async fn credentials_source(
        &self,
        claim: &ClusterClaim,
        cluster: &ClusterDeployment,
        published: &mut Published,
    ) -> Result<CredentialsSource, Error> {
        let reader = Reader { vault: self.hub.credentials_namespace(), patience: self.patience };
        let source = match credentials_owner(claim.annotation(account::WISH), published) {
            CredentialsOwner::Admin => {
                read_credentials(&reader, cluster).await?.map(CredentialsSource::Complete)
            }
            CredentialsOwner::Account(wish) => {
                read_admin_kubeconfig(&reader, cluster).await?.map(|(admin, revision)| {
                    CredentialsSource::Account(Box::new(Issue {
                        admin,
                        wish,
                        uid: claim.uid().to_owned(),
                        revision,
                    }))
                })
            }
            CredentialsOwner::Nobody(why) => Err((Blocked::SecretMissing, why.to_owned())),
        };
        let source = source.unwrap_or_else(|(reason, message)| CredentialsSource::Blocked(reason, message));
        let announced = claim.annotation(ours::CREDENTIALS_REVISION);
        reader.verify(&claim.owner(), announced, &source, published).await?;
        reader.verify_accepted(&self.callers, source, published).await
    }

    /// Any other call.
    pub async fn call_api<T>(
        &self,
        action: &'static str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Error> {
        with_timeout(action, self.patience, async { call.await.map_err(Cause::from) }).await
    }
}

impl SecretOwners for ClaimObserver {
    fn kind(&self) -> (&'static str, &'static str) {
        (GROUP, KIND)
    }

    fn cached_uid(&self, namespace: &str, name: &str) -> Option<String> {
        Some(self.caches.claim(&claim_key(namespace, name))?.uid().to_owned())
    }

    async fn read_uid(&self, namespace: &str, name: &str) -> Result<Option<String>, Error> {
        let api = self.hub.claims(namespace);
        let found = self.call_api("get_cluster_claim", lookup::get_opt(&api, name)).await?;
        Ok(found.map(|claim| claim.uid().to_owned()))
    }

    async fn wait_for_caches(&self) {
        while !self.caches.are_filled() {
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The cluster's metadata, if they name the Secret with its kubeconfig.
fn cluster_metadata(cluster: &ClusterDeployment) -> Result<&ClusterMetadata, (Blocked, String)> {
    let metadata = cluster.spec.value.cluster_metadata.as_ref();
    metadata.filter(|m| !m.kubeconfig.name.is_empty()).ok_or_else(|| {
        let message = "the ClusterDeployment does not name the Secret with its kubeconfig yet".to_owned();
        (Blocked::MetadataMissing, message)
    })
}

async fn read_admin_kubeconfig(
    reader: &Reader<'_>,
    cluster: &ClusterDeployment,
) -> Result<Result<(AdminKubeconfig, String), (Blocked, String)>, Error> {
    match cluster_metadata(cluster) {
        Ok(metadata) => reader.admin(cluster.name(), &Key::new(&metadata.kubeconfig.name, KUBECONFIG)).await,
        Err(blocked) => Ok(Err(blocked)),
    }
}

async fn read_credentials(
    reader: &Reader<'_>,
    cluster: &ClusterDeployment,
) -> Result<Result<Credentials, (Blocked, String)>, Error> {
    let metadata = match cluster_metadata(cluster) {
        Ok(metadata) => metadata,
        Err(blocked) => return Ok(Err(blocked)),
    };
    let namespace = cluster.name();
    let at = Key::new(&metadata.kubeconfig.name, KUBECONFIG);
    let (config, config_version) = match reader.kubeconfig(namespace, &at).await? {
        Ok(found) => found,
        Err(blocked) => return Ok(Err(blocked)),
    };
    // A cluster that was adopted, or whose console has other logins, has none.
    let reference = metadata.password.as_ref().filter(|reference| !reference.name.is_empty());
    let (password, password_version) = match reference {
        None => (Vec::new(), "none".to_owned()),
        Some(SecretRef { name }) => match reader.value(namespace, &Key::new(name, PASSWORD)).await? {
            Ok(found) => found,
            Err(blocked) => return Ok(Err(blocked)),
        },
    };
    Ok(Ok(Credentials {
        kubeconfig: Redacted(config),
        password: Redacted(password),
        source_revision: format!("{namespace}:{config_version},{password_version}"),
    }))
}
