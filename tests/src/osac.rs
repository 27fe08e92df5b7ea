//! OSAC, played: ClusterOrders on a hub, and what its jobs make of them: a namespace with a HostedCluster, its NodePools and its Secrets,
//! into which it lets the provider.
//!
//! As with the real one an order is Ready when its job has ended, whatever became of the cluster, and what its conditions once said they
//! say for ever. A job that is told to bring another release about does: its template is one that can. Left out is what nobody here looks
//! at: storage, addresses, and the end of the namespace.

mod behind;
mod objects;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::Context as _;
use serde_json::{Value, json};
use testplatform_apis::foreign::osac::TENANT;

use crate::{
    cluster::{At, Cluster, at, has},
    hive::objects::text,
    hypershift::objects as hosted,
    kinds::{HOSTED_CLUSTER, NODE_POOL, ORDER, SECRET},
    manifests,
    player::{Behaves, Player, Playing, Said, Since, Troubles, play, told},
};

/// Name of the backend.
pub const BACKEND: &str = "osac";
/// The template that claims name.
pub const TEMPLATE: &str = "openshift-metal";
/// The one namespace in which it looks for orders.
pub const ORDERS: &str = "osac-orders";
const DEFINITION: &str = "clusterorders.osac.openshift.io";
const FINALIZER: &str = "osac.openshift.io/finalizer";
/// How long a job waits, runs, and waits until it is tried again.
const JOB: Duration = Duration::from_millis(500);
/// Conditions of an order in the order in which they come.
const COURSE: [&str; 5] =
    ["Accepted", "Progressing", "NamespaceCreated", "ControlPlaneCreated", "ControlPlaneAvailable"];

/// Its kind: the real one where it is there, else what we know of it.
pub fn definitions() -> anyhow::Result<Vec<Value>> {
    Ok(vec![manifests::foreign_crd(DEFINITION)?])
}

/// The template that we ship as an example, for everybody.
pub fn template() -> anyhow::Result<Value> {
    let mut template = manifests::package_one("install/examples/template-osac.yaml")?;
    anyhow::ensure!(template["metadata"]["name"] == TEMPLATE, "the example is another one: {template}");
    template["data"]["allowedTenants"] = json!(["*"]);
    Ok(template)
}

/// Where an order is.
pub fn order(name: &str) -> At {
    at(ORDER, ORDERS, name)
}

/// The namespace that it makes for an order.
pub fn behind(order: &str) -> String {
    format!("{ORDERS}-{order}")
}

/// Where the HostedCluster is that an order has become.
pub fn hosted_cluster(order: &str) -> At {
    at(HOSTED_CLUSTER, &behind(order), order)
}

/// Where the NodePool of a class of nodes is.
pub fn node_pool(order: &str, class: &str) -> At {
    at(NODE_POOL, &behind(order), &format!("nodepool-{order}-{class}"))
}

/// By tenants, whose orders nobody knows by name before they are made.
#[derive(Default)]
struct Behaviour {
    held: BTreeSet<String>,
    degraded: BTreeSet<String>,
    failing: BTreeMap<String, String>,
}

/// OSAC on one hub, until it is dropped.
pub struct Osac {
    behaviour: Behaves<Behaviour>,
    _playing: Playing,
}

impl Osac {
    /// Begins to play.
    pub fn start(hub: &Cluster) -> Self {
        let behaviour = Behaves::<Behaviour>::default();
        let played = Played { hub: hub.clone(), behaviour: behaviour.clone(), since: Since::default() };
        Self { behaviour, _playing: play(played) }
    }

    fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.behaviour.change(change);
    }

    /// Lets no cluster of a tenant answer for the first time, or end, until it is let go.
    pub fn hold(&self, tenant: &str) {
        self.behave(|b| {
            b.held.insert(tenant.to_owned());
        });
    }

    /// Lets them answer or end.
    pub fn let_go(&self, tenant: &str) {
        self.behave(|b| {
            b.held.remove(tenant);
        });
    }

    /// Takes the control planes of a tenant's clusters out of order, or puts them right.
    pub fn degrade(&self, tenant: &str, degraded: bool) {
        self.behave(|b| {
            if degraded {
                b.degraded.insert(tenant.to_owned())
            } else {
                b.degraded.remove(tenant)
            };
        });
    }

    /// Lets every job for a tenant fail.
    pub fn fail(&self, tenant: &str, why: &str) {
        self.behave(|b| {
            b.failing.insert(tenant.to_owned(), why.to_owned());
        });
    }
}

struct Played {
    hub: Cluster,
    behaviour: Behaves<Behaviour>,
    since: Since,
}

impl Player for Played {
    const WHO: &'static str = "osac";

    async fn look(&mut self) -> anyhow::Result<()> {
        let mut troubles = Troubles::default();
        for order in self.hub.list(ORDER).await? {
            let name = text(&order, "/metadata/name");
            troubles.note(name, self.look_at(&order, name).await);
        }
        troubles.told()
    }
}

