//! Cluster API, played: Clusters with a topology on a hub, step by step as the real controllers take them.
//!
//! Its phase says Provisioned long before anything answers, the kubeconfig is there by then, and nothing is said of each group of nodes:
//! all as with the real one. Left out is what nobody here looks at: machines, their deployments, classes of clusters.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    cluster::{At, Cluster, at, has},
    hive::objects::{kubeconfig, text, token},
    hypershift::CLUSTERS,
    kinds::{SECRET, TOPOLOGY},
    manifests,
    player::{Player, Said, Since, play, told},
};

/// What the backend is called.
pub const BACKEND: &str = "cluster-api";
/// The template that claims name.
pub const TEMPLATE: &str = "kubernetes-openstack";
const DEFINITION: &str = "clusters.cluster.x-k8s.io";
const FINALIZER: &str = "cluster.cluster.x-k8s.io";
/// Until the infrastructure is there, and as long again until the API answers.
const MAKING: Duration = Duration::from_millis(500);
/// From a change that is asked for until it has reached the machines.
const CHANGING: Duration = Duration::from_millis(700);
/// From being told to end until it has ended.
const ENDING: Duration = Duration::from_millis(300);
const LEAST: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";

/// Its kind: the real one where it is there, else what we know of it.
pub fn definitions() -> anyhow::Result<Vec<Value>> {
    let mut definition = manifests::foreign_crd(DEFINITION)?;
    // Nobody is there who would convert.
    definition["spec"]["conversion"] = json!({ "strategy": "None" });
    Ok(vec![definition])
}

/// The template that we ship as an example, for everybody, with a version more to go by way of.
pub fn template() -> anyhow::Result<Value> {
    let mut template = manifests::package_one("install/examples/template-cluster-api.yaml")?;
    anyhow::ensure!(template["metadata"]["name"] == TEMPLATE, "the example is another one: {template}");
    let data = &mut template["data"];
    data["allowedTenants"] = json!(["*"]);
    data["namespace"] = CLUSTERS.into();
    let mut older = data["releases"][1].clone();
    for (key, value) in [("version", "v1.29.9"), ("imageVersion", "v1.29.9"), ("image", "of-29")] {
        older[key] = value.into();
    }
    data["releases"].as_array_mut().context("no releases")?.push(older);
    Ok(template)
}

/// Where a Cluster is.
pub fn topology(name: &str) -> At {
    at(TOPOLOGY, CLUSTERS, name)
}

/// Cluster API on one hub, until it is dropped.
pub struct ClusterApi {
    held: Arc<Mutex<BTreeSet<String>>>,
    playing: JoinHandle<()>,
}

impl Drop for ClusterApi {
    fn drop(&mut self) {
        self.playing.abort();
    }
}

impl ClusterApi {
    /// Begins to play.
    pub fn start(hub: &Cluster) -> Self {
        let held = Arc::<Mutex<BTreeSet<String>>>::default();
        let played = Played { hub: hub.clone(), held: Arc::clone(&held), since: Since::default() };
        Self { held, playing: play(played) }
    }

    /// Lets a Cluster neither answer for the first time nor end until it is let go.
    pub fn hold(&self, cluster: &str) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(cluster.to_owned());
    }

    /// Lets it answer or end.
    pub fn let_go(&self, cluster: &str) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(cluster);
    }
}

struct Played {
    hub: Cluster,
    held: Arc<Mutex<BTreeSet<String>>>,
    since: Since,
}

impl Player for Played {
    const WHO: &'static str = "cluster api";

    async fn look(&mut self) -> anyhow::Result<()> {
        for cluster in self.hub.list(TOPOLOGY).await? {
            let name = text(&cluster, "/metadata/name");
            self.look_at(&cluster, name).await.with_context(|| name.to_owned())?;
        }
        Ok(())
    }
}

