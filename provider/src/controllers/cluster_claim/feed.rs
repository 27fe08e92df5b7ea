//! Maps events of the watches to ClusterClaims.

use std::sync::PoisonError;

use kube::runtime::{
    reflector::store::Writer,
    watcher::{Config, Event},
};
use testplatform_apis::foreign::cluster_claim::KIND;
use testplatform_runtime::watch;

use super::{
    caches::{ClaimCaches, ClaimWriters, claim_key, slim_claim},
    hub::ClaimHub,
    object::{ClusterClaim, ClusterDeployment, ClusterPool, GROUP},
};
use crate::credentials::{SUFFIX, publish::Labelled, secret::SecretMeta};

impl ClaimCaches {
    /// Watches until it is dropped.
    ///
    /// Lists come in pages: that bounds what is held while they are read, and works with every API server.
    pub(super) async fn watch(&self, hub: &ClaimHub) {
        let writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(ClaimWriters { claims, pools, deployments }) = writers else { return };
        let vault = hub.credentials_namespace();
        let push_secret = |secret: &SecretMeta| self.push_secret(secret);
        tokio::join!(
            self.feed_claims(hub, claims),
            self.feed_pools(hub, pools),
            self.feed_deployments(hub, deployments),
            self.secrets.watch(vault, &self.health[3], push_secret, || self.push_all()),
        );
    }

    async fn feed_claims(&self, hub: &ClaimHub, mut writer: Writer<ClusterClaim>) {
        watch::keep_watching(hub.all_claims(), Config::default(), &self.health[0], |event| {
            let event = event.modify(|claim| slim_claim(&mut claim.metadata));
            // Hive's word of it decides whether others move up.
            let waited =
                |claim: &ClusterClaim| self.claim(&key_of(claim)).is_none_or(|before| before.is_waiting());
            let moves = match &event {
                Event::Apply(claim) => {
                    waited(claim) != claim.is_waiting() || self.claim(&key_of(claim)).is_none()
                }
                Event::Delete(claim) => waited(claim),
                Event::Init | Event::InitApply(_) | Event::InitDone => false,
            };
            writer.apply_watcher_event(&event);
            match event {
                Event::Apply(claim) => {
                    self.push_claim(&claim);
                    if moves {
                        self.push_waiting(claim.namespace(), claim.pool());
                    }
                }
                Event::Delete(claim) => {
                    self.secrets.push_deleted_owner(claim.name());
                    if moves {
                        self.push_waiting(claim.namespace(), claim.pool());
                    }
                }
                Event::InitDone => {
                    for claim in self.claims.state() {
                        self.push_claim(&claim);
                    }
                    // An owner may have been deleted without an event.
                    for secret in self.secrets.store.state() {
                        self.push_secret(&secret);
                    }
                }
                Event::Init | Event::InitApply(_) => {}
            }
        })
        .await;
    }

    async fn feed_pools(&self, hub: &ClaimHub, mut writer: Writer<ClusterPool>) {
        watch::keep_watching(hub.all_pools(), Config::default(), &self.health[1], |event| {
            writer.apply_watcher_event(&event);
            match event {
                Event::Apply(pool) | Event::Delete(pool) => {
                    for claim in self.claims_of(pool.namespace(), pool.name()) {
                        self.push_claim(&claim);
                    }
                }
                Event::InitDone => self.push_all(),
                Event::Init | Event::InitApply(_) => {}
            }
        })
        .await;
    }

    async fn feed_deployments(&self, hub: &ClaimHub, mut writer: Writer<ClusterDeployment>) {
        watch::keep_watching(hub.all_deployments(), Config::default(), &self.health[2], |event| {
            let event = event.modify(ClusterDeployment::drop_unread_fields);
            writer.apply_watcher_event(&event);
            match event {
                Event::Apply(deployment) | Event::Delete(deployment) => self.push_of(&deployment),
                Event::InitDone => self.push_all(),
                Event::Init | Event::InitApply(_) => {}
            }
        })
        .await;
    }

    fn push_claim(&self, claim: &ClusterClaim) {
        self.queue.push(key_of(claim));
    }

    fn push_all(&self) {
        for claim in self.claims.state() {
            self.push_claim(&claim);
        }
    }

    /// Queues the claims that wait for a cluster of a pool.
    fn push_waiting(&self, namespace: &str, pool: &str) {
        for claim in self.claims_of(namespace, pool).iter().filter(|claim| claim.is_waiting()) {
            self.push_claim(claim);
        }
    }

    /// Queues the claims that a cluster concerns: its holder, those that name it, and those that may get it.
    fn push_of(&self, deployment: &ClusterDeployment) {
        let pool = deployment.spec.value.cluster_pool_ref.clone().unwrap_or_default();
        for claim in self.claims.state() {
            let names = claim.assigned() == Some(deployment.name());
            let of_pool = claim.namespace() == pool.namespace && claim.pool() == pool.pool_name;
            let has = of_pool && claim.name() == pool.claim_name;
            let may_get = of_pool && pool.claim_name.is_empty() && claim.is_waiting();
            if names || has || may_get {
                self.push_claim(&claim);
            }
        }
    }

    /// A Secret may have outlived its claim, or belong to it. A Secret without an owner may still block a claim of its name.
    fn push_secret(&self, secret: &SecretMeta) {
        let name = secret.metadata.name.as_deref().unwrap_or_default();
        let Some(claim) = name.strip_suffix(SUFFIX) else { return };
        match Labelled::of(&secret.metadata, GROUP, KIND) {
            Some(owner) => {
                self.queue.push(claim_key(owner.namespace, claim));
                self.secrets.queue.push(name);
            }
            None => {
                for found in self.claims.state().iter().filter(|found| found.name() == claim) {
                    self.push_claim(found);
                }
            }
        }
    }
}

fn key_of(claim: &ClusterClaim) -> String {
    claim_key(claim.namespace(), claim.name())
}
