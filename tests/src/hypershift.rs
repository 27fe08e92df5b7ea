//! HyperShift, played: HostedClusters and their NodePools on a hub, step by step as the real operator takes them, and badly where
//! a scenario wants that.
//!
//! As with Hive it looks at everything every moment and takes whatever steps are due. The Secrets with the credentials are there long
//! before the API answers, as with the real one. Left out is what nobody here looks at: most conditions, the namespace of the
//! control plane, Cluster API underneath.

pub mod hosted;
pub mod objects;
mod pools;
mod rollout;

use std::{collections::BTreeSet, time::Duration};

use anyhow::Context as _;
use serde_json::{Value, json};
use testplatform_apis::byoc::NAMESPACE_PREFIX;

pub(crate) use rollout::roll_out;

use crate::{
    cluster::{At, Cluster, at, has},
    hive::objects::text,
    kinds::{HOSTED_CLUSTER, NODE_POOL},
    manifests,
    player::{Behaves, Player, Playing, Said, Since, Troubles, play, told},
};

/// Its kinds.
const DEFINITIONS: [&str; 2] =
    ["hostedclusters.hypershift.openshift.io", "nodepools.hypershift.openshift.io"];
/// Its finalizer on both kinds.
const FINALIZER: &str = "hypershift.openshift.io/finalizer";
/// Namespace of the HostedClusters, as it is in the rights and in the template that we ship.
pub const CLUSTERS: &str = "clusters";
/// Name of the backend.
pub const BACKEND: &str = "hypershift";
/// The template that claims name.
pub const TEMPLATE: &str = "hosted-kubevirt";

/// How it behaves. Clusters go by the names of their HostedClusters.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// From being made until the API answers.
    pub installing: Duration,
    /// From a release that is asked for until it is rolled out, and from a number of nodes until they are there.
    pub changing: Duration,
    /// From being told to end until it has ended.
    pub ending: Duration,
    /// Those that neither answer nor end until they are let go.
    pub held: BTreeSet<String>,
    /// Those whose control plane is out of order.
    pub degraded: BTreeSet<String>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            installing: Duration::from_secs(1),
            changing: Duration::from_millis(500),
            ending: Duration::from_millis(300),
            held: BTreeSet::new(),
            degraded: BTreeSet::new(),
        }
    }
}

/// HyperShift on one hub, until it is dropped.
pub struct HyperShift {
    hub: Cluster,
    behaviour: Behaves<Behaviour>,
    _playing: Playing,
}

/// Its kinds: the real ones where they are there, else what we know of them.
pub fn definitions() -> anyhow::Result<Vec<Value>> {
    DEFINITIONS.iter().map(|name| manifests::foreign_crd(name)).collect()
}

/// The template that we ship as an example.
pub fn template() -> anyhow::Result<Value> {
    let template = manifests::package_one("install/examples/template-hypershift-kubevirt.yaml")?;
    anyhow::ensure!(template["metadata"]["name"] == TEMPLATE, "the example is another one: {template}");
    Ok(template)
}

/// The hub that we ship as an example, without its bounds, with the kubeconfig that a Secret has.
pub fn provider_config(secret: &str) -> anyhow::Result<Value> {
    let documents = manifests::package("install/examples/hub.yaml")?;
    let mut config = documents.into_iter().next().context("no hub among the examples")?;
    config["spec"]["credentials"]["secretRef"]["name"] = secret.into();
    // Others are there too.
    for backend in ["cluster-api", "caas", "osac"] {
        let label = format!("testplatform.ci.openshift.org/backend.{backend}");
        config["metadata"]["labels"][label] = "true".into();
    }
    for backend in ["cluster-api", "caas"] {
        let namespace = format!("testplatform.ci.openshift.org/namespace.{backend}");
        config["metadata"]["annotations"][namespace] = CLUSTERS.into();
    }
    for bound in ["versions", "classes", "zones", "max-provisioning"] {
        let annotations = config["metadata"]["annotations"].as_object_mut().context("no annotations")?;
        annotations.remove(&format!("testplatform.ci.openshift.org/{bound}"));
    }
    Ok(config)
}

/// Where an observed HostedCluster is.
fn place(cluster: &Value) -> At {
    at(HOSTED_CLUSTER, text(cluster, "/metadata/namespace"), text(cluster, "/metadata/name"))
}

/// Where a HostedCluster is.
pub fn hosted_cluster(name: &str) -> At {
    at(HOSTED_CLUSTER, CLUSTERS, name)
}

/// The NodePools of a HostedCluster.
pub async fn node_pools(hub: &Cluster, cluster: &str) -> anyhow::Result<Vec<Value>> {
    let mut pools = hub.list(NODE_POOL).await?;
    pools.retain(|pool| pool["spec"]["clusterName"] == cluster);
    Ok(pools)
}

impl HyperShift {
    /// Begins to play.
    pub fn start(hub: &Cluster) -> Self {
        let behaviour = Behaves::<Behaviour>::default();
        let played = Played { hub: hub.clone(), behaviour: behaviour.clone(), since: Since::default() };
        Self { hub: hub.clone(), behaviour, _playing: play(played) }
    }

