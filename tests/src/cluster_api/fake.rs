//! The fake of Cluster API: Clusters with a topology on a hub, step by step as the real controllers take them.
//!
//! Its phase says Provisioned long before anything answers, the kubeconfig is there by then, nothing is said of each group of nodes, and
//! what keeps a cluster from being made is said in the sentence of a condition: all as with the real one. Left out is what nobody here
//! looks at: machines, their deployments, classes of clusters.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};

use super::{objects, topology};
use crate::{
    cluster::{Cluster, at, has},
    hive::objects::text,
    hypershift::CLUSTERS,
    kinds::{SECRET, TOPOLOGY},
    player::{Behaves, Player, Playing, Said, Since, Troubles, play, tenant, told_of},
};

const FINALIZER: &str = "cluster.cluster.x-k8s.io";
/// Until the infrastructure is there, and as long again until the API answers.
const MAKING: Duration = Duration::from_millis(500);
/// From a change that is asked for until it has reached the machines, of the control plane and then of the workers.
const CHANGING: Duration = Duration::from_millis(700);
/// Parts of a change.
const OF_CONTROL_PLANE: &str = "changing the control plane";
const OF_WORKERS: &str = "changing the workers";
/// How long each part of a cluster takes to go.
const GOING: Duration = Duration::from_millis(150);

/// How it behaves. Clusters go by their names, or by their tenants where that is said: they are known before they have names.
#[derive(Clone, Default)]
struct Behaviour {
    /// Those that do not answer for the first time.
    held: BTreeSet<String>,
    /// Those whose end goes no further than to one of [`ENDING`].
    ends_at: BTreeMap<String, usize>,
    /// By tenant: why there is no infrastructure.
    blocked: BTreeMap<String, String>,
    /// By tenant: why that is given up.
    given_up: BTreeMap<String, String>,
}

/// The fake on one hub, until it is dropped.
pub struct FakeClusterApi {
    behaviour: Behaves<Behaviour>,
    _playing: Playing,
}

impl FakeClusterApi {
    /// Begins to play.
    pub fn start(hub: &Cluster) -> Self {
        let behaviour = Behaves::<Behaviour>::default();
        let played = Played { hub: hub.clone(), behaviour: behaviour.clone(), since: Since::default() };
        Self { behaviour, _playing: play(played) }
    }

    fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.behaviour.change(change);
    }

    /// Lets a Cluster not answer for the first time until it is let go.
    pub fn hold(&self, cluster: &str) {
        self.behave(|b| {
            b.held.insert(cluster.to_owned());
        });
    }

    /// Lets the end of a Cluster go no further than to one of [`super::ENDING`], until it is let go.
    pub fn hold_end(&self, cluster: &str, at: usize) {
        self.behave(|b| {
            b.ends_at.insert(cluster.to_owned(), at);
        });
    }

    /// Lets it answer or end.
    pub fn let_go(&self, cluster: &str) {
        self.behave(|b| {
            b.held.remove(cluster);
            b.ends_at.remove(cluster);
        });
    }

    /// Lets no Cluster of a tenant have any infrastructure, and says why.
    pub fn block(&self, tenant: &str, why: &str) {
        self.behave(|b| {
            b.blocked.insert(tenant.to_owned(), why.to_owned());
        });
    }

    /// Gives that infrastructure up, as controllers do that know the words of the API before this one.
    pub fn give_up(&self, tenant: &str, why: &str) {
        self.behave(|b| {
            b.given_up.insert(tenant.to_owned(), why.to_owned());
        });
    }
}

struct Played {
    hub: Cluster,
    behaviour: Behaves<Behaviour>,
    since: Since,
}

impl Player for Played {
    const WHO: &'static str = "cluster api";

    async fn look(&mut self) -> anyhow::Result<()> {
        let mut troubles = Troubles::default();
        for cluster in self.hub.list(TOPOLOGY).await? {
            let name = text(&cluster, "/metadata/name");
            troubles.note(name, self.look_at(&cluster, name).await);
        }
        troubles.told()
    }
}

