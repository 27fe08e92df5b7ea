//! Compositions of the engine: the one that we ship, with an input or without, and those of scenarios' own.

use std::time::Duration;

use anyhow::Context as _;
use kube::{
    Api,
    api::{DynamicObject, ListParams},
};
use serde_json::Value;

use super::Engine;
use crate::{cluster::SOON, hub::Credential, kinds::COMPOSITION_REVISION, manifests, patience};

impl Engine {
    /// A Composition of a scenario's own whose only step is a function.
    pub async fn compose(&self, name: &str, function: &str) -> anyhow::Result<()> {
        let mut composition = composition()?;
        composition["metadata"]["name"] = name.into();
        composition["spec"]["pipeline"][0]["functionRef"]["name"] = function.into();
        self.konflux.cluster().apply(&composition).await?;
        self.until_revised(name).await
    }

    /// Gives our Composition an input, as a platform team does that wants something else than the defaults. It holds for all claims within
    /// moments, also for those that are there.
    pub async fn configure(&self, input: &Value) -> anyhow::Result<()> {
        let mut composition = composition()?;
        composition["spec"]["pipeline"][0]["input"] = as_input(input);
        self.konflux.cluster().apply(&composition).await.map(|_| ())
    }

    /// A ProviderConfig and a Composition of a scenario's own, beside ours: another identity on the hub, another input.
    pub async fn own(&self, name: &str, credential: &Credential, input: &Value) -> anyhow::Result<()> {
        self.use_credential(name, credential).await?;
        let mut config = manifests::package_one("install/components/hub-access/provider-config.yaml")?;
        config["metadata"]["name"] = name.into();
        config["spec"]["credentials"]["secretRef"]["name"] = name.into();
        let konflux = self.konflux.cluster();
        konflux.apply(&config).await?;
        let mut composition = composition()?;
        composition["metadata"]["name"] = name.into();
        let mut input = as_input(input);
        input["providerConfig"] = name.into();
        composition["spec"]["pipeline"][0]["input"] = input;
        konflux.apply(&composition).await?;
        self.until_revised(name).await
    }

    /// Core takes the newest revision of a Composition, and for a moment there is none.
    pub async fn until_revised(&self, composition: &str) -> anyhow::Result<()> {
        let wanted = ListParams::default().labels(&format!("crossplane.io/composition-name={composition}"));
        let revisions: Api<DynamicObject> =
            Api::all_with(self.konflux.client(), &COMPOSITION_REVISION.into());
        let made = async {
            while revisions.list(&wanted).await?.items.is_empty() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            anyhow::Ok(())
        };
        patience::timeout(SOON, made).await.context("core makes no CompositionRevision")?
    }
}

/// Our Composition.
pub fn composition() -> anyhow::Result<Value> {
    manifests::package_one("compositions/testplatform-ephemeral-cluster.yaml")
}

fn as_input(settings: &Value) -> Value {
    let mut input = settings.clone();
    input["apiVersion"] = "testplatform.fn.crossplane.io/v1beta1".into();
    input["kind"] = "Input".into();
    input
}
