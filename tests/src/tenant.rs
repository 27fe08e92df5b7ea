//! A tenant: a namespace with a claim in it, and everything that hangs on that claim.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::{
    actors::{Controller, Fulfilled},
    caas,
    cluster::{At, Cluster, SOON, at, at_root, brief, condition, has},
    cluster_api,
    crossplane::Engine,
    flavour::{self, Flavour},
    hive::{Hive, claimed::Claimed, offer},
    hub::{self, Credential},
    hypershift::{self, HyperShift},
    kinds::{OBJECT, SECRET},
    osac,
};

/// A tenant with one claim, both with names of their own.
#[derive(Clone)]
pub struct Tenant<'e> {
    /// Engine of the scenario.
    pub engine: &'e Engine,
    /// Its namespace.
    pub namespace: String,
    /// The claim's name.
    pub name: String,
    /// Who fulfils what it asks for.
    pub fulfilled: Fulfilled,
    /// How it asks.
    pub flavour: Flavour,
}

impl<'e> Tenant<'e> {
    /// A tenant by the name of its scenario.
    pub async fn new(engine: &'e Engine, scenario: &str, fulfilled: Fulfilled) -> anyhow::Result<Self> {
        Self::named(engine, format!("tenant-{scenario}"), scenario, fulfilled).await
    }

    /// The same, asking in another way.
    #[must_use]
    pub fn asking(self, flavour: Flavour) -> Self {
        Self { flavour, ..self }
    }

    /// Another tenant of the same scenario.
    pub async fn another(&self, name: &str) -> anyhow::Result<Self> {
        let other = Self::named(self.engine, format!("{}--{name}", self.namespace), name, self.fulfilled);
        Ok(other.await?.asking(self.flavour))
    }

    /// The same tenant with another claim, which somebody else may fulfil.
    pub async fn also(&self, name: &str, fulfilled: Fulfilled) -> anyhow::Result<Self> {
        Ok(Self::named(self.engine, self.namespace.clone(), name, fulfilled).await?.asking(self.flavour))
    }

    /// The pool of its scenario.
    pub fn pool(&self) -> &str {
        pool(&self.namespace)
    }

