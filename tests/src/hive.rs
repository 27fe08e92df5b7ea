//! Hive, played: pools, their claims and their clusters on a hub, step by step as the real one takes them, and badly where a
//! scenario wants that.
//!
//! It looks at everything every moment and takes whatever steps are due; what it holds beyond the objects is only since when
//! something is under way. Left out is what nobody here looks at: most conditions of pools, machine pools, sync sets.

pub mod claimed;
mod claims;
pub mod objects;
pub mod offer;
mod pools;

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use crate::{
    cluster::{At, Cluster, SOON, at, at_root, has},
    kinds::{CLUSTER_CLAIM, CLUSTER_DEPLOYMENT, CLUSTER_POOL, CRD},
    manifests,
    player::{Behaves, Player, Playing, Since, Troubles, play},
};
use objects::{kubeconfig_secret, password_secret, text};

/// Its kinds.
pub const DEFINITIONS: [&str; 4] = [
    "clusterclaims.hive.openshift.io",
    "clusterpools.hive.openshift.io",
    "clusterdeployments.hive.openshift.io",
    "clusterimagesets.hive.openshift.io",
];
/// Its finalizer on claims, on clusters, and on pools.
const FINALIZERS: [&str; 3] =
    ["hive.openshift.io/claim", "hive.openshift.io/deprovision", "hive.openshift.io/clusters"];

/// How it behaves.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// From being told to run until it runs.
    pub resuming: Duration,
    /// From being made until it is installed.
    pub installing: Duration,
    /// From being told to end until it has ended.
    pub ending: Duration,
    /// Those that neither end nor wake up until they are let go.
    pub held: BTreeSet<String>,
    /// Those that the cloud refuses to destroy.
    pub refused: BTreeSet<String>,
    /// The pools that give the same cluster to two claims. Once they do not any more, it is taken back from the one that it does not
    /// belong to.
    pub conflicts: BTreeSet<String>,
    /// The pools whose clusters fail to be installed.
    pub breaks: BTreeSet<String>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            resuming: Duration::from_millis(500),
            installing: Duration::from_millis(500),
            ending: Duration::from_millis(300),
            held: BTreeSet::new(),
            refused: BTreeSet::new(),
            conflicts: BTreeSet::new(),
            breaks: BTreeSet::new(),
        }
    }
}

/// Hive on one hub, until it is dropped.
pub struct Hive {
    hub: Cluster,
    behaviour: Behaves<Behaviour>,
    _playing: Playing,
}

/// Defines its kinds on a hub.
pub async fn define(hub: &Cluster, definitions: &[Value]) -> anyhow::Result<()> {
    for crd in definitions {
        hub.apply(crd).await?;
        let name = text(crd, "/metadata/name");
        hub.until_is(&at_root(CRD, name), SOON, "established", |crd| has(crd, "Established", "True", ""))
            .await?;
    }
    Ok(())
}

/// Its kinds: the real ones where they are there, else what we know of them.
pub fn definitions() -> anyhow::Result<Vec<Value>> {
    DEFINITIONS.iter().map(|name| manifests::foreign_crd(name)).collect()
}

impl Hive {
    /// Begins to play.
    pub fn start(hub: &Cluster, behaviour: Behaviour) -> Self {
        let behaviour = Behaves::new(behaviour);
        let played =
            Played { hub: hub.clone(), behaviour: behaviour.clone(), since: Since::default(), made: 0 };
        Self { hub: hub.clone(), behaviour, _playing: play(played) }
    }

