//! Writes reports to a ConfigMap, and adds and removes its finalizer. Each call may be repeated; nothing is decided here.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, api::Patch};
use serde_json::{Map, Value, json};
use testplatform_apis::bundle::BundleReport;
use testplatform_runtime::{
    apply::patch_params,
    error::{Cause, Reason, is_object_not_found},
};

use super::RequestKeys;

impl RequestKeys {
    /// Writes a report and other annotations of ours; null removes one. With `hold` it adds our finalizer too.
    pub async fn write(
        &self,
        maps: &Api<ConfigMap>,
        map: &ConfigMap,
        report: &BundleReport,
        beside: impl IntoIterator<Item = (&'static str, Value)>,
        hold: bool,
    ) -> Result<(), Cause> {
        let text = serde_json::to_string(report)
            .map_err(|_| Cause::new(Reason::Bug, "a report cannot be written"))?;
        let mut annotations = Map::from_iter([(self.report.to_owned(), Value::from(text))]);
        annotations.extend(beside.into_iter().map(|(key, value)| (key.to_owned(), value)));
        let mut metadata = json!({ "annotations": annotations });
        if hold && !self.has_finalizer(map) {
            let mut finalizers = map.metadata.finalizers.clone().unwrap_or_default();
            finalizers.push(self.finalizer.to_owned());
            metadata["finalizers"] = json!(finalizers);
        }
        patch(maps, map, metadata).await
    }

    /// Takes our finalizer away.
    pub async fn release(&self, maps: &Api<ConfigMap>, map: &ConfigMap) -> Result<(), Cause> {
        let mut finalizers = map.metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|one| one != self.finalizer);
        patch(maps, map, json!({ "finalizers": finalizers })).await
    }
}

/// It carries the version that was read, so that what was decided on an old copy is refused.
async fn patch(maps: &Api<ConfigMap>, map: &ConfigMap, mut metadata: Value) -> Result<(), Cause> {
    metadata["resourceVersion"] = json!(map.metadata.resource_version);
    let name = map.metadata.name.as_deref().unwrap_or_default();
    match maps.patch(name, &patch_params(), &Patch::Merge(json!({ "metadata": metadata }))).await {
        // A deleted ConfigMap needs nothing more.
        Err(error) if is_object_not_found(&error, name) => Ok(()),
        other => Ok(other.map(drop)?),
    }
}
