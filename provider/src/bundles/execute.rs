//! Writes what is told onto a ConfigMap, and holds and lets go of it. Each may be repeated; nothing is decided here.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, api::Patch};
use serde_json::{Map, Value, json};
use testplatform_apis::bundle::{CLUSTER, FINALIZER, REPORT};

use super::next::Note;
use crate::{
    execute::{Cause, Reason, error::is_not_found},
    hub::patching,
};

/// Writes a note. It carries the version that was read, so that what was decided on an old copy is refused.
pub(super) async fn write(maps: &Api<ConfigMap>, map: &ConfigMap, note: &Note) -> Result<(), Cause> {
    let text = serde_json::to_string(&note.report)
        .map_err(|_| Cause::new(Reason::Bug, "a report cannot be written"))?;
    let mut annotations = Map::from_iter([(REPORT.to_owned(), Value::from(text))]);
    if let Some(uid) = &note.cluster {
        annotations.insert(CLUSTER.to_owned(), uid.as_str().into());
    }
    let mut metadata = json!({ "annotations": annotations });
    let mut finalizers = map.metadata.finalizers.clone().unwrap_or_default();
    if note.hold && !finalizers.iter().any(|one| one == FINALIZER) {
        finalizers.push(FINALIZER.to_owned());
        metadata["finalizers"] = json!(finalizers);
    }
    patch(maps, map, metadata).await
}

/// Takes our finalizer away.
pub(super) async fn release(maps: &Api<ConfigMap>, map: &ConfigMap) -> Result<(), Cause> {
    let mut finalizers = map.metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|one| one != FINALIZER);
    patch(maps, map, json!({ "finalizers": finalizers })).await
}

async fn patch(maps: &Api<ConfigMap>, map: &ConfigMap, mut metadata: Value) -> Result<(), Cause> {
    metadata["resourceVersion"] = json!(map.metadata.resource_version);
    let name = map.metadata.name.as_deref().unwrap_or_default();
    match maps.patch(name, &patching(), &Patch::Merge(json!({ "metadata": metadata }))).await {
        // One that is gone needs nothing more.
        Err(error) if is_not_found(&error) => Ok(()),
        other => Ok(other.map(drop)?),
    }
}
