//! Writes on ProwJobs. Their status is Prow's; the one thing that others write there is that a job is aborted.

use std::collections::BTreeMap;

use kube::api::{DynamicObject, Patch};
use serde_json::{Value, json};
use testplatform_runtime::{
    apply::{create_params, patch_params},
    error::{Cause, Reason, already_exists, is_object_not_found},
    lookup,
};

use super::Executor;
use crate::controllers::ephemeral_cluster::prow_job::JobState;

/// How often somebody else may be quicker. Prow writes a job a few times in its life.
const TRIES: usize = 3;

impl Executor {
    pub(super) async fn create_prow_job(&self, manifest: &Value) -> Result<(), Cause> {
        let job: DynamicObject = serde_json::from_value(manifest.clone())
            .map_err(|error| Cause::new(Reason::Bug, format!("the manifest is not an object: {error}")))?;
        match self.hub.dynamic_prow_jobs().create(&create_params(), &job).await {
            // The name derives from the uid of its EphemeralCluster: it is the same job.
            Err(error) if already_exists(&error) => Ok(()),
            other => Ok(other.map(|_| ())?),
        }
    }

    pub(super) async fn claim_prow_job(
        &self,
        name: &str,
        labels: &BTreeMap<String, String>,
        annotations: &BTreeMap<String, String>,
    ) -> Result<(), Cause> {
        let mut metadata = json!({});
        for (key, values) in [("labels", labels), ("annotations", annotations)] {
            if !values.is_empty() {
                metadata[key] = json!(values);
            }
        }
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        self.hub.prow_jobs().patch(name, &patch_params(), &patch).await?;
        Ok(())
    }

    pub(super) async fn abort_prow_job(&self, name: &str, description: &str) -> Result<(), Cause> {
        let mut tries = 1;
        loop {
            match self.try_abort(name, description).await {
                Err(cause) if cause.reason == Reason::Conflict && tries < TRIES => tries += 1,
                other => return other,
            }
        }
    }

    async fn try_abort(&self, name: &str, description: &str) -> Result<(), Cause> {
        let jobs = self.hub.prow_jobs();
        let Some(job) = lookup::get_opt(&jobs, name).await? else { return Ok(()) };
        if job.state().is_final() {
            return Ok(());
        }
        let patch = |version: Option<&String>| {
            // Without a completionTime, as upstream writes one: Prow leaves a completed job alone, its pod and all. It sets
            // the time itself when it has deleted the pod. Source: kubernetes-sigs/prow, pkg/plank.
            Patch::Merge(json!({
                "metadata": { "resourceVersion": version },
                "status": { "state": JobState::Aborted.as_str(), "description": description },
            }))
        };
        let version = job.metadata.resource_version.as_ref();
        let written = match jobs.patch(name, &patch_params(), &patch(version)).await {
            Err(error) if is_object_not_found(&error, name) => return Ok(()),
            other => other?,
        };
        if written.state() == JobState::Aborted {
            return Ok(());
        }
        // Upstream's definition of ProwJobs has no status subresource; the response is then the same as for a deleted job. If it has one, the
        // status was ignored.
        let version = written.metadata.resource_version.as_ref();
        match jobs.patch_status(name, &patch_params(), &patch(version)).await {
            Err(error) if is_object_not_found(&error, name) => Ok(()),
            other => Ok(other.map(|_| ())?),
        }
    }
}
