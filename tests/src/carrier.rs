//! The provider in its third role: beside the claims, with exactly the rights that we ship on either side.

use std::process::Command;

use anyhow::ensure;
use serde_json::json;

use crate::{
    companion::{Companion, patient},
    control_plane::ControlPlane,
    hub, manifests,
    nest::Nest,
    ports::free_ports,
    program,
};

/// Name of its ServiceAccount on either side, of its namespace beside the claims, and of its process.
pub const NAME: &str = "testplatform-carrier";
/// Its namespace on the hub.
pub const ON_HUB: &str = "provider-testplatform";
/// The ProviderConfig by which its hub is known.
const HUB: &str = "testplatform-kubernetes-provider-config";
/// The same of claims with a template.
const BY_TEMPLATE: &str = "hub-east";

/// Installs what we ship for it, and starts it. It ends with what is returned.
pub async fn start(nest: &Nest, konflux: &ControlPlane, hub: &ControlPlane) -> anyhow::Result<Companion> {
    let component = |file: &str| format!("install/components/carrier/{file}.yaml");
    for file in ["byoc-rbac", "byoc-hypershift-rbac"] {
        hub.cluster().apply_all(&manifests::package(&format!("install/hub/{file}.yaml"))?).await?;
    }
    for file in ["namespace", "rbac"] {
        konflux.cluster().apply_all(&manifests::package(&component(file))?).await?;
    }
    let there = hub::issue_in(hub, ON_HUB, NAME, "0").await?;
    let here = hub::issue_in(konflux, NAME, NAME, "0").await?;
    let [http] = free_ports()?;
    // As it is shipped, but for the place of the file, for its patience and for TestClusters, which are installed here too.
    let mut configuration = manifests::package_one(&component("config"))?;
    configuration["carry"]["flavours"] = json!(["claims", "testClusters"]);
    let file = nest.file("carrier-hub.kubeconfig", there.kubeconfig.to_string())?;
    let hub = json!({ "kubeconfig": file });
    configuration["carry"]["hubs"] = json!({ HUB: hub, BY_TEMPLATE: hub });
    configuration["carry"]["poll"] = "10s".into();
    configuration["http"] = json!({ "address": format!("127.0.0.1:{http}") });
    patient(&mut configuration);
    let program = program::provider()?;
    let file = nest.file("carrier.yaml", configuration.to_string())?;
    // For those the rights are what whoever installs it generates.
    let account = format!("{NAME}/{NAME}");
    let rights = Command::new(program)
        .args(["rbac", "hub", "--service-account", account.as_str(), "--config"])
        .arg(&file)
        .output()?;
    ensure!(rights.status.success(), "no rights: {}", String::from_utf8_lossy(&rights.stderr));
    let rights = nest.file("carrier-rbac.yaml", rights.stdout)?;
    konflux.cluster().apply_all(&manifests::read(&rights)?).await?;
    let mut command = Command::new(program);
    command.arg("--config").arg(file);
    command.arg("--kubeconfig").arg(nest.file("carrier.kubeconfig", here.kubeconfig.to_string())?);
    Companion::start(nest, NAME, command.args(["--debug", "--log-format=text"]), http).await
}
