//! Step → client: one ConfigMap.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;
use testplatform_apis::hub::{CONFIG_MAP, Facts, KEY};
use testplatform_runtime::apply::MANAGER;

/// Writes the facts. Values of other writers under their key are overwritten: a mirror may write them too, and they are those of this hub.
pub(super) async fn write(client: &Client, namespace: &str, facts: &Facts) -> kube::Result<()> {
    let text = facts.to_json().map_err(kube::Error::SerdeError)?;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": CONFIG_MAP, "namespace": namespace },
        "data": { KEY: text },
    });
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    maps.patch(CONFIG_MAP, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&map)).await?;
    Ok(())
}