    /// Behaves otherwise from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.behaviour.change(change);
    }

    /// A new kubeconfig of a cluster, as when its authority is replaced.
    pub async fn rotate(&self, cluster: &str, kubeconfig: &str) -> anyhow::Result<()> {
        self.hub.apply(&kubeconfig_secret(cluster, kubeconfig)).await.map(|_| ())
    }

    /// A new password of a cluster.
    pub async fn renew_password(&self, cluster: &str, password: &str) -> anyhow::Result<()> {
        self.hub.apply(&password_secret(cluster, password)).await.map(|_| ())
    }

    /// Puts a cluster to sleep, as Hive does with one that has been claimed for long enough.
    pub async fn hibernate(&self, cluster: &str) -> anyhow::Result<()> {
        let asleep = json!({ "spec": { "powerState": "Hibernating" } });
        Ok(self.hub.merge(&deployment(cluster), &asleep).await?)
    }

    /// Lets the end of a cluster, or its waking up, last until it is let go.
    pub fn hold(&self, cluster: &str) {
        self.behave(|behaviour| {
            behaviour.held.insert(cluster.to_owned());
        });
    }

    /// Lets the cluster end or wake up.
    pub fn let_go(&self, cluster: &str) {
        self.behave(|behaviour| {
            behaviour.held.remove(cluster);
        });
    }

    /// Lets the cloud refuse to destroy a cluster, or destroy it after all.
    pub fn refuse(&self, cluster: &str, refused: bool) {
        self.behave(|behaviour| {
            behaviour.refused.remove(cluster);
            behaviour.refused.extend(refused.then(|| cluster.to_owned()));
        });
    }

    /// Deletes a cluster underneath its claim.
    pub async fn lose(&self, cluster: &str) -> anyhow::Result<()> {
        self.hub.delete(&deployment(cluster)).await
    }
}

/// Where a cluster is.
pub fn deployment(name: &str) -> At {
    at(CLUSTER_DEPLOYMENT, name, name)
}

struct Played {
    hub: Cluster,
    behaviour: Behaves<Behaviour>,
    since: Since,
    made: usize,
}

impl Player for Played {
    const WHO: &'static str = "hive";

    async fn look(&mut self) -> anyhow::Result<()> {
        let seen = Seen {
            clusters: self.hub.list(CLUSTER_DEPLOYMENT).await?,
            pools: self.hub.list(CLUSTER_POOL).await?,
            claims: self.hub.list(CLUSTER_CLAIM).await?,
        };
        let mut troubles = Troubles::default();
        for cluster in &seen.clusters {
            troubles.note(text(cluster, "/metadata/name"), self.look_at_cluster(cluster, &seen).await);
        }
        for claim in &seen.claims {
            troubles.note(text(claim, "/metadata/name"), self.look_at_claim(claim, &seen).await);
        }
        for pool in &seen.pools {
            troubles.note(text(pool, "/metadata/name"), self.look_at_pool(pool, &seen).await);
        }
        troubles.told()
    }
}

/// State that one pass sees. As with Hive's caches, it may lag by a moment.
struct Seen {
    clusters: Vec<Value>,
    pools: Vec<Value>,
    claims: Vec<Value>,
}

impl Seen {
    fn cluster(&self, name: &str) -> Option<&Value> {
        self.clusters.iter().find(|cluster| cluster["metadata"]["name"] == name)
    }

    /// `true` if a cluster belongs to a claim that does not exist.
    fn is_orphan(&self, cluster: &Value) -> bool {
        let owner = text(cluster, "/spec/clusterPoolRef/claimName");
        let of_pool =
            |claim: &Value| claim["metadata"]["namespace"] == cluster["spec"]["clusterPoolRef"]["namespace"];
        !owner.is_empty() && !self.claims.iter().any(|c| of_pool(c) && c["metadata"]["name"] == owner)
    }

    /// The pool that a claim is on.
    fn pool_of(&self, claim: &Value) -> Option<&Value> {
        self.pools.iter().find(|pool| {
            pool["metadata"]["namespace"] == claim["metadata"]["namespace"]
                && pool["metadata"]["name"] == claim["spec"]["clusterPoolName"]
        })
    }

    /// The clusters of a pool, oldest first.
    fn clusters_of(&self, namespace: &str, pool: &str) -> Vec<&Value> {
        let ours = |cluster: &&Value| {
            let of = &cluster["spec"]["clusterPoolRef"];
            of["namespace"] == namespace && of["poolName"] == pool
        };
        let mut clusters: Vec<&Value> = self.clusters.iter().filter(ours).collect();
        clusters.sort_by_key(|cluster| objects::age(cluster));
        clusters
    }