impl Played {
    async fn look_at(&mut self, order: &Value, name: &str) -> anyhow::Result<()> {
        let tenant = order["metadata"]["annotations"][TENANT].as_str().unwrap_or_default();
        let (held, degraded, failing) = self
            .behaviour
            .now(|b| (b.held.contains(tenant), b.degraded.contains(tenant), b.failing.get(tenant).cloned()));
        if order["metadata"]["deletionTimestamp"].is_string() {
            return self.end(order, name, held).await;
        }
        if order["metadata"]["finalizers"].is_null() {
            let kept = json!({ "metadata": { "finalizers": [FINALIZER] } });
            return Ok(self.hub.merge(&self::order(name), &kept).await?);
        }
        let ready = order["status"]["phase"] == "Ready";
        let job = objects::newest(order, "provision");
        let config = objects::config(&order["spec"]);
        let fails = job.is_some_and(|job| job["state"] == "Failed");
        let again = fails && self.since.over("trying again", name, JOB);
        if order["status"]["desiredConfigVersion"] != config || again {
            for what in ["job", "trying again"] {
                self.since.ended(what, name);
            }
            let more = json!({
                "phase": if ready { "Ready" } else { "Progressing" }, "desiredConfigVersion": config,
                "provisioningJobs": objects::with(order, "provision", "Running", ""),
            });
            return self.say(order, more, &COURSE[..2]).await;
        }
        match job.map(|job| text(job, "/state").to_owned()).as_deref() {
            Some("Running") if !self.since.over("job", name, JOB) => Ok(()),
            Some("Running") => match failing {
                Some(why) => {
                    let phase = if ready { "Ready" } else { "Failed" };
                    let jobs = objects::with(order, "provision", "Failed", &why);
                    self.say(order, json!({ "phase": phase, "provisioningJobs": jobs }), &[]).await
                }
                None => self.make(order, name).await,
            },
            Some("Succeeded") if has(order, "ClusterAvailable", "True", "") || !held => {
                self.serve(order, name, !degraded).await
            }
            _ => Ok(()),
        }
    }

    /// Runs a job: makes the cluster of an order.
    async fn make(&mut self, order: &Value, name: &str) -> anyhow::Result<()> {
        let first = self.hub.get(&hosted_cluster(name)).await?.is_none();
        if first {
            self.hub.apply_all(&objects::surroundings(name)).await?;
        }
        self.hub.apply(&objects::hosted(order, name)).await?;
        if first {
            let cluster = self.hub.get(&hosted_cluster(name)).await?.context("it was just made")?;
            if let Some(status) = told(&cluster, hosted::named(name), &hosted::begun()) {
                self.hub.merge_status(&hosted_cluster(name), &status).await?;
            }
        }
        self.hub.apply_all(&objects::node_pools(order, name)).await?;
        for pool in self.pools(name).await? {
            if !objects::asks_for(order, name, &pool) {
                self.hub.delete(&at(NODE_POOL, &behind(name), text(&pool, "/metadata/name"))).await?;
            }
        }
        let more = json!({
            "phase": "Ready", "provisioningJobs": objects::with(order, "provision", "Succeeded", ""),
            "clusterReference": {
                "namespace": behind(name), "hostedClusterName": name,
                "serviceAccountName": "hub-access", "roleBindingName": "hub-access",
            },
        });
        self.say(order, more, &COURSE[..4]).await
    }

    async fn end(&mut self, order: &Value, name: &str, held: bool) -> anyhow::Result<()> {
        if objects::newest(order, "deprovision").is_none() {
            let jobs = objects::with(order, "deprovision", "Running", "releasing hosts");
            return self.say(order, json!({ "phase": "Deleting", "provisioningJobs": jobs }), &[]).await;
        }
        if held || !self.since.over("ending", name, JOB) {
            return Ok(());
        }
        for pool in self.pools(name).await? {
            self.hub.delete(&at(NODE_POOL, &behind(name), text(&pool, "/metadata/name"))).await?;
        }
        self.hub.delete(&hosted_cluster(name)).await?;
        for secret in objects::secrets(name) {
            self.hub.delete(&at(SECRET, &behind(name), text(&secret, "/metadata/name"))).await?;
        }
        self.hub.merge(&self::order(name), &json!({ "metadata": { "finalizers": null } })).await?;
        self.since.forget(name);
        Ok(())
    }

    /// Writes conditions that hold, and more of the status, where any of it is not created yet.
    async fn say(&self, order: &Value, more: Value, conditions: &[&'static str]) -> anyhow::Result<()> {
        let said: Vec<Said> =
            conditions.iter().map(|type_| (*type_, "True", "Done", String::new())).collect();
        match told(order, more, &said) {
            Some(status) => {
                Ok(self.hub.merge_status(&self::order(text(order, "/metadata/name")), &status).await?)
            }
            None => Ok(()),
        }
    }
}
