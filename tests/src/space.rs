//! Spaces on the testbed: what the hub has for them, and a tenant's claim of one.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use kube::Client;
use serde_json::{Value, json};
use testplatform_apis::space::{COMPOSITION, keys};

use crate::{
    cluster::{At, Cluster, SOON, at, at_root, brief, has},
    control_plane::{ControlPlane, Identity, connect},
    crossplane::Engine,
    hub::{self, Credential},
    kinds::{CRD, NAMESPACE, OBJECT, SECRET, SPACE, SPACE_CLAIM, XRD},
    manifests,
    nest::Nest,
    patience,
    tenant::{Tenant, decoded},
};

/// Namespace on the hub in which credentials of spaces are published.
pub const CREDENTIALS: &str = "testplatform-spaces";
/// Namespace and name of the Konflux cluster's identity on the hub.
const IDENTITY: (&str, &str) = ("provider-testplatform", "konflux-spaces");
/// Name of the ProviderConfig, and of the Secret behind it.
const WAY: (&str, &str) = ("eaas-kubernetes-provider-config", "eaas-cluster");
/// Kubernetes' own controllers that a hub of spaces needs: one counts quotas, one aggregates the role edit.
pub const CONTROLLERS: &[&str] = &["clusterrole-aggregation-controller", "resourcequota-controller"];
/// Name of the definition.
const XRD_NAME: &str = "xnamespaces.eaas.konflux-ci.dev";
/// Name of the claim's definition, which core makes.
const CLAIMS: &str = "namespaces.eaas.konflux-ci.dev";
/// How long the definitions may take to become usable.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a namespace and its Objects may take to go: what the incumbent asked for in vain is tried again after a minute at most.
pub const GONE: Duration = Duration::from_secs(150);

/// Section `spaces` of the provider's configuration.
pub(crate) fn configuration(nest: &Nest, hub: &ControlPlane) -> anyhow::Result<Value> {
    let way = &hub.kubeconfig_for(&Identity::Token(String::new()))["clusters"][0]["cluster"];
    let certificates = way["certificate-authority-data"].as_str().context("no certificates")?;
    let certificates = String::from_utf8(BASE64_STANDARD.decode(certificates)?)?;
    Ok(json!({
        "mode": "on",
        "credentialsNamespace": CREDENTIALS,
        "apiServer": way["server"],
        "caFile": nest.file("hub-ca.pem", certificates)?,
    }))
}

/// Applies what this repository ships for spaces, and waits until they can be asked for.
pub(crate) async fn serve(engine: &Engine) -> anyhow::Result<()> {
    let (konflux, hub) = (engine.konflux.cluster(), engine.hub.cluster());
    let home = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": IDENTITY.0 } });
    hub.apply(&home).await?;
    hub.apply_all(&manifests::package("install/hub/konflux-identity-spaces-rbac.yaml")?).await?;
    use_credential(engine, &issue(engine, "0").await?).await?;
    for file in ["definition", "composition", "crossplane-fields-policy"] {
        let file = format!("install/components/spaces/{file}.yaml");
        konflux.apply_all(&manifests::package(&file)?).await?;
    }
    let offered = |xrd: &Value| has(xrd, "Established", "True", "") && has(xrd, "Offered", "True", "");
    konflux.until_is(&at_root(XRD, XRD_NAME), PATIENCE, "established and offered", offered).await?;
    for name in [CLAIMS, XRD_NAME] {
        let established = |crd: &Value| has(crd, "Established", "True", "");
        konflux.until_is(&at_root(CRD, name), PATIENCE, "established", established).await?;
    }
    engine.until_revised(COMPOSITION).await
}

/// A credential of the Konflux cluster on a hub of spaces. `serial` tells credentials of one engine apart.
pub async fn issue(engine: &Engine, serial: &str) -> anyhow::Result<Credential> {
    hub::issue_in(&engine.hub, IDENTITY.0, IDENTITY.1, serial).await
}

/// Puts a credential behind the ProviderConfig of all spaces.
pub async fn use_credential(engine: &Engine, credential: &Credential) -> anyhow::Result<()> {
    way(engine, WAY, credential).await
}

/// A ProviderConfig as the incumbent has it, and the Secret behind it, with the URL that the incumbent reads from there.
pub async fn way(
    engine: &Engine,
    (name, secret): (&str, &str),
    credential: &Credential,
) -> anyhow::Result<()> {
    let konflux = engine.konflux.cluster();
    let server = credential.kubeconfig["clusters"][0]["cluster"]["server"].as_str().context("no server")?;
    let encoded = |text: &str| BASE64_STANDARD.encode(text);
    konflux
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": secret, "namespace": "crossplane-system" },
            "data": { "kubeconfig": encoded(&credential.kubeconfig.to_string()), "apiserver": encoded(server) },
        }))
        .await?;
    let reference = json!({ "namespace": "crossplane-system", "name": secret, "key": "kubeconfig" });
    konflux
        .apply(&json!({
            "apiVersion": "kubernetes.crossplane.io/v1alpha1", "kind": "ProviderConfig",
            "metadata": { "name": name },
            "spec": { "credentials": { "source": "Secret", "secretRef": reference } },
        }))
        .await?;
    Ok(())
}

/// A Composition of spaces of a scenario's own, whose only step is a function.
pub async fn compose(engine: &Engine, name: &str, function: &str, input: &Value) -> anyhow::Result<()> {
    let mut composition = manifests::package_one("install/components/spaces/composition.yaml")?;
    composition["metadata"]["name"] = name.into();
    let step = &mut composition["spec"]["pipeline"][0];
    step["functionRef"]["name"] = function.into();
    if input.is_object() {
        step["input"] = input.clone();
        step["input"]["apiVersion"] = "testplatform.fn.crossplane.io/v1beta1".into();
        step["input"]["kind"] = "Input".into();
    }
    engine.konflux.cluster().apply(&composition).await?;
    engine.until_revised(name).await
}

