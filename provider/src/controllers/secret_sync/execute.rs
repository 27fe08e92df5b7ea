//! Reads the named Secrets of a tenant, and writes them on a hub. Each call may be repeated.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, Client, api::DeleteParams};
use testplatform_apis::byoc::{LABEL, SecretCopy};
use testplatform_runtime::{
    apply::create_params,
    error::{Cause, already_exists, is_forbidden, is_object_not_found},
    lookup,
};

use super::{contents::validate_keys, plan::SecretState};

/// Content that is copied: the named keys, after validation.
pub(super) type Content = BTreeMap<String, ByteString>;

/// Reads one Secret by its name.
pub(super) async fn read_secret(
    secrets: &Api<Secret>,
    parcel: &SecretCopy,
) -> Result<(SecretState, Content), Cause> {
    let none = |found| Ok((found, Content::new()));
    let secret = match lookup::get_opt(secrets, &parcel.from).await {
        Ok(Some(secret)) => secret,
        Ok(None) => return none(SecretState::Absent),
        // The tenant's permission is missing, which may change. A rejected credential of ours is something else.
        Err(error) if is_forbidden(&error) => return none(SecretState::Forbidden),
        Err(error) => return Err(Cause::about_secret(&error).at("the claims' API server")),
    };
    let ObjectMeta { uid, resource_version, .. } = secret.metadata;
    let data = secret.data.unwrap_or_default();
    let data = data.into_iter().map(|(key, value)| (key, value.0)).collect();
    let carried = match validate_keys(&parcel.keys, &data) {
        Ok(carried) => carried,
        Err(words) => return none(SecretState::Unfit(words)),
    };
    let revision = [uid, resource_version].map(Option::unwrap_or_default).join("/");
    Ok((
        SecretState::Whole(revision),
        carried.into_iter().map(|(key, value)| (key, ByteString(value))).collect(),
    ))
}

/// Writes one Secret on the hub, whatever its content was: there is no other writer, and the current content may not be read.
pub(super) async fn write_copy(
    client: &Client,
    namespace: &str,
    name: &str,
    data: Content,
) -> Result<(), Cause> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([(LABEL.to_owned(), "true".to_owned())])),
            ..ObjectMeta::default()
        },
        type_: Some("Opaque".into()),
        data: Some(data),
        ..Secret::default()
    };
    let written = match secrets.create(&create_params(), &secret).await {
        Err(error) if already_exists(&error) => secrets.replace(name, &create_params(), &secret).await,
        other => other,
    };
    written.map(|_| ()).map_err(|error| Cause::about_secret(&error).at("the hub"))
}

/// Removes one Secret from the hub. The whole namespace may be deleted before, and with it the permission to read. Returns whether it existed.
pub(super) async fn remove_copy(client: &Client, namespace: &str, name: &str) -> Result<bool, Cause> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    match secrets.delete(name, &DeleteParams::default()).await {
        Err(error) if is_object_not_found(&error, name) => Ok(false),
        other => other.map(|_| true).map_err(|error| Cause::about_secret(&error).at("the hub")),
    }
}