    /// Hive.
    pub fn hive(&self) -> anyhow::Result<&'e Hive> {
        self.engine.offer.hive()
    }

    /// `true` if a namespace is its own or that of another tenant of the same scenario.
    pub fn has(&self, namespace: &str) -> bool {
        namespace.strip_prefix(&self.namespace).is_some_and(|rest| rest.is_empty() || rest.starts_with("--"))
    }

    async fn named(
        engine: &'e Engine,
        namespace: String,
        name: &str,
        fulfilled: Fulfilled,
    ) -> anyhow::Result<Self> {
        let manifest = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        engine.konflux.cluster().apply(&manifest).await?;
        match fulfilled {
            Fulfilled::ByProvider => engine.fulfiller.admit(&namespace)?,
            Fulfilled::ByActor => engine.act().await?,
            Fulfilled::ByActorAlone => {}
            Fulfilled::ByHive => engine.offer.admit(pool(&namespace), &namespace).await?,
            Fulfilled::ByHyperShift => engine.host().await.map(|_| ())?,
            Fulfilled::ByClusterApi => engine.cluster_api().await.map(|_| ())?,
            Fulfilled::ByOsac => engine.orders().await.map(|_| ())?,
            Fulfilled::ByCaas => engine.instances().await.map(|_| ())?,
        }
        Ok(Self { engine, namespace, name: name.to_owned(), fulfilled, flavour: Flavour::Claim })
    }

    /// Who makes its clusters.
    pub fn fulfilled(&self) -> Fulfilled {
        self.fulfilled
    }

    /// The cluster that it uses.
    pub fn konflux(&self) -> &Cluster {
        self.engine.konflux.cluster()
    }

    /// The claim, or what the tenant has in its place.
    pub fn claim(&self) -> At {
        at(self.flavour.kind(), &self.namespace, &self.name)
    }

    /// The Secret that the claim names.
    pub fn secret(&self) -> At {
        at(SECRET, &self.namespace, &format!("{}-kubeconfig", self.name))
    }

    /// The manifest of a claim as tenants write it, with more fields of the spec.
    pub fn manifest(&self, more: &Value) -> Value {
        let composition = match self.fulfilled {
            Fulfilled::ByProvider
            | Fulfilled::ByActorAlone
            | Fulfilled::ByHive
            | Fulfilled::ByHyperShift
            | Fulfilled::ByClusterApi
            | Fulfilled::ByOsac
            | Fulfilled::ByCaas => "testplatform-ephemeral-cluster",
            Fulfilled::ByActor => hub::ACTED,
        };
        let composition = match self.flavour {
            Flavour::Claim => composition,
            Flavour::TestCluster => flavour::COMPOSITION,
        };
        let kind = self.flavour.kind();
        let mut claim = json!({
            "apiVersion": kind.api_version, "kind": kind.kind,
            "metadata": { "name": self.name, "namespace": self.namespace },
            "spec": { "writeConnectionSecretToRef": { "name": format!("{}-kubeconfig", self.name) } },
        });
        // Scenarios have Compositions of their own, and without a name core picks any.
        self.flavour.compose(&mut claim["spec"], composition);
        let (block, asked) = match self.fulfilled {
            Fulfilled::ByHive => ("clusterClaim", offer::block(self.pool())),
            Fulfilled::ByHyperShift => ("template", hypershift::TEMPLATE.into()),
            Fulfilled::ByClusterApi => ("template", cluster_api::TEMPLATE.into()),
            Fulfilled::ByOsac => ("template", osac::TEMPLATE.into()),
            Fulfilled::ByCaas => ("template", caas::TEMPLATE.into()),
            Fulfilled::ByProvider | Fulfilled::ByActor | Fulfilled::ByActorAlone => {
                let release = json!({ "name": "4.20", "namespace": "ocp" });
                let test = json!({ "workflow": "ipi-aws", "clusterProfile": "aws" });
                let releases = json!({ "latest": { "integration": release } });
                ("ciOperator", json!({ "releases": releases, "test": test }))
            }
        };
        claim["spec"][block] = asked;
        for (key, value) in more.as_object().into_iter().flatten() {
            claim["spec"][key] = value.clone();
        }
        claim
    }

    /// As [`Engine::own`], for those who fulfil what this tenant asks for.
    pub async fn own(&self, name: &str, credential: &Credential, input: &Value) -> anyhow::Result<()> {
        let namespace = self.fulfilled.namespace();
        let mut whole = json!({ "namespace": namespace, "credentialsNamespace": namespace });
        for (key, value) in input.as_object().into_iter().flatten() {
            whole[key] = value.clone();
        }
        self.engine.own(name, credential, &whole).await
    }

    /// Makes the claim.
    pub async fn ask(&self, more: &Value) -> anyhow::Result<()> {
        self.konflux().create(&self.manifest(more)).await.context("the claim is refused")?;
        Ok(())
    }

    /// Makes the claim and waits until the hub is asked for the cluster. Returns the hand on it.
    pub async fn ask_and_arrive(&self, more: &Value) -> anyhow::Result<Controller> {
        self.ask(more).await?;
        let controller = self.controller().await?;
        controller.until_asked(SOON).await?;
        Ok(controller)
    }

    /// As [`Self::ask_and_arrive`], then through to Ready.
    pub async fn ask_and_get(&self, more: &Value) -> anyhow::Result<Controller> {
        let controller = self.ask_and_arrive(more).await?;
        controller.provision().await?;
        self.until_phase("Provisioning").await?;
        controller.ready(KUBECONFIG, PASSWORD).await?;
        self.until_phase("Ready").await?;
        self.until_secret(SOON, KUBECONFIG).await?;
        Ok(controller)
    }

    /// Changes the claim's spec.
    pub async fn change(&self, spec: &Value) -> anyhow::Result<()> {
        Ok(self.konflux().merge(&self.claim(), &json!({ "spec": spec })).await?)
    }

    /// Waits for something of the claim.
    pub async fn until(
        &self,
        within: Duration,
        what: &str,
        is: impl FnMut(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        self.konflux().until_is(&self.claim(), within, what, is).await
    }

    /// Waits for a phase of the claim.
    pub async fn until_phase(&self, phase: &str) -> anyhow::Result<Value> {
        self.until(SOON, phase, |claim| claim["status"]["phase"] == phase).await
    }

    /// Waits for a condition of the claim.
    pub async fn until_condition(&self, type_: &str, status: &str, reason: &str) -> anyhow::Result<Value> {
        self.until(SOON, &format!("{type_}={status}/{reason}"), |claim| has(claim, type_, status, reason))
            .await
    }

    /// Waits until the Secret has a kubeconfig, which may be empty: what is given back. Of a TestCluster the Secret is gone then, and
    /// counts as empty.
    pub async fn until_secret(
        &self,
        within: Duration,
        kubeconfig: &str,
    ) -> anyhow::Result<BTreeMap<String, String>> {
        if kubeconfig.is_empty() && self.flavour == Flavour::TestCluster {
            self.konflux().until_gone(&self.secret(), within).await?;
            return Ok(["kubeconfig", "kubeAdminPassword"].map(|key| (key.to_owned(), String::new())).into());
        }
        let is = |secret: &Value| decoded(secret).get("kubeconfig").is_some_and(|k| k == kubeconfig);
        let found = self.konflux().until_is(&self.secret(), within, "with that kubeconfig", is).await?;
        Ok(decoded(&found))
    }

    /// The composite.
    pub async fn composite_at(&self) -> anyhow::Result<At> {
        Ok(self.flavour.composite(&self.claim(), &self.composite().await?))
    }

    /// An Object of the composite: `managed` or `credentials`.
    pub async fn object(&self, which: &str) -> anyhow::Result<At> {
        Ok(self.flavour.object(&self.namespace, which, &self.composite().await?))
    }

    /// Name of the composite, or of what is made for it, which is also the EphemeralCluster's, once core has made it.
    pub async fn composite(&self) -> anyhow::Result<String> {
        let named = |claim: &Value| self.flavour.composed(claim).is_some();
        let claim = self.until(SOON, "bound to a composite", named).await?;
        Ok(self.flavour.composed(&claim).unwrap_or_default().to_owned())
    }

    /// The hand on its EphemeralCluster.
    pub async fn controller(&self) -> anyhow::Result<Controller> {
        Ok(Controller::new(self.engine.hub.cluster(), &self.composite().await?, self.fulfilled))
    }

    /// The hand on its ClusterClaim.
    pub async fn claimed(&self) -> anyhow::Result<Claimed> {
        Ok(Claimed::new(self.engine.hub.cluster(), &self.composite().await?))
    }

    /// HyperShift, and the hub that it is on.
    pub async fn hypershift(&self) -> anyhow::Result<&'e HyperShift> {
        self.engine.host().await
    }

    /// The Object that carries the remote object.
    pub async fn writer(&self) -> anyhow::Result<At> {
        self.object("managed").await
    }

    /// The Object that carries the EphemeralCluster, by a claim that was read earlier.
    pub fn writer_at(&self, claim: &Value) -> At {
        at_root(
            OBJECT,
            &format!("managed-{}", claim["spec"]["resourceRef"]["name"].as_str().unwrap_or_default()),
        )
    }

    /// The phases that the claim showed, in their order.
    pub fn phases(&self) -> Vec<String> {
        self.engine.recorder.phases(&(self.namespace.clone(), self.name.clone()))
    }

    /// How many remote objects there ever were for the claim's composites.
    pub fn remotes_made(&self) -> usize {
        self.engine.recorder.made(&self.namespace)
    }

    /// Makes core run the function now. It does so at least once a minute.
    pub async fn nudge(&self, token: &str) -> anyhow::Result<()> {
        let patch = json!({ "metadata": { "annotations": { "testbed/nudge": token } } });
        Ok(self.konflux().merge(&self.composite_at().await?, &patch).await?)
    }

    /// Changes the claim's spec and waits until core has run the function with that, without an error.
    pub async fn change_and_pass(&self, spec: &Value) -> anyhow::Result<()> {
        self.change(spec).await?;
        let passed = |composite: &Value| {
            let generation = &composite["metadata"]["generation"];
            let synced = condition(composite, "Synced")
                .is_some_and(|s| s["status"] == "True" && s["observedGeneration"] == *generation);
            synced
                && spec.as_object().into_iter().flatten().all(|(key, value)| composite["spec"][key] == *value)
        };
        let composite = self.composite_at().await?;
        self.konflux().until_is(&composite, SOON, "looked at as changed", passed).await.map(|_| ())
    }

    /// Takes away what it and others of its scenario asked for, and waits for none of it. Remaining objects are reconciled by everybody every minute, for as
    /// long as the others take.
    pub async fn leave(&self) -> anyhow::Result<()> {
        for kind in [Flavour::Claim, self.flavour].map(Flavour::kind) {
            for asked in self.konflux().list(kind).await? {
                let text = |field: &str| asked["metadata"][field].as_str().unwrap_or_default();
                if self.has(text("namespace")) {
                    self.konflux().delete(&at(kind, text("namespace"), text("name"))).await?;
                }
            }
        }
        Ok(())
    }

    /// How every claim of the tenant stands, and what was made of it, for a failure's report. Without what could be a secret.
    pub async fn story(&self) -> String {
        let all = self.konflux().list(self.flavour.kind()).await.unwrap_or_default();
        let own = all.iter().filter(|claim| claim["metadata"]["namespace"] == self.namespace.as_str());
        let mut names: BTreeSet<&str> = own.filter_map(|claim| claim["metadata"]["name"].as_str()).collect();
        // Also where it is gone.
        names.insert(&self.name);
        let mut story = vec![];
        for name in names {
            story.push(Self { name: name.to_owned(), ..self.clone() }.chapter().await);
        }
        story.join("\n")
    }

    async fn chapter(&self) -> String {
        let claim = self.konflux().get(&self.claim()).await.ok().flatten();
        let name = claim.as_ref().and_then(|c| self.flavour.composed(c)).unwrap_or_default();
        let mut story = vec![format!("--- {}: {}", self.claim(), brief(claim.as_ref()))];
        let konflux = [
            self.flavour.composite(&self.claim(), name),
            self.flavour.object(&self.namespace, "managed", name),
            self.flavour.object(&self.namespace, "credentials", name),
        ];
        for at in konflux.iter().filter(|_| !name.is_empty()) {
            let object = self.konflux().get(at).await.ok().flatten();
            story.push(format!("--- {at}: {}", brief(object.as_ref())));
        }
        story.join("\n")
    }
}

/// Every tenant of a scenario takes from the same pool.
fn pool(namespace: &str) -> &str {
    let scenario = namespace.strip_prefix("tenant-").unwrap_or(namespace);
    scenario.split_once("--").map_or(scenario, |(scenario, _)| scenario)
}

/// Kubeconfig that fakes publish, in the form in which the provider writes it.
pub const KUBECONFIG: &str = "\
apiVersion: v1
clusters:
- cluster:
    server: https://api.made.example:6443
  name: made
contexts:
- context:
    cluster: made
    user: admin
  name: admin
current-context: admin
kind: Config
users:
- name: admin
  user:
    token: of-a-cluster-that-an-actor-made
";
/// Password that fakes publish.
pub const PASSWORD: &str = "abcde-fghij-klmno-pqrst";

/// The data of a Secret.
pub fn decoded(secret: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| -> Option<String> {
        String::from_utf8(BASE64_STANDARD.decode(value.as_str()?).ok()?).ok()
    };
    let data = secret["data"].as_object().into_iter().flatten();
    data.filter_map(|(key, value)| Some((key.clone(), text(value)?))).collect()
}