    /// The claims of a pool that wait, oldest first.
    fn waiting(&self, namespace: &str, pool: &str) -> Vec<&Value> {
        let waits = |claim: &&Value| {
            claim["metadata"]["namespace"] == namespace
                && claim["spec"]["clusterPoolName"] == pool
                && text(claim, "/spec/namespace").is_empty()
                && claim["metadata"]["deletionTimestamp"].is_null()
        };
        let mut waiting: Vec<&Value> = self.claims.iter().filter(waits).collect();
        waiting.sort_by_key(|claim| objects::age(claim));
        waiting
    }
}

impl Played {
    fn behaviour(&self) -> Behaviour {
        self.behaviour.now(Clone::clone)
    }

    async fn look_at_cluster(&mut self, cluster: &Value, seen: &Seen) -> anyhow::Result<()> {
        let name = text(cluster, "/metadata/name");
        let behaviour = self.behaviour();
        if cluster["metadata"]["deletionTimestamp"].is_string() {
            if behaviour.refused.contains(name) {
                return self.say_refused(cluster).await;
            }
            if !behaviour.held.contains(name) && self.since.over("ending", name, behaviour.ending) {
                let free = json!({ "metadata": { "finalizers": null } });
                self.hub.merge(&deployment(name), &free).await?;
            }
            return Ok(());
        }
        if cluster["metadata"]["annotations"]["hive.openshift.io/remove-cluster-from-pool"] == "true" {
            return self.hub.delete(&deployment(name)).await;
        }
        // Given to a claim by a write that came through late, when the claim had been let go. Claims are listed after clusters.
        if seen.is_orphan(cluster) {
            return self.hub.delete(&deployment(name)).await;
        }
        if cluster["spec"]["installed"] != true {
            if has(cluster, "ProvisionStopped", "True", "") {
                return self.hub.delete(&deployment(name)).await;
            }
            if self.since.over("installing", name, behaviour.installing) {
                let breaks = behaviour.breaks.contains(text(cluster, "/spec/clusterPoolRef/poolName"));
                return if breaks { self.break_down(name).await } else { self.install(name).await };
            }
            return Ok(());
        }
        match (text(cluster, "/spec/powerState"), text(cluster, "/status/powerState")) {
            ("Hibernating", "Hibernating") | ("Running", "Running") => self.since.ended("resuming", name),
            ("Hibernating", _) => self.power(name, "Hibernating").await?,
            (_, "Running") => {}
            _ if behaviour.held.contains(name) => {}
            _ if self.since.over("resuming", name, behaviour.resuming) => self.power(name, "Running").await?,
            (_, "WaitingForNodes") => {}
            _ => self.power(name, "WaitingForNodes").await?,
        }
        Ok(())
    }

    async fn power(&self, name: &str, state: &str) -> anyhow::Result<()> {
        Ok(self.hub.merge_status(&deployment(name), &objects::power(state)).await?)
    }

    async fn install(&self, name: &str) -> anyhow::Result<()> {
        self.hub.apply_all(&objects::secrets(name)).await?;
        self.hub.merge(&deployment(name), &objects::installed()).await?;
        Ok(self.hub.merge_status(&deployment(name), &objects::addresses(name)).await?)
    }

    async fn break_down(&self, name: &str) -> anyhow::Result<()> {
        Ok(self.hub.merge_status(&deployment(name), &objects::broken()).await?)
    }

    async fn say_refused(&self, cluster: &Value) -> anyhow::Result<()> {
        if has(cluster, "DeprovisionLaunchError", "True", "") {
            return Ok(());
        }
        Ok(self
            .hub
            .merge_status(&deployment(text(cluster, "/metadata/name")), &objects::refused(cluster))
            .await?)
    }
}