impl Played {
    async fn look_at(&mut self, cluster: &Value, name: &str) -> anyhow::Result<()> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).contains(name);
        if cluster["metadata"]["deletionTimestamp"].is_string() {
            return self.end(cluster, name, held).await;
        }
        if cluster["metadata"]["finalizers"].is_null() {
            let kept = json!({ "metadata": { "finalizers": [FINALIZER] } });
            return Ok(self.hub.merge(&topology(name), &kept).await?);
        }
        if !self.since.over("infrastructure", name, MAKING) {
            return self.say(cluster, json!({ "phase": "Provisioning" }), &begun()).await;
        }
        if cluster["spec"]["controlPlaneEndpoint"].is_null() {
            self.hub.apply(&secret(name)).await?;
            let host = format!("api.{name}.hub.example");
            let endpoint = json!({ "spec": { "controlPlaneEndpoint": { "host": host, "port": 6443 } } });
            return Ok(self.hub.merge(&topology(name), &endpoint).await?);
        }
        let waits = held && !has(cluster, "ControlPlaneAvailable", "True", "");
        if waits || !self.since.over("installing", name, MAKING) {
            let provisioned = json!({
                "phase": "Provisioned", "initialization": { "infrastructureProvisioned": true },
            });
            let infrastructure = ("InfrastructureReady", "True", "Ready", String::new());
            return self.say(cluster, provisioned, &[infrastructure]).await;
        }
        let there = reached(cluster);
        let same = |key: &str| cluster["status"][key] == there[key];
        if (same("workers") && same("controlPlane")) || cluster["status"]["controlPlane"].is_null() {
            self.since.ended("changing", name);
            return self.say(cluster, there, &settled(cluster)).await;
        }
        if self.since.over("changing", name, CHANGING) {
            return self.say(cluster, there, &settled(cluster)).await;
        }
        let upgrades = !same("controlPlane");
        let seen = json!({ "observedGeneration": cluster["metadata"]["generation"] });
        self.say(cluster, seen, &changing(upgrades)).await
    }

    async fn end(&mut self, cluster: &Value, name: &str, held: bool) -> anyhow::Result<()> {
        let words = "* MachineDeployments: workers are being deleted".to_owned();
        self.say(
            cluster,
            json!({ "phase": "Deleting" }),
            &[("Deleting", "True", "WaitingForWorkersDeletion", words)],
        )
        .await?;
        if !held && self.since.over("ending", name, ENDING) {
            self.hub.delete(&at(SECRET, CLUSTERS, &format!("{name}-kubeconfig"))).await?;
            self.hub.merge(&topology(name), &json!({ "metadata": { "finalizers": null } })).await?;
            self.since.forget(name);
        }
        Ok(())
    }

    /// Writes conditions, and more of the status, where any of it is not there yet.
    async fn say(&self, cluster: &Value, more: Value, said: &[Said]) -> anyhow::Result<()> {
        match told(cluster, more, said) {
            Some(status) => {
                Ok(self.hub.merge_status(&topology(text(cluster, "/metadata/name")), &status).await?)
            }
            None => Ok(()),
        }
    }
}

/// What the status says once the machines are what is asked for.
fn reached(cluster: &Value) -> Value {
    let topology = &cluster["spec"]["topology"];
    let groups = topology["workers"]["machineDeployments"].as_array().map_or(&[][..], Vec::as_slice);
    let least = |group: &Value| group["metadata"]["annotations"][LEAST].as_str().and_then(|n| n.parse().ok());
    let count = |group: &Value| group["replicas"].as_i64().or_else(|| least(group)).unwrap_or(1);
    let nodes: i64 = groups.iter().map(count).sum();
    let replicas = topology["controlPlane"]["replicas"].as_i64().unwrap_or(1);
    let of = |count: i64| {
        let mut said = json!({ "desiredReplicas": count, "replicas": count, "readyReplicas": count, "availableReplicas": count });
        if count > 0 {
            said["versions"] = json!([{ "version": topology["version"], "replicas": count }]);
        }
        said
    };
    json!({
        "workers": of(nodes), "controlPlane": of(replicas), "phase": "Provisioned",
        "initialization": { "infrastructureProvisioned": true, "controlPlaneInitialized": true },
        "observedGeneration": cluster["metadata"]["generation"],
    })
}

/// The first that is said of one.
fn begun() -> Vec<Said> {
    let not = |type_, words: &str| (type_, "False", "NotReady", words.to_owned());
    vec![
        not("InfrastructureReady", "waiting for the network"),
        not("ControlPlaneInitialized", "waiting for the infrastructure"),
        not("ControlPlaneAvailable", "waiting for the infrastructure"),
        not("WorkersAvailable", "0 of 1 replicas"),
        not("Available", "* InfrastructureReady: waiting for the network"),
        ("TopologyReconciled", "False", "ClusterCreating", "the topology is being created".into()),
    ]
}

/// All that was asked for is there.
fn settled(cluster: &Value) -> Vec<Said> {
    let groups = cluster["spec"]["topology"]["workers"]["machineDeployments"].as_array().map_or(0, Vec::len);
    let workers = if groups == 0 { "NoWorkers" } else { "Available" };
    let yes = [
        "InfrastructureReady",
        "ControlPlaneInitialized",
        "ControlPlaneAvailable",
        "Available",
        "TopologyReconciled",
    ]
    .map(|type_| (type_, "True", "Available", String::new()));
    let no =
        ["RollingOut", "ScalingUp", "ScalingDown"].map(|type_| (type_, "False", "NotRolling", String::new()));
    let workers = ("WorkersAvailable", "True", workers, String::new());
    yes.into_iter().chain([workers]).chain(no).collect()
}

/// A change is on its way to the machines.
fn changing(upgrades: bool) -> Vec<Said> {
    if upgrades {
        return vec![
            ("TopologyReconciled", "False", "ClusterUpgrading", "the control plane is being upgraded".into()),
            ("RollingOut", "True", "RollingOut", "Rolling out 1 not up-to-date replicas".into()),
        ];
    }
    vec![("ScalingUp", "True", "ScalingUp", "Scaling up from 1 to 2 replicas".into())]
}

fn secret(name: &str) -> Value {
    let kubeconfig = BASE64_STANDARD.encode(kubeconfig(name, &token(name)));
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
        "metadata": {
            "name": format!("{name}-kubeconfig"), "namespace": CLUSTERS,
            "labels": { "cluster.x-k8s.io/cluster-name": name },
        },
        "data": { "value": kubeconfig },
    })
}
