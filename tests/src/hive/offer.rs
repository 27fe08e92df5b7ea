//! The testbed's offer out of pools: each scenario has a pool of its own on the hub, and the catalogue names them all.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};

use super::{
    Behaviour, Hive, deployment,
    objects::{cluster_pool, text},
};
use crate::{
    carrier,
    cluster::{Cluster, SOON, at},
    kinds::{CLUSTER_DEPLOYMENT, CLUSTER_POOL},
    manifests,
};

/// Namespace of the pools, as it is in the rights that we ship.
pub const POOLS: &str = "cluster-pools";
/// Namespace of the published credentials of their clusters, likewise.
pub const CREDENTIALS: &str = "testplatform-credentials";
/// Version of their clusters, as they are labelled.
const VERSION: &str = "4.20";

/// The pools on a hub, the catalogue of them, and Hive behind them. Nothing of that is there before somebody is admitted.
pub struct Offer {
    konflux: Cluster,
    hub: Cluster,
    hive: OnceCell<Hive>,
    offered: Mutex<Offered>,
}

#[derive(Default)]
struct Offered {
    /// Who may use which pool.
    tenants: BTreeMap<String, BTreeSet<String>>,
    /// The most clusters that they may have at once.
    quotas: BTreeMap<String, u32>,
    elsewhere: Vec<Elsewhere>,
    /// Who may bring their own credentials, by the owner of the entry.
    brought: BTreeMap<String, String>,
}

/// A pool on a hub of a scenario's own, which somebody else makes.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// Name of the ProviderConfig that leads to the hub.
    pub hub: String,
    /// The most clusters that the hub may hold.
    pub most: u32,
    /// Name of the pool.
    pub pool: String,
    /// Its label `owner`.
    pub owner: String,
}

impl Offer {
    /// Nothing yet.
    pub fn new(konflux: &Cluster, hub: &Cluster) -> Self {
        Self { konflux: konflux.clone(), hub: hub.clone(), hive: OnceCell::new(), offered: Mutex::default() }
    }

    /// Hive.
    pub fn hive(&self) -> anyhow::Result<&Hive> {
        self.hive.get().context("nobody was admitted to a pool, so Hive does not play")
    }

    /// Lets a tenant take clusters from a pool, which is made if none of that name is offered: of one cluster, which runs.
    pub async fn admit(&self, pool: &str, tenant: &str) -> anyhow::Result<()> {
        let mut offered = self.offered.lock().await;
        if !offered.tenants.contains_key(pool) {
            self.hub.apply(&cluster_pool(POOLS, pool, 1, 1, 3)).await?;
        }
        self.let_in(&mut offered, pool, tenant).await
    }

    /// As [`Self::admit`], to a pool that somebody else makes.
    pub async fn list(&self, pool: &str, tenant: &str) -> anyhow::Result<()> {
        self.let_in(&mut *self.offered.lock().await, pool, tenant).await
    }

    /// Lists pools on other hubs, for everybody who asks for their owner.
    pub async fn list_elsewhere(&self, pools: &[Elsewhere]) -> anyhow::Result<()> {
        let mut offered = self.offered.lock().await;
        offered.elsewhere.extend_from_slice(pools);
        self.publish(&offered).await
    }

    /// Lets a tenant bring its own credentials, in claims that ask for this owner.
    pub async fn bring(&self, owner: &str, tenant: &str) -> anyhow::Result<()> {
        self.start().await;
        let mut offered = self.offered.lock().await;
        offered.brought.insert(owner.to_owned(), tenant.to_owned());
        self.publish(&offered).await
    }

    /// Hive begins to play.
    pub async fn start(&self) {
        self.hive.get_or_init(async || Hive::start(&self.hub, Behaviour::default())).await;
    }

    async fn let_in(&self, offered: &mut Offered, pool: &str, tenant: &str) -> anyhow::Result<()> {
        self.start().await;
        offered.tenants.entry(pool.to_owned()).or_default().insert(tenant.to_owned());
        self.publish(offered).await
    }

    /// Takes a pool out of the catalogue.
    pub async fn retire(&self, pool: &str) -> anyhow::Result<()> {
        let mut offered = self.offered.lock().await;
        offered.tenants.remove(pool);
        self.publish(&offered).await
    }