/// A claim of a space, and everything that hangs on it.
pub struct Space<'t> {
    /// Engine of the scenario.
    pub engine: &'t Engine,
    namespace: &'t str,
    name: String,
    secret: String,
}

impl<'t> Space<'t> {
    /// Makes a claim of a manifest, in the tenant's namespace.
    pub async fn ask(tenant: &'t Tenant<'_>, mut manifest: Value) -> anyhow::Result<Self> {
        tenant.engine.serve_spaces().await?;
        manifest["metadata"]["namespace"] = tenant.namespace.as_str().into();
        let text =
            |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (name, secret) = (text("/metadata/name"), text("/spec/writeConnectionSecretToRef/name"));
        tenant.konflux().create(&manifest).await.context("the claim is refused")?;
        Ok(Self { engine: tenant.engine, namespace: &tenant.namespace, name, secret })
    }

    fn konflux(&self) -> &Cluster {
        self.engine.konflux.cluster()
    }

    fn hub(&self) -> &Cluster {
        self.engine.hub.cluster()
    }

    /// The claim.
    pub fn claim(&self) -> At {
        at(SPACE_CLAIM, self.namespace, &self.name)
    }

    /// The Secret that the claim names.
    pub fn secret(&self) -> At {
        at(SECRET, self.namespace, &self.secret)
    }

    /// Name of the composite.
    pub async fn composite(&self) -> anyhow::Result<String> {
        let named = |claim: &Value| claim["spec"]["resourceRef"]["name"].is_string();
        let claim = self.konflux().until_is(&self.claim(), SOON, "bound to a composite", named).await?;
        Ok(claim["spec"]["resourceRef"]["name"].as_str().unwrap_or_default().to_owned())
    }

    /// Its namespace on the hub.
    pub async fn remote(&self) -> anyhow::Result<At> {
        Ok(at_root(NAMESPACE, &self.composite().await?.replace('.', "-")))
    }

    /// The published credentials on the hub.
    pub async fn published(&self) -> anyhow::Result<At> {
        Ok(at(SECRET, CREDENTIALS, &format!("{}-credentials", self.remote().await?.name())))
    }

    /// Its Objects by composition resource name.
    pub async fn objects(&self) -> anyhow::Result<BTreeMap<String, Value>> {
        let composite = self.composite().await?;
        let all = self.konflux().list(OBJECT).await?;
        let own = all
            .into_iter()
            .filter(|o| o["metadata"]["labels"]["crossplane.io/composite"] == composite.as_str());
        let name = |o: &Value| {
            o["metadata"]["annotations"]["crossplane.io/composition-resource-name"]
                .as_str()
                .map(str::to_owned)
        };
        Ok(own.filter_map(|o| Some((name(&o)?, o))).collect())
    }

    /// Waits for something of the claim; tells how all of it stands if that does not come.
    pub async fn until(
        &self,
        within: Duration,
        what: &str,
        is: impl FnMut(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let seen = self.konflux().until_is(&self.claim(), within, what, is).await;
        match seen {
            Ok(seen) => Ok(seen),
            Err(error) => Err(error.context(self.story().await)),
        }
    }

    /// Waits until the claim is ready and the tenant has all credentials; returns them.
    pub async fn until_given(&self, within: Duration) -> anyhow::Result<BTreeMap<String, String>> {
        self.until(within, "ready", |claim| has(claim, "Ready", "True", "")).await?;
        let secret = self.konflux().until_is(&self.secret(), SOON, "with all keys", is_whole).await?;
        let given = decoded(&secret);
        let found: Vec<&str> = given.keys().map(String::as_str).collect();
        ensure!(found == keys::EVERY, "the Secret has {found:?}");
        Ok(given)
    }

    /// The hub as the tenant reaches it.
    pub async fn inside(given: &BTreeMap<String, String>) -> anyhow::Result<Cluster> {
        let client: Client = connect(&given[keys::KUBECONFIG]).await?;
        Ok(Cluster::new("hub, as its tenant", client))
    }

    /// Deletes the claim, and waits until nothing is left on either side.
    pub async fn end(&self) -> anyhow::Result<()> {
        let (remote, published, composite) =
            (self.remote().await?, self.published().await?, self.composite().await?);
        self.konflux().delete(&self.claim()).await?;
        self.hub().until_gone(&remote, GONE).await?;
        self.hub().until_gone(&published, SOON).await?;
        let left = async {
            loop {
                let all = self.konflux().list(OBJECT).await?;
                let own =
                    |o: &&Value| o["metadata"]["labels"]["crossplane.io/composite"] == composite.as_str();
                if !all.iter().any(|o| own(&o)) {
                    return anyhow::Ok(());
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        patience::timeout(GONE, left).await.context("Objects are left")?
    }

    async fn story(&self) -> String {
        let claim = self.konflux().get(&self.claim()).await.ok().flatten();
        let mut story = vec![format!("--- {}: {}", self.claim(), brief(claim.as_ref()))];
        if let Ok(composite) = self.composite().await {
            let composite = self.konflux().get(&at_root(SPACE, &composite)).await.ok().flatten();
            story.push(format!("--- composite: {}", brief(composite.as_ref())));
        }
        for (name, object) in self.objects().await.unwrap_or_default() {
            story.push(format!("--- {name}: {}", brief(Some(&object))));
        }
        story.join("\n")
    }
}

/// `true` if a Secret has all keys, none of them empty.
pub fn is_whole(secret: &Value) -> bool {
    let given = decoded(secret);
    keys::EVERY.iter().all(|key| given.get(*key).is_some_and(|value| !value.is_empty()))
}
