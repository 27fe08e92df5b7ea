//! Maps events of the watches to ClusterClaims.

use kube::{
    Resource,
    runtime::{
        reflector::store::Writer,
        watcher::{Config, Event},
    },
};
use testplatform_apis::foreign::cluster_claim::KIND;
use testplatform_runtime::watch;

use super::{ClaimController, claim_key};
use crate::{
    controllers::cluster_claim::{
        caches::{ClaimWriters, slim_claim},
        object::{ClusterClaim, ClusterDeployment, ClusterPool, GROUP},
    },
    credentials::{
        SUFFIX,
        publish::Labelled,
        secret::{SecretMeta, slim_secret},
    },
};

impl ClaimController {
    /// Watches until it is dropped.
    ///
    /// Lists come in pages: that bounds what is held while they are read, and works with every API server.
    pub(super) async fn feed_caches(&self, writers: ClaimWriters) {
        let ClaimWriters { claims, pools, deployments, secrets } = writers;
        tokio::join!(
            self.feed_claims(claims),
            self.feed_pools(pools),
            self.feed_deployments(deployments),
            self.feed_secrets(secrets),
        );
    }

    async fn feed_claims(&self, mut writer: Writer<ClusterClaim>) {
        watch::keep_watching(self.hub.all_claims(), Config::default(), &self.health[0], |event| {
            let event = event.modify(|claim| slim_claim(&mut claim.metadata));
            // Hive's word of it decides whether others move up.
            let waited =
                |claim: &ClusterClaim| self.cached_claim(claim).is_none_or(|before| before.is_waiting());
            let moves = match &event {
                Event::Apply(claim) => {
                    waited(claim) != claim.is_waiting() || self.cached_claim(claim).is_none()
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
                    self.orphans.push(format!("{}{SUFFIX}", claim.name()));
                    if moves {
                        self.push_waiting(claim.namespace(), claim.pool());
                    }
                }
                Event::InitDone => {
                    for claim in self.caches.claims.state() {
                        self.push_claim(&claim);
                    }
                    // An owner may have been deleted without an event.
                    for secret in self.caches.secrets.state() {
                        self.push_secret(&secret);
                    }
                }
                Event::Init | Event::InitApply(_) => {}
            }
        })
        .await;
    }

    async fn feed_pools(&self, mut writer: Writer<ClusterPool>) {
        watch::keep_watching(self.hub.all_pools(), Config::default(), &self.health[1], |event| {
            writer.apply_watcher_event(&event);
            match event {
                Event::Apply(pool) | Event::Delete(pool) => {
                    for claim in self.caches.claims_of(pool.namespace(), pool.name()) {
                        self.push_claim(&claim);
                    }
                }
                Event::InitDone => self.push_all(),
                Event::Init | Event::InitApply(_) => {}
            }
        })
        .await;
    }

    async fn feed_deployments(&self, mut writer: Writer<ClusterDeployment>) {
        watch::keep_watching(self.hub.all_deployments(), Config::default(), &self.health[2], |event| {
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

    async fn feed_secrets(&self, mut writer: Writer<SecretMeta>) {
        watch::keep_watching(
            self.hub.credentials_namespace().secrets_metadata(),
            Config::default(),
            &self.health[3],
            |event| {
                let event = event.modify(|secret| slim_secret(&mut secret.metadata));
                if let Event::Apply(secret) | Event::InitApply(secret) = &event
                    && !name_of(secret).ends_with(SUFFIX)
                {
                    return;
                }
                writer.apply_watcher_event(&event);
                match event {
                    Event::Apply(secret) | Event::Delete(secret) => self.push_secret(&secret),
                    Event::InitDone => {
                        for secret in self.caches.secrets.state() {
                            self.push_secret(&secret);
                        }
                        self.push_all();
                    }
                    Event::Init | Event::InitApply(_) => {}
                }
            },
        )
        .await;
    }

    fn push_claim(&self, claim: &ClusterClaim) {
        self.queue.push(claim_key(claim.namespace(), claim.name()));
    }

    fn push_all(&self) {
        for claim in self.caches.claims.state() {
            self.push_claim(&claim);
        }
    }

    /// Queues the claims that wait for a cluster of a pool.
    fn push_waiting(&self, namespace: &str, pool: &str) {
        for claim in self.caches.claims_of(namespace, pool).iter().filter(|claim| claim.is_waiting()) {
            self.push_claim(claim);
        }
    }

    /// Queues the claims that a cluster concerns: its holder, those that name it, and those that may get it.
    fn push_of(&self, deployment: &ClusterDeployment) {
        let pool = deployment.spec.value.cluster_pool_ref.clone().unwrap_or_default();
        for claim in self.caches.claims.state() {
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
        let Some(claim) = name_of(secret).strip_suffix(SUFFIX) else { return };
        match Labelled::of(&secret.metadata, GROUP, KIND) {
            Some(owner) => {
                self.queue.push(claim_key(owner.namespace, claim));
                self.orphans.push(name_of(secret));
            }
            None => {
                for found in self.caches.claims.state().iter().filter(|found| found.name() == claim) {
                    self.push_claim(found);
                }
            }
        }
    }

    fn cached_claim(&self, claim: &ClusterClaim) -> Option<std::sync::Arc<ClusterClaim>> {
        self.observer.cached_claim(claim.namespace(), claim.name())
    }
}

fn name_of<K: Resource<DynamicType = ()>>(object: &K) -> &str {
    object.meta().name.as_deref().unwrap_or_default()
}
