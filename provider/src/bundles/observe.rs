//! What there is around one order, as data: the object that stands for the cluster, and what is published for it.

use std::time::Duration;

use testplatform_apis::{
    bundle::Order,
    names::{ObjectName, keys},
    template::Backend,
};

use super::next::Here;
use crate::{
    account::{WISH, admin::AdminKubeconfig, stamp::Stamp},
    clusters::{
        kind::{self, Holder, owner},
        object::Cluster,
        observe::find,
    },
    config::Clusters,
    ephemeral_cluster::credentials::Published,
    execute::{Error, Reason},
    named,
    publish::{Reader, Vault},
};

/// Looks.
pub(super) struct Observer {
    /// The Secrets of the hub.
    pub vault: Vault,
    /// Of which clusters credentials are published.
    pub config: Clusters,
    /// How long one call may take.
    pub patience: Duration,
}

impl Observer {
    /// The cluster of an order in this namespace.
    pub async fn here(&self, namespace: &str, order: &Order) -> Result<Here, Error> {
        let named = &order.cluster;
        let Some(backend) = self.config.backend(namespace, &named.group, &named.kind) else {
            return Ok(Here::Unknown);
        };
        let found =
            find(&self.vault.client(), self.patience, backend, namespace, named.name.as_str()).await?;
        let Some(object) = found else { return Ok(Here::Gone) };
        if object.is_deleted() {
            return Ok(Here::Going);
        }
        let holder = match kind::of(backend).holder(&object) {
            Holder::Itself => None,
            Holder::NotNamed(_) => {
                return Ok(Here::Closed("the cluster's object does not name its cluster yet"));
            }
            Holder::HostedCluster { namespace, name } => match self.hosted(namespace, name).await? {
                None => return Ok(Here::Gone),
                Some(holder) if holder.is_deleted() => return Ok(Here::Going),
                Some(holder) => Some(holder),
            },
        };
        self.open(backend, &object, holder.as_ref().unwrap_or(&object)).await
    }

    /// What is published for an object, and by what its cluster lets us in: the published kubeconfig, or that of its admin where a tenant's own is
    /// published, which may do less.
    async fn open(&self, backend: Backend, object: &Cluster, holder: &Cluster) -> Result<Here, Error> {
        const NONE: Here = Here::Closed("the credentials of the cluster are not published");
        if !object.is_marked_for(self.vault.namespace()) {
            return Ok(NONE);
        }
        let owner = owner(backend, object);
        let reader = Reader { vault: &self.vault, patience: self.patience };
        let secret = match reader.secret(named::find(&self.vault.secrets(), &owner.secret_name())).await {
            Ok(secret) => secret,
            // Said, because only an administrator can change it; and the end of the cluster is not to wait for that longer than its bundles may take.
            Err(error) if error.reason == Reason::Forbidden => {
                return Ok(Here::Closed("the provider is not let in to read what is published"));
            }
            Err(error) => return Err(error),
        };
        let published = owner.judge(secret.as_ref().map(|secret| &secret.metadata));
        match &published {
            Published::Ours { .. } => {}
            Published::Absent => return Ok(NONE),
            Published::Foreign(_) => {
                return Ok(Here::Closed("the Secret of the name was published for another cluster"));
            }
        }
        let uid = object.uid().to_owned();
        if Stamp::of(&published).is_none() && object.annotation(WISH).is_none() {
            let config = secret.and_then(|secret| secret.data?.remove(keys::KUBECONFIG));
            let Some(config) = config else { return Ok(NONE) };
            return Ok(Here::Open { uid, admin: AdminKubeconfig::new(config.0) });
        }
        let Ok(place) = kind::of(backend).place(holder) else {
            return Ok(Here::Closed("the cluster does not name the Secret with its admin's kubeconfig"));
        };
        Ok(match reader.admin(holder.namespace(), &place.kubeconfig).await? {
            Ok((admin, _)) => Here::Open { uid, admin },
            Err(_) => Here::Closed("the kubeconfig of the cluster's admin cannot be read"),
        })
    }

    async fn hosted(&self, namespace: &str, name: &str) -> Result<Option<Cluster>, Error> {
        // They become parts of a path.
        if ObjectName::try_from(namespace).is_err() || ObjectName::try_from(name).is_err() {
            return Ok(None);
        }
        find(&self.vault.client(), self.patience, Backend::HyperShift, namespace, name).await
    }
}
