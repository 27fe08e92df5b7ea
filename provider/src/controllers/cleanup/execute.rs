//! Writes to a claim. Each may be repeated.
//!
//! Responses are parsed like claims: kube's metadata type includes the managed fields, which may be nested too deep for it.

use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::json;
use testplatform_apis::{claim::API_VERSION, names::ours};
use testplatform_runtime::{
    apply::patch_params,
    error::{Cause, is_object_not_found},
};

use crate::sparse_object::PartialObject;

/// Field manager of `spec.tearDownCluster`: a separate one, so that no other apply removes the field unnoticed.
pub const FIELD_MANAGER: &str = "provider-testplatform-cleanup";
/// Reason of an API server for a field that somebody else has set to another value.
const FIELD_MANAGER_CONFLICT: &str = "FieldManagerConflict";

/// A claim as it was read: a decision on an older one is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The version that was read.
    pub version: String,
}

/// Writes or removes the annotation. Returns the claim's new version; None if it is deleted.
pub(super) async fn write_annotation(
    api: &Api<PartialObject>,
    claim: &Identity,
    text: Option<&str>,
) -> Result<Option<String>, Cause> {
    let Identity { name, uid, version, .. } = claim;
    let patch = Patch::Merge(json!({ "metadata": {
        "annotations": { ours::CLEANUP_SINCE: text }, "uid": uid, "resourceVersion": version,
    } }));
    match api.patch(name, &patch_params(), &patch).await {
        Err(error) if is_object_not_found(&error, name) => Ok(None),
        other => Ok(other?.metadata.resource_version),
    }
}

/// Sets `spec.tearDownCluster`, by an apply without force: another manager's value stays. Returns whether it is set now; false: another manager
/// owns it. Since it contains the uid, the apply cannot recreate a deleted claim.
pub(super) async fn tear_down(
    api: &Api<PartialObject>,
    claim: &Identity,
    version: &str,
) -> Result<bool, Cause> {
    let Identity { kind, namespace, name, uid, .. } = claim;
    let patch = Patch::Apply(json!({
        "apiVersion": API_VERSION, "kind": kind,
        "metadata": { "name": name, "namespace": namespace, "uid": uid, "resourceVersion": version },
        "spec": { "tearDownCluster": true },
    }));
    match api.patch(name, &PatchParams::apply(FIELD_MANAGER), &patch).await {
        Err(error) if is_field_conflict(&error) => Ok(false),
        other => Ok(other.map(|_| true)?),
    }
}

/// Whether an apply was refused because a field is somebody else's.
fn is_field_conflict(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 409 && causes.into_iter().any(|cause| cause.reason == FIELD_MANAGER_CONFLICT)
}