    /// The most clusters out of pools that a tenant may have.
    pub async fn limit(&self, tenant: &str, most: u32) -> anyhow::Result<()> {
        let mut offered = self.offered.lock().await;
        offered.quotas.insert(tenant.to_owned(), most);
        self.publish(&offered).await
    }

    /// Changes a pool.
    pub async fn change(&self, pool: &str, spec: &Value) -> anyhow::Result<()> {
        Ok(self.hub.merge(&at(CLUSTER_POOL, POOLS, pool), &json!({ "spec": spec })).await?)
    }

    /// Takes away from a pool what it has, and lets it have no more.
    pub async fn empty(&self, pool: &str) -> anyhow::Result<()> {
        self.change(pool, &json!({ "maxSize": 0 })).await?;
        // By then Hive has done what it was about to do.
        tokio::time::sleep(Duration::from_secs(1)).await;
        for cluster in self.hub.list(CLUSTER_DEPLOYMENT).await? {
            if cluster["spec"]["clusterPoolRef"]["poolName"] == pool {
                let name = text(&cluster, "/metadata/name");
                self.hub.delete(&deployment(name)).await?;
                self.hub.until_gone(&deployment(name), SOON).await?;
            }
        }
        Ok(())
    }

    /// The catalogue that we ship as an example, with its one pool as often as there are pools.
    async fn publish(&self, offered: &Offered) -> anyhow::Result<()> {
        let mut catalogue = manifests::package_one("install/examples/pool-catalogue.yaml")?;
        let example = catalogue["data"]["pools"][0].clone();
        anyhow::ensure!(example["namespace"] == POOLS, "the example's pool is elsewhere: {example}");
        let entry = |(pool, tenants): (&String, &BTreeSet<String>)| {
            let mut entry = example.clone();
            entry["name"] = pool.as_str().into();
            entry["labels"]["owner"] = pool.as_str().into();
            entry["allowedTenants"] = json!(tenants);
            entry
        };
        let quota = |(tenant, most): (&String, &u32)| json!({ "tenant": tenant, "maxConcurrent": most });
        let elsewhere = |pool: &Elsewhere| {
            let mut entry = example.clone();
            entry["name"] = pool.pool.as_str().into();
            entry["hub"] = pool.hub.as_str().into();
            entry["labels"]["owner"] = pool.owner.as_str().into();
            entry
        };
        let hub_elsewhere = |pool: &Elsewhere| {
            let mut hub = catalogue["data"]["hubs"][0].clone();
            hub["name"] = pool.hub.as_str().into();
            hub["providerConfig"] = pool.hub.as_str().into();
            hub["maxClusters"] = pool.most.into();
            hub
        };
        let brought = |(owner, tenant): (&String, &String)| {
            let mut entry = example.clone();
            entry["name"] = format!("{owner}-brought").into();
            entry["labels"]["owner"] = owner.as_str().into();
            entry["allowedTenants"] = json!([tenant]);
            let carrier = json!({ "name": carrier::NAME, "namespace": carrier::ON_HUB });
            entry["bringYourOwn"] = json!({ "imageSet": "ocp-4.20", "carrier": carrier });
            entry
        };
        let pools = offered
            .tenants
            .iter()
            .map(entry)
            .chain(offered.elsewhere.iter().map(elsewhere))
            .chain(offered.brought.iter().map(brought))
            .collect();
        let hubs: Vec<Value> = offered.elsewhere.iter().map(hub_elsewhere).collect();
        let data = &mut catalogue["data"];
        data["pools"] = pools;
        data["quotas"] = offered.quotas.iter().map(quota).collect();
        // The hub is the one that EphemeralClusters are on.
        data["hubs"][0]["providerConfig"] = "testplatform-kubernetes-provider-config".into();
        data["hubs"].as_array_mut().context("no hubs")?.extend(hubs);
        self.konflux.apply(&catalogue).await.map(|_| ())
    }
}

/// The block of a claim for a cluster out of a pool, by its labels.
pub fn block(pool: &str) -> Value {
    json!({ "version": VERSION, "cloud": "aws", "owner": pool })
}
