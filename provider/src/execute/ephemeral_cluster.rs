//! Writes on the EphemeralCluster. Each carries the resourceVersion that was read, so that what was decided on an old
//! copy is refused, and takes over the one that came of it.

use std::collections::BTreeMap;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use testplatform_apis::names::ephemeral_cluster::FINALIZER;

use super::{Cause, Executor, error::is_not_found};
use crate::ephemeral_cluster::{
    object::{EphemeralCluster, MANAGER},
    status::{self, Status},
};

impl Executor {
    pub(super) async fn add_finalizer(&self, object: &mut Option<EphemeralCluster>) -> Result<(), Cause> {
        let mut finalizers = super::owner(object.as_ref())?.metadata.finalizers.clone().unwrap_or_default();
        if finalizers.iter().any(|f| f == FINALIZER) {
            return Ok(());
        }
        finalizers.push(FINALIZER.to_owned());
        self.merge(object, json!({ "finalizers": finalizers })).await
    }

    pub(super) async fn remove_finalizer(&self, object: &mut Option<EphemeralCluster>) -> Result<(), Cause> {
        let mut finalizers = super::owner(object.as_ref())?.metadata.finalizers.clone().unwrap_or_default();
        if !finalizers.iter().any(|f| f == FINALIZER) {
            return Ok(());
        }
        finalizers.retain(|f| f != FINALIZER);
        self.merge(object, json!({ "finalizers": finalizers })).await
    }

    pub(super) async fn annotate(
        &self,
        object: &mut Option<EphemeralCluster>,
        annotations: &BTreeMap<String, Option<String>>,
    ) -> Result<(), Cause> {
        let current = super::owner(object.as_ref())?;
        if annotations.iter().all(|(key, value)| current.annotation(key) == value.as_deref()) {
            return Ok(());
        }
        self.merge(object, json!({ "annotations": annotations })).await
    }

    /// Merges into the metadata.
    async fn merge(&self, object: &mut Option<EphemeralCluster>, mut metadata: Value) -> Result<(), Cause> {
        let current = super::owner(object.as_ref())?;
        metadata["resourceVersion"] = json!(current.metadata.resource_version);
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let written = self.hub.ephemeral_clusters().patch(current.name(), &parameters(), &patch).await;
        took(object, written)
    }

    /// Writes the status, if it is not what is stored already.
    pub(super) async fn write_status(
        &self,
        object: &mut Option<EphemeralCluster>,
        status: &Status,
    ) -> Result<(), Cause> {
        let current = super::owner(object.as_ref())?;
        let Some(mut patch) = status::patch(&current.status.value, status) else { return Ok(()) };
        patch["metadata"] = json!({ "resourceVersion": current.metadata.resource_version });
        let patch = Patch::Merge(patch);
        let written = self.hub.ephemeral_clusters().patch_status(current.name(), &parameters(), &patch).await;
        let phase = status.phase;
        tracing::info!(
            namespace = self.hub.namespace(),
            ephemeralcluster = current.name(),
            ?phase,
            "writing status"
        );
        took(object, written)
    }
}

fn parameters() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

/// Goes on with the object as it was written. One that is gone needs nothing more.
fn took(object: &mut Option<EphemeralCluster>, written: kube::Result<EphemeralCluster>) -> Result<(), Cause> {
    match written {
        Ok(written) => *object = Some(written),
        Err(error) if is_not_found(&error) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
