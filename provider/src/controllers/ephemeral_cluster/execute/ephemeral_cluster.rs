//! Writes on the EphemeralCluster. Each carries the resourceVersion that was read, so that what was decided on an old
//! copy is refused, and takes over the one that came of it.

use std::collections::BTreeMap;

use kube::api::Patch;
use serde_json::{Value, json};
use testplatform_apis::names::ephemeral_cluster::FINALIZER;
use testplatform_runtime::{
    apply::patch_params,
    error::{Cause, Reason, is_object_not_found},
};

use super::Executor;
use crate::controllers::ephemeral_cluster::{
    object::EphemeralCluster,
    status::{self, Status},
};

impl Executor {
    pub(super) async fn add_finalizer(&self, object: &mut Option<EphemeralCluster>) -> Result<(), Cause> {
        let mut finalizers = super::owner(object.as_ref())?.metadata.finalizers.clone().unwrap_or_default();
        if finalizers.iter().any(|f| f == FINALIZER) {
            return Ok(());
        }
        finalizers.push(FINALIZER.to_owned());
        match self.merge(object, json!({ "finalizers": finalizers })).await? {
            Written::Done => Ok(()),
            // The next operations rely on it: nothing may start for an EphemeralCluster that has vanished.
            Written::Gone => Err(Cause::new(Reason::Conflict, "the EphemeralCluster is gone")),
        }
    }

    pub(super) async fn remove_finalizer(&self, object: &mut Option<EphemeralCluster>) -> Result<(), Cause> {
        let mut finalizers = super::owner(object.as_ref())?.metadata.finalizers.clone().unwrap_or_default();
        if !finalizers.iter().any(|f| f == FINALIZER) {
            return Ok(());
        }
        finalizers.retain(|f| f != FINALIZER);
        self.merge(object, json!({ "finalizers": finalizers })).await.map(drop)
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
        self.merge(object, json!({ "annotations": annotations })).await.map(drop)
    }

    /// Merges into the metadata.
    async fn merge(
        &self,
        object: &mut Option<EphemeralCluster>,
        mut metadata: Value,
    ) -> Result<Written, Cause> {
        let current = super::owner(object.as_ref())?;
        metadata["resourceVersion"] = json!(current.metadata.resource_version);
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let name = current.name().to_owned();
        let written = self.hub.ephemeral_clusters().patch(&name, &patch_params(), &patch).await;
        took(object, &name, written)
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
        let name = current.name().to_owned();
        let written = self.hub.ephemeral_clusters().patch_status(&name, &patch_params(), &patch).await;
        let phase = status.phase;
        tracing::info!(namespace = self.hub.namespace(), ephemeralcluster = name, ?phase, "writing status");
        took(object, &name, written).map(drop)
    }
}

/// Result of a write. Most writes need nothing more once the object is gone.
enum Written {
    Done,
    Gone,
}

/// Goes on with the object as it was written.
fn took(
    object: &mut Option<EphemeralCluster>,
    name: &str,
    written: kube::Result<EphemeralCluster>,
) -> Result<Written, Cause> {
    match written {
        Ok(written) => {
            *object = Some(written);
            Ok(Written::Done)
        }
        Err(error) if is_object_not_found(&error, name) => Ok(Written::Gone),
        Err(error) => Err(error.into()),
    }
}