impl Played {
    async fn look_at(&mut self, cluster: &Value, name: &str) -> anyhow::Result<()> {
        let behaviour = self.behaviour.now(Clone::clone);
        if cluster["metadata"]["deletionTimestamp"].is_string() {
            return self.end(cluster, name, behaviour.ends_at.get(name).copied()).await;
        }
        if cluster["metadata"]["finalizers"].is_null() {
            let kept = json!({ "metadata": { "finalizers": [FINALIZER] } });
            return Ok(self.hub.merge(&topology(name), &kept).await?);
        }
        if cluster["status"]["conditions"].is_null() {
            return self.say(cluster, json!({ "phase": "Pending" }), &[objects::topology_reconciled()]).await;
        }
        if let Some(why) = behaviour.blocked.get(tenant(cluster)) {
            let status = objects::blocked(behaviour.given_up.get(tenant(cluster)));
            return self.say(cluster, status, &objects::begun(why)).await;
        }
        if !self.since.over("infrastructure", name, MAKING) {
            return self
                .say(cluster, json!({ "phase": "Provisioning" }), &objects::begun("waiting for the network"))
                .await;
        }
        if cluster["spec"]["controlPlaneEndpoint"].is_null() {
            for secret in objects::secrets(name) {
                self.hub.apply(&secret).await?;
            }
            let host = format!("api.{name}.hub.example");
            let endpoint = json!({ "spec": { "controlPlaneEndpoint": { "host": host, "port": 6443 } } });
            return Ok(self.hub.merge(&topology(name), &endpoint).await?);
        }
        let waits = behaviour.held.contains(name) && !has(cluster, "ControlPlaneAvailable", "True", "");
        if waits || !self.since.over("installing", name, MAKING) {
            let provisioned = json!({
                "phase": "Provisioned", "initialization": { "infrastructureProvisioned": true },
            });
            let infrastructure = ("InfrastructureReady", "True", "Ready", String::new());
            return self.say(cluster, provisioned, &[infrastructure]).await;
        }
        self.change(cluster, name).await
    }

    /// A change reaches the control plane, and then the workers. Source: `core/reconcilers/topology/cluster`, `reconcile_state.go`.
    async fn change(&mut self, cluster: &Value, name: &str) -> anyhow::Result<()> {
        let there = objects::reached(cluster);
        let same = |key: &str| cluster["status"][key] == there[key];
        if (same("workers") && same("controlPlane")) || cluster["status"]["controlPlane"].is_null() {
            self.since.ended(OF_CONTROL_PLANE, name);
            self.since.ended(OF_WORKERS, name);
            return self.say(cluster, there, &objects::settled(cluster)).await;
        }
        let seen = json!({ "observedGeneration": cluster["metadata"]["generation"] });
        if cluster["status"]["observedGeneration"] != cluster["metadata"]["generation"] {
            // Its controllers do not report a change together: each notes the generation in its own conditions.
            self.since.ended(OF_CONTROL_PLANE, name);
            self.since.ended(OF_WORKERS, name);
            return self.say(cluster, seen, &[]).await;
        }
        if !same("controlPlane") {
            if !self.since.over(OF_CONTROL_PLANE, name, CHANGING) {
                return self.say(cluster, seen, &objects::control_plane_changing()).await;
            }
            let changed = json!({ "controlPlane": there["controlPlane"] });
            return self.say(cluster, changed, &objects::control_plane_changed()).await;
        }
        if self.since.over(OF_WORKERS, name, CHANGING) {
            return self.say(cluster, there, &objects::settled(cluster)).await;
        }
        let (counts, conditions) = objects::workers_changing(cluster, &there["workers"]);
        self.say(cluster, json!({ "workers": counts }), &conditions).await
    }

    /// One part of it goes after the other. `stop`: the one that does not.
    async fn end(&mut self, cluster: &Value, name: &str, stop: Option<usize>) -> anyhow::Result<()> {
        let mut gone = 0;
        for (part, going) in ["workers", "control plane", "infrastructure"].into_iter().enumerate() {
            // Each begins to go when the one before is gone.
            if gone == part && stop != Some(part) && self.since.over(going, name, GOING) {
                gone = part + 1;
            }
        }
        if let Some((reason, words)) = objects::ENDING.get(gone) {
            let mut said = vec![("Deleting", "True", *reason, (*words).to_owned())];
            if gone > 0 {
                said.push(objects::no_workers());
            }
            return self.say(cluster, json!({ "phase": "Deleting" }), &said).await;
        }
        for secret in objects::secrets(name) {
            self.hub.delete(&at(SECRET, CLUSTERS, text(&secret, "/metadata/name"))).await?;
        }
        self.hub.merge(&topology(name), &json!({ "metadata": { "finalizers": null } })).await?;
        self.since.forget(name);
        Ok(())
    }

    /// Writes conditions, and more of the status, where any of it is not created yet.
    async fn say(&self, cluster: &Value, more: Value, said: &[Said]) -> anyhow::Result<()> {
        match told_of(cluster, more, said, Some(&cluster["metadata"]["generation"])) {
            Some(status) => {
                Ok(self.hub.merge_status(&topology(text(cluster, "/metadata/name")), &status).await?)
            }
            None => Ok(()),
        }
    }
}