    /// Behaves otherwise from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.behaviour.change(change);
    }

    /// Lets a cluster neither answer for the first time nor end until it is let go.
    pub fn hold(&self, cluster: &str) {
        self.behave(|behaviour| {
            behaviour.held.insert(cluster.to_owned());
        });
    }

    /// Lets it answer or end.
    pub fn let_go(&self, cluster: &str) {
        self.behave(|behaviour| {
            behaviour.held.remove(cluster);
        });
    }

    /// Another kubeconfig of a cluster, as when its authority is replaced.
    pub async fn rotate(&self, cluster: &str, kubeconfig: &str) -> anyhow::Result<()> {
        self.hub.apply(&objects::kubeconfig_secret(CLUSTERS, cluster, kubeconfig)).await.map(|_| ())
    }
}

struct Played {
    hub: Cluster,
    behaviour: Behaves<Behaviour>,
    since: Since,
}

impl Player for Played {
    const WHO: &'static str = "hypershift";

    async fn look(&mut self) -> anyhow::Result<()> {
        // Those in other namespaces are OSAC's.
        let own = |object: &Value| {
            let namespace = text(object, "/metadata/namespace");
            namespace == CLUSTERS || namespace.starts_with(NAMESPACE_PREFIX)
        };
        let clusters: Vec<Value> = self.hub.list(HOSTED_CLUSTER).await?.into_iter().filter(own).collect();
        let pools: Vec<Value> = self.hub.list(NODE_POOL).await?.into_iter().filter(own).collect();
        let mut troubles = Troubles::default();
        for cluster in &clusters {
            let name = text(cluster, "/metadata/name");
            let own: Vec<&Value> = pools.iter().filter(|pool| pool["spec"]["clusterName"] == name).collect();
            troubles.note(name, self.look_at_cluster(cluster, &own).await);
        }
        for pool in &pools {
            let of = text(pool, "/spec/clusterName");
            let cluster = clusters.iter().find(|cluster| text(cluster, "/metadata/name") == of);
            troubles.note(text(pool, "/metadata/name"), self.look_at_pool(pool, cluster).await);
        }
        troubles.told()
    }
}

impl Played {
    fn behaviour(&self) -> Behaviour {
        self.behaviour.now(Clone::clone)
    }

    async fn look_at_cluster(&mut self, cluster: &Value, pools: &[&Value]) -> anyhow::Result<()> {
        let name = text(cluster, "/metadata/name");
        let behaviour = self.behaviour();
        if cluster["metadata"]["deletionTimestamp"].is_string() {
            return self.end(cluster, pools).await;
        }
        if cluster["metadata"]["finalizers"].is_null() {
            self.hub.merge(&place(cluster), &json!({ "metadata": { "finalizers": [FINALIZER] } })).await?;
            self.hub.apply_all(&objects::secrets(text(cluster, "/metadata/namespace"), name)).await?;
            return self.say(cluster, objects::named(name), &objects::begun()).await;
        }
        if self.since.over("infrastructure", name, behaviour.installing / 2) {
            self.say(cluster, json!({}), &objects::infrastructure()).await?;
        }
        let waits = behaviour.held.contains(name) && !has(cluster, "Available", "True", "");
        if waits || !self.since.over("installing", name, behaviour.installing) {
            return Ok(());
        }
        if cluster["spec"]["dns"]["baseDomain"].is_null() {
            let filled = json!({ "spec": { "infraID": name, "dns": { "baseDomain": "apps.hub.example" } } });
            self.hub.merge(&place(cluster), &filled).await?;
        }
        let well = !behaviour.degraded.contains(name);
        self.say(cluster, objects::endpoint(name), &objects::available(well)).await?;
        let nodes = pools.iter().any(|pool| pool["status"]["replicas"].as_i64().is_some_and(|n| n > 0));
        roll_out(&self.hub, &mut self.since, cluster, &place(cluster), nodes, behaviour.changing).await
    }

    /// NodePools go first, then everything else.
    async fn end(&mut self, cluster: &Value, pools: &[&Value]) -> anyhow::Result<()> {
        let name = text(cluster, "/metadata/name");
        let behaviour = self.behaviour();
        if !has(cluster, "HostedClusterDestroyed", "False", "") {
            self.say(cluster, json!({}), &objects::destroying()).await?;
        }
        for pool in pools.iter().filter(|pool| pool["metadata"]["deletionTimestamp"].is_null()) {
            self.hub.delete(&pools::place(pool)).await?;
        }
        let done = pools.is_empty() && !behaviour.held.contains(name);
        if done && self.since.over("ending", name, behaviour.ending) {
            let namespace = text(cluster, "/metadata/namespace");
            for secret in objects::secrets(namespace, name) {
                self.hub
                    .delete(&at(crate::kinds::SECRET, namespace, text(&secret, "/metadata/name")))
                    .await?;
            }
            let free = json!({ "metadata": { "finalizers": null } });
            self.hub.merge(&place(cluster), &free).await?;
            self.since.forget(name);
        }
        Ok(())
    }

    /// Writes conditions, and more of the status, where any of it is not created yet.
    async fn say(&self, cluster: &Value, more: Value, said: &[Said]) -> anyhow::Result<()> {
        match told(cluster, more, said) {
            Some(status) => Ok(self.hub.merge_status(&place(cluster), &status).await?),
            None => Ok(()),
        }
    }
}
