//! CaaS, played: ClusterTemplateInstances on a hub, as the cluster-templates operator and Argo CD take them, with HyperShift behind it.
//!
//! It says Ready for ever once it did, names a Secret with a password whether there is one or not, and lets go of what is deleted long
//! before its cluster is gone: all as with the real one. That nothing of one can change the API server itself sees to here. Left out
//! is what nobody here looks at: Applications, charts, the registration of clusters.

mod admission;
mod objects;

use std::{collections::BTreeSet, time::Duration};

use anyhow::Context as _;
use serde_json::{Value, json};

pub use admission::Quota;

use crate::{
    cluster::{At, Cluster, at, condition, has},
    hive::objects::text,
    hypershift::{CLUSTERS, hosted_cluster},
    kinds::{HOSTED_CLUSTER, INSTANCE, SECRET},
    manifests,
    player::{Behaves, Player, Playing, Said, Since, Troubles, play, told},
};

/// Name of the backend.
pub const BACKEND: &str = "caas";
/// The template that claims name.
pub const TEMPLATE: &str = "openshift-by-chart";
const DEFINITION: &str = "clustertemplateinstances.clustertemplate.openshift.io";
const FINALIZER: &str = "clustertemplateinstance.openshift.io/finalizer";
/// On what a chart makes: the uid of its ClusterTemplateInstance.
const OF_INSTANCE: &str = "caas.testbed/instance";
/// Until Argo CD has made what the chart asks for.
const MAKING: Duration = Duration::from_millis(500);
/// Until what is set up in the cluster is there.
const SETTING_UP: Duration = Duration::from_millis(300);

/// Its kind: the real one where it is there, else what we know of it.
pub fn definitions() -> anyhow::Result<Vec<Value>> {
    Ok(vec![manifests::foreign_crd(DEFINITION)?])
}

/// The template that we ship as an example, for everybody.
pub fn template() -> anyhow::Result<Value> {
    let mut template = manifests::package_one("install/examples/template-caas.yaml")?;
    anyhow::ensure!(template["metadata"]["name"] == TEMPLATE, "the example is another one: {template}");
    template["data"]["allowedTenants"] = json!(["*"]);
    Ok(template)
}

/// Where a ClusterTemplateInstance is.
pub fn instance(name: &str) -> At {
    at(INSTANCE, CLUSTERS, name)
}

/// Instances go by their uids.
#[derive(Default)]
struct Behaviour {
    held: BTreeSet<String>,
}

/// CaaS on one hub, until it is dropped.
pub struct Caas {
    behaviour: Behaves<Behaviour>,
    _playing: Playing,
}

impl Caas {
    /// Begins to play.
    pub async fn start(hub: &Cluster) -> anyhow::Result<Self> {
        let fixed = admission::policy(
            "caas-immutable",
            "UPDATE",
            "object.spec == oldObject.spec",
            "spec is immutable",
        );
        hub.apply_all(&fixed).await?;
        let behaviour = Behaves::<Behaviour>::default();
        let played = Played { hub: hub.clone(), behaviour: behaviour.clone(), since: Since::default() };
        Ok(Self { behaviour, _playing: play(played) })
    }

    fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        self.behaviour.change(change);
    }

    /// Lets neither what is set up in a cluster be ready, nor what its chart made be destroyed, until it is let go.
    pub fn hold(&self, uid: &str) {
        self.behave(|b| {
            b.held.insert(uid.to_owned());
        });
    }

    /// Lets it be ready, or destroyed.
    pub fn let_go(&self, uid: &str) {
        self.behave(|b| {
            b.held.remove(uid);
        });
    }
}

struct Played {
    hub: Cluster,
    behaviour: Behaves<Behaviour>,
    since: Since,
}

impl Player for Played {
    const WHO: &'static str = "caas";

    async fn look(&mut self) -> anyhow::Result<()> {
        let instances = self.hub.list(INSTANCE).await?;
        let mut troubles = Troubles::default();
        for instance in &instances {
            let name = text(instance, "/metadata/name");
            troubles.note(name, self.look_at(instance, name).await);
        }
        troubles.note("what is left", self.destroy(&instances).await);
        troubles.told()
    }
}

impl Played {
    fn is_held(&self, uid: &str) -> bool {
        self.behaviour.now(|b| b.held.contains(uid))
    }

    async fn look_at(&mut self, instance: &Value, name: &str) -> anyhow::Result<()> {
        let uid = text(instance, "/metadata/uid");
        if instance["metadata"]["deletionTimestamp"].is_string() {
            // That Argo CD has anything to destroy is not waited for.
            return Ok(self
                .hub
                .merge(&self::instance(name), &json!({ "metadata": { "finalizers": null } }))
                .await?);
        }
        if instance["metadata"]["finalizers"].is_null() {
            let kept = json!({ "metadata": { "finalizers": [FINALIZER] } });
            return Ok(self.hub.merge(&self::instance(name), &kept).await?);
        }
        if instance["status"].is_null() {
            return self.say(instance, "Pending", "Pending", json!({}), &objects::born()).await;
        }
        if !self.since.over("making", uid, MAKING) {
            return Ok(());
        }
        let Some(cluster) = self.hub.get(&hosted_cluster(uid)).await? else {
            if has(instance, "ClusterInstallSucceeded", "True", "") {
                // Once Ready, Ready for ever.
                let gone =
                    ("ClusterInstallSucceeded", "False", "ClusterStatusFailed", "no such cluster".into());
                return self.say(instance, "Ready", "Cluster is ready", json!({}), &[gone]).await;
            }
            self.hub.apply_all(&objects::charted(instance, uid)?).await?;
            let created = ("ClusterDefinitionCreated", "True", "ApplicationCreated", String::new());
            return self
                .say(instance, "ClusterInstalling", "Cluster is installing", json!({}), &[created])
                .await;
        };
        self.follow(instance, &cluster, name, uid).await
    }

