//! Published Secrets: content, writes, removal, and the part of them that is cached.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api,
    api::{DeleteParams, Patch, Preconditions},
    core::PartialObjectMeta,
};
use serde_json::{Map, Value, json};
use testplatform_apis::names::{keys, ours};
use testplatform_runtime::{
    apply::{create_params, patch_params},
    error::{Cause, Reason, already_exists, is_object_not_found},
    lookup,
};

use super::Credentials;

/// Labels and annotations of this project.
pub(crate) const PREFIX: &str = "testplatform.ci.openshift.org/";

/// Metadata of a Secret.
pub type SecretMeta = PartialObjectMeta<Secret>;

/// Desired content of a Secret.
pub(crate) struct SecretContent<'a> {
    /// By their keys.
    pub data: BTreeMap<String, ByteString>,
    /// Revision of the source, as recorded on the Secret.
    pub revision: &'a str,
}

impl<'a> SecretContent<'a> {
    /// The credentials of a cluster.
    pub fn of(credentials: &'a Credentials) -> Self {
        Self { data: data(credentials), revision: &credentials.source_revision }
    }
}

/// Creates a Secret with credentials, or updates it if `ours` permits. `owned` is its metadata, which names its owner.
pub(crate) async fn write(
    secrets: &Api<Secret>,
    owned: ObjectMeta,
    content: &SecretContent<'_>,
    ours: impl Fn(&ObjectMeta) -> Result<(), String>,
) -> Result<(), Cause> {
    let name = owned.name.clone().unwrap_or_default();
    let stored = lookup::get_opt(secrets, &name).await.map_err(|error| Cause::about_secret(&error))?;
    let Some(stored) = stored else {
        return match secrets.create(&create_params(), &published(owned, content)).await {
            // Somebody was quicker: whose it is, the next pass will see.
            Err(error) if already_exists(&error) => {
                Err(Cause::new(Reason::Conflict, "a Secret of that name has just been created"))
            }
            other => other.map(|_| ()).map_err(|error| Cause::about_secret(&error)),
        };
    };
    ours(&stored.metadata).map_err(|whose| Cause::new(Reason::Foreign, whose))?;
    let Some(patch) = content_patch(&stored, content) else { return Ok(()) };
    let patched = secrets.patch(&name, &patch_params(), &Patch::Merge(patch)).await;
    patched.map(|_| ()).map_err(|error| Cause::about_secret(&error))
}

/// Deletes a Secret if it is ours, and it is still that one.
pub(crate) async fn remove(
    secrets: &Api<PartialObjectMeta<Secret>>,
    name: &str,
    is_ours: impl Fn(&ObjectMeta) -> bool,
) -> Result<(), Cause> {
    let Some(stored) = lookup::get_metadata_opt(secrets, name).await? else { return Ok(()) };
    if !is_ours(&stored.metadata) {
        return Ok(());
    }
    let this = Preconditions { uid: stored.metadata.uid, resource_version: None };
    match secrets.delete(name, &DeleteParams::default().preconditions(this)).await {
        Err(error) if is_object_not_found(&error, name) => Ok(()),
        other => Ok(other.map(|_| ())?),
    }
}

/// Revision of the source, as recorded on a published Secret.
pub fn source_revision(metadata: &ObjectMeta) -> Option<&String> {
    metadata.annotations.as_ref()?.get(ours::SOURCE_REVISION)
}

/// Keeps only owner and revision of a Secret: there may be thousands.
pub fn slim_secret(metadata: &mut ObjectMeta) {
    let mut full = std::mem::take(metadata);
    for labels in [&mut full.labels, &mut full.annotations].into_iter().flatten() {
        labels.retain(|key, _| key.starts_with(PREFIX));
    }
    *metadata = ObjectMeta {
        name: full.name,
        namespace: full.namespace,
        uid: full.uid,
        resource_version: full.resource_version,
        labels: full.labels,
        annotations: full.annotations,
        ..ObjectMeta::default()
    };
}

fn published(owned: ObjectMeta, content: &SecretContent<'_>) -> Secret {
    let annotation = (ours::SOURCE_REVISION.to_owned(), content.revision.to_owned());
    Secret {
        metadata: ObjectMeta { annotations: Some(BTreeMap::from([annotation])), ..owned },
        type_: Some("Opaque".into()),
        data: Some(content.data.clone()),
        ..Secret::default()
    }
}

/// Data of the published Secret.
pub fn data(credentials: &Credentials) -> BTreeMap<String, ByteString> {
    BTreeMap::from([
        (keys::KUBECONFIG.to_owned(), ByteString(credentials.kubeconfig.0.clone())),
        (keys::KUBEADMIN_PASSWORD.to_owned(), ByteString(credentials.password.0.clone())),
    ])
}

/// Merge patch for the published Secret; None if nothing differs.
fn content_patch(stored: &Secret, content: &SecretContent<'_>) -> Option<Value> {
    let wanted = &content.data;
    let has = stored.data.as_ref();
    let revision = stored.metadata.annotations.as_ref().and_then(|a| a.get(ours::SOURCE_REVISION));
    if has == Some(wanted) && revision.map(String::as_str) == Some(content.revision) {
        return None;
    }
    // Only these keys: all others are somebody else's.
    let mut data: Map<String, Value> =
        has.into_iter().flatten().map(|(key, _)| (key.clone(), Value::Null)).collect();
    data.extend(wanted.iter().map(|(key, value)| (key.clone(), json!(value))));
    Some(json!({
        "metadata": {
            "resourceVersion": stored.metadata.resource_version,
            "annotations": { ours::SOURCE_REVISION: content.revision },
        },
        "data": data,
    }))
}
