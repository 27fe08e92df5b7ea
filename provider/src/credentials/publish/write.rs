//! Publishes, withdraws and sweeps Secrets, and writes annotations. Each call may be repeated.

use std::{collections::BTreeMap, fmt::Debug};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Resource, api::Patch};
use serde::de::DeserializeOwned;
use serde_json::json;
use testplatform_runtime::{
    apply::patch_params,
    error::{Cause, is_object_not_found},
};

use super::{CredentialsNamespace, Labelled, SecretOwner};
use crate::credentials::{
    Credentials,
    account::{Issue, guest_limiter::GuestLimiter, revoke_tokens},
    secret::{SecretContent, write},
};

/// Creates or updates the Secret of an object.
pub(crate) async fn publish(
    vault: &CredentialsNamespace,
    owner: &SecretOwner<'_>,
    credentials: &Credentials,
) -> Result<(), Cause> {
    publish_content(vault, owner, &SecretContent::of(credentials)).await
}

/// Makes a token in the cluster, and then does the same with it.
pub(crate) async fn issue(
    vault: &CredentialsNamespace,
    owner: &SecretOwner<'_>,
    issue: &Issue,
    callers: &GuestLimiter,
    now: Timestamp,
) -> Result<(), Cause> {
    publish(vault, owner, &issue.issue_credentials(callers, now).await?).await
}

/// The same for any content.
pub(crate) async fn publish_content(
    vault: &CredentialsNamespace,
    owner: &SecretOwner<'_>,
    content: &SecretContent<'_>,
) -> Result<(), Cause> {
    let metadata =
        ObjectMeta { name: Some(owner.secret_name()), labels: Some(owner.labels()), ..ObjectMeta::default() };
    write(&vault.secrets(), metadata, content, |secret| owner.owns(secret)).await
}

/// Deletes the Secret of an object.
pub(crate) async fn withdraw(
    vault: &CredentialsNamespace,
    owner: &SecretOwner<'_>,
    callers: &GuestLimiter,
) -> Result<(), Cause> {
    let uid = |secret: &ObjectMeta| owner.owns(secret).is_ok().then(|| owner.uid.to_owned());
    revoke_tokens(callers, &vault.secrets(), &vault.secrets_metadata(), &owner.secret_name(), uid).await
}

/// Deletes the Secret of a deleted object. `gone` is its uid: a new object of the name may have been created and published since that was read.
pub async fn delete_orphaned_secret(
    vault: &CredentialsNamespace,
    name: &str,
    (group, kind): (&str, &str),
    deleted_uid: &str,
    callers: &GuestLimiter,
) -> Result<(), Cause> {
    let uid_of = |secret: &ObjectMeta| {
        let owner = Labelled::of(secret, group, kind).filter(|owner| owner.uid == deleted_uid)?;
        Some(owner.uid.to_owned())
    };
    revoke_tokens(callers, &vault.secrets(), &vault.secrets_metadata(), name, uid_of).await
}

/// Writes those annotations of an object that are not as they should be. Carries the version that was read, so that what was decided
/// on an old copy is refused. Returns whether anything was written.
pub(crate) async fn write_annotations<K>(
    api: &Api<K>,
    object: &ObjectMeta,
    wanted: impl IntoIterator<Item = (&'static str, Option<String>)>,
) -> Result<bool, Cause>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let stored = |key| object.annotations.as_ref()?.get(key).map(String::as_str);
    let differs = |(key, value): &(&'static str, Option<String>)| stored(*key) != value.as_deref();
    let changes: BTreeMap<&str, Option<String>> = wanted.into_iter().filter(differs).collect();
    if changes.is_empty() {
        return Ok(false);
    }
    let version = &object.resource_version;
    let patch = Patch::Merge(json!({ "metadata": { "annotations": changes, "resourceVersion": version } }));
    let name = object.name.as_deref().unwrap_or_default();
    match api.patch(name, &patch_params(), &patch).await {
        // A deleted ConfigMap needs nothing more.
        Err(error) if is_object_not_found(&error, name) => Ok(false),
        other => Ok(other.map(|_| true)?),
    }
}

/// Writes an annotation that nobody else writes, unless it is there already. Carries the uid alone: others write on the object every few
/// seconds, and the annotation depends on nothing of it.
pub(crate) async fn write_own_annotation<K>(
    api: &Api<K>,
    object: &ObjectMeta,
    (key, value): (&'static str, String),
) -> Result<(), Cause>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    if object.annotations.as_ref().and_then(|stored| stored.get(key)) == Some(&value) {
        return Ok(());
    }
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { key: value }, "uid": object.uid } }));
    let name = object.name.as_deref().unwrap_or_default();
    match api.patch(name, &patch_params(), &patch).await {
        // A deleted object needs nothing more.
        Err(error) if is_object_not_found(&error, name) => Ok(()),
        other => Ok(other.map(drop)?),
    }
}
