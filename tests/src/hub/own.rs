//! Hubs of one scenario: ProviderConfigs that its tenants alone may use, and that claims get only if they ask for this scenario's.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use testplatform_apis::{
    hub::{Facts, Known, Mirror, known_facts},
    names::hub::{HUB, SCHEDULABLE},
};

use crate::{
    actors,
    cluster::{At, Cluster, SOON, at_root},
    hypershift,
    kinds::{OBJECT, PROVIDER_CONFIG},
    manifests,
    patience::longer,
    tenant::Tenant,
};

const PREFIX: &str = "testplatform.ci.openshift.org/";
/// By then core knows hubs and catalogue as they are, also with much else to do.
pub const KNOWN: Duration = Duration::from_secs(5);
/// Label with the scenario's name.
const SCENARIO: &str = "testbed/scenario";

/// The hubs of a scenario, each by a name that is its own within it.
pub struct OwnHubs<'t> {
    tenant: &'t Tenant<'t>,
    tenants: String,
}

impl<'t> OwnHubs<'t> {
    /// None yet. `others`: names of further tenants that may use them.
    pub fn of(tenant: &'t Tenant<'t>, others: &[&str]) -> Self {
        let others = others.iter().map(|name| format!("{}--{name}", tenant.namespace));
        let tenants: Vec<String> = others.chain([tenant.namespace.clone()]).collect();
        Self { tenant, tenants: tenants.join(",") }
    }

    fn konflux(&self) -> &Cluster {
        self.tenant.konflux()
    }

    /// The name of a hub, as claims tell it.
    pub fn name(&self, hub: &str) -> String {
        format!("{}-{hub}", self.tenant.name)
    }

    /// The ProviderConfig of a hub.
    pub fn at(&self, hub: &str) -> At {
        at_root(PROVIDER_CONFIG, &self.name(hub))
    }

    /// Adds a hub: the example that we ship without its bounds, with more labels, and with annotations of ours by what follows their
    /// prefix. `secret`: has the kubeconfig.
    pub async fn add(
        &self,
        hub: &str,
        secret: &str,
        labels: &Value,
        annotations: &Value,
    ) -> anyhow::Result<()> {
        let mut config = hypershift::provider_config(secret)?;
        let metadata = &mut config["metadata"];
        metadata["name"] = self.name(hub).into();
        let mut own = json!({ HUB: "true", SCHEDULABLE: "true", SCENARIO: self.tenant.name });
        for backend in ["hypershift", "cluster-api", "caas", "osac"] {
            own[format!("{PREFIX}backend.{backend}")] = "true".into();
        }
        extend(&mut own, labels, "");
        metadata["labels"] = own;
        for bound in ["max-clusters", "reserved-percent", "weight"] {
            let all = metadata["annotations"].as_object_mut().context("no annotations")?;
            all.remove(&format!("{PREFIX}{bound}"));
        }
        metadata["annotations"][format!("{PREFIX}tenants-allow")] = self.tenants.as_str().into();
        extend(&mut metadata["annotations"], annotations, PREFIX);
        self.konflux().create(&config).await?;
        self.settled().await
    }

    /// Changes labels of a hub; null takes one away.
    pub async fn label(&self, hub: &str, labels: &Value) -> anyhow::Result<()> {
        self.konflux().merge(&self.at(hub), &json!({ "metadata": { "labels": labels } })).await?;
        self.settled().await
    }

    /// Changes annotations of ours by what follows their prefix.
    pub async fn annotate(&self, hub: &str, annotations: &Value) -> anyhow::Result<()> {
        let mut own = json!({});
        extend(&mut own, annotations, PREFIX);
        self.konflux().merge(&self.at(hub), &json!({ "metadata": { "annotations": own } })).await?;
        self.settled().await
    }

    /// Waits until so many Objects go by a hub, which is what its load is guessed from.
    pub async fn until_used(&self, hub: &str, users: i64) -> anyhow::Result<()> {
        let used = |config: &Value| config["status"]["users"].as_i64().is_some_and(|count| count >= users);
        let what = format!("used by {users} Objects");
        self.konflux().until_is(&self.at(hub), SOON, &what, used).await?;
        self.settled().await
    }

    /// Core reads ProviderConfigs from its cache, which may be behind.
    pub async fn settled(&self) -> anyhow::Result<()> {
        tokio::time::sleep(longer(KNOWN)).await;
        Ok(())
    }

    /// Mirrors what a hub tells of itself, by the Object that we ship as an example.
    pub async fn mirror(&self, hub: &str) -> anyhow::Result<At> {
        let mut mirror = manifests::package("install/examples/hub.yaml")?.pop().context("no Object")?;
        let name = format!("testplatform-{}", self.name(hub));
        mirror["metadata"]["name"] = name.as_str().into();
        mirror["spec"]["providerConfigRef"]["name"] = self.name(hub).into();
        self.konflux().create(&mirror).await?;
        Ok(at_root(OBJECT, &name))
    }

    /// Facts in a mirror of a hub.
    pub fn told(&self, hub: &str, mirror: &Value) -> Option<Facts> {
        let mirror: Mirror = serde_json::from_value(mirror.clone()).ok()?;
        match known_facts(&self.name(hub), [&mirror], actors::now()) {
            Known::Facts(facts) => Some(*facts),
            Known::Unknown(_) => None,
        }
    }

    /// Selector in claims that get one of them, with further labels.
    pub fn wanted(&self, labels: &Value) -> Value {
        let mut all = json!({ SCENARIO: self.tenant.name });
        extend(&mut all, labels, "");
        json!({ "selector": { "matchLabels": all } })
    }
}

fn extend(all: &mut Value, more: &Value, prefix: &str) {
    for (key, value) in more.as_object().into_iter().flatten() {
        all[format!("{prefix}{key}")] = value.clone();
    }
}