    /// Copies the status of the HostedCluster, and continues once its API server answers.
    async fn follow(&mut self, it: &Value, cluster: &Value, name: &str, uid: &str) -> anyhow::Result<()> {
        let set_up = has(it, "ClusterSetupSucceeded", "True", "");
        if !has(cluster, "Available", "True", "") {
            let why = condition(cluster, "Available").map(|c| text(c, "/message").to_owned());
            let words = format!("Not available - {}", why.unwrap_or_default());
            let not = ("ClusterInstallSucceeded", "False", "ClusterInstalling", words);
            let (phase, message) = if set_up {
                ("Ready", "Cluster is ready")
            } else {
                ("ClusterInstalling", "Cluster is installing")
            };
            return self.say(it, phase, message, json!({}), &[not]).await;
        }
        let there = [
            ("ClusterInstallSucceeded", "True", "ClusterInstalled", "Available".to_owned()),
            ("ArgoClusterAdded", "True", "ArgoClusterCreated", String::new()),
            ("ClusterSetupCreated", "True", "ClusterSetupCreated", String::new()),
        ];
        if !set_up {
            self.copy_secrets(name, uid).await?;
            if self.is_held(uid) || !self.since.over("setting up", uid, SETTING_UP) {
                let setup = |status: &str| {
                    json!({ "clusterSetup": [
                    { "name": "cluster-monitoring", "status": status, "message": "sync is running" },
                ] })
                };
                let said = [
                    &there[..],
                    &[(
                        "ClusterSetupSucceeded",
                        "False",
                        "ClusterSetupRunning",
                        "Cluster setup is running".into(),
                    )],
                ]
                .concat();
                let words = "Cluster setup is running";
                return self
                    .say(it, "ClusterSetupRunning", words, setup("ApplicationSyncRunning"), &said)
                    .await;
            }
        }
        let host = text(cluster, "/status/controlPlaneEndpoint/host");
        let more = json!({
            "kubeconfig": { "name": format!("{name}-admin-kubeconfig") },
            "adminPassword": { "name": format!("{name}-admin-password") },
            "apiServerURL": format!("https://{host}:6443"),
        });
        let said = [&there[..], &[("ClusterSetupSucceeded", "True", "ClusterSetupSucceeded", String::new())]]
            .concat();
        self.say(it, "Ready", "Cluster is ready", more, &said).await
    }

    /// Copies of what the HostedCluster has, made once.
    async fn copy_secrets(&self, name: &str, uid: &str) -> anyhow::Result<()> {
        for (from, to, key) in [
            ("admin-kubeconfig", "admin-kubeconfig", "kubeconfig"),
            ("kubeadmin-password", "admin-password", "password"),
        ] {
            let source = self.hub.get(&at(SECRET, CLUSTERS, &format!("{uid}-{from}"))).await?;
            let source = source.with_context(|| format!("{uid} has no Secret {from}"))?;
            let owner = json!({ "apiVersion": INSTANCE.api_version, "kind": INSTANCE.kind, "name": name, "uid": uid });
            self.hub
                .apply(&json!({
                    "apiVersion": "v1", "kind": "Secret",
                    "metadata": {
                        "name": format!("{name}-{to}"), "namespace": CLUSTERS, "ownerReferences": [owner],
                    },
                    "data": { key: source["data"][key] },
                }))
                .await?;
        }
        Ok(())
    }

    /// Destroys the objects of charts whose ClusterTemplateInstance is gone, as Argo CD does.
    async fn destroy(&self, instances: &[Value]) -> anyhow::Result<()> {
        let there: BTreeSet<&str> = instances.iter().map(|i| text(i, "/metadata/uid")).collect();
        for cluster in self.hub.list(HOSTED_CLUSTER).await? {
            let Some(uid) = cluster["metadata"]["labels"][OF_INSTANCE].as_str() else { continue };
            let goes = cluster["metadata"]["deletionTimestamp"].is_string();
            if !there.contains(uid) && !goes && !self.is_held(uid) {
                self.hub.delete(&hosted_cluster(uid)).await?;
            }
        }
        Ok(())
    }

    async fn say(
        &self,
        instance: &Value,
        phase: &str,
        message: &str,
        mut more: Value,
        said: &[Said],
    ) -> anyhow::Result<()> {
        more["phase"] = phase.into();
        more["message"] = message.into();
        match told(instance, more, said) {
            Some(status) => {
                Ok(self.hub.merge_status(&self::instance(text(instance, "/metadata/name")), &status).await?)
            }
            None => Ok(()),
        }
    }
}
