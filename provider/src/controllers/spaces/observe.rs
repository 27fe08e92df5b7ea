//! Observes a space through a client. Everything is read again in every reconcile; no secret is read at all.

use std::path::Path;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::{Api, core::PartialObjectMeta};
use testplatform_apis::{names::ours, space};
use testplatform_runtime::{
    error::{Cause, Reason},
    lookup,
};
use uuid::Uuid;

use super::plan::Space;
use crate::{
    config::Spaces,
    credentials::publish::{CredentialsNamespace, SecretOwner},
};

/// The ConfigMap in which every namespace has the certificates of its cluster.
pub(super) const ROOT_CA: &str = "kube-root-ca.crt";
/// The key in it.
const CA_KEY: &str = "ca.crt";
/// Kind of the owner of what is published.
pub const KIND: &str = "Namespace";

/// Owner of a published Secret.
pub(super) fn owner<'a>(name: &'a str, uid: &'a str) -> SecretOwner<'a> {
    SecretOwner { group: "", kind: KIND, namespace: "", name, uid }
}

/// Metadata of a namespace and of the Secret of its name.
pub(super) type Seen = (Option<PartialObjectMeta<Namespace>>, Option<PartialObjectMeta<Secret>>);

/// Reads both, the published Secret first: a Secret published after the read of its namespace would look orphaned.
pub(super) async fn read(vault: &CredentialsNamespace, name: &str) -> Result<Seen, Cause> {
    let namespaces: Api<Namespace> = Api::all(vault.client());
    let secret = lookup::get_metadata_opt(&vault.secrets(), &owner(name, "").secret_name()).await?;
    Ok((lookup::get_metadata_opt(&namespaces, name).await?, secret))
}

/// Relevant parts of a namespace.
pub(super) fn space(namespace: &PartialObjectMeta<Namespace>) -> Space {
    let metadata = &namespace.metadata;
    let label = |key: &str| metadata.labels.as_ref()?.get(key).map(String::as_str);
    let is_requested = label(space::NAMESPACE_TYPE) == Some(space::NAMESPACE_TYPE_VALUE)
        && label(ours::SPACE_ACCOUNT) == Some(space::SERVICE_ACCOUNT);
    Space {
        uid: metadata.uid.clone().unwrap_or_default(),
        requested: is_requested,
        is_deleted: metadata.deletion_timestamp.is_some(),
        revision: metadata.annotations.as_ref().and_then(|a| a.get(ours::CREDENTIALS_REVISION)).cloned(),
    }
}

/// The certificates by which tenants trust the API server. Not those of the ConfigMap in the space itself, which its tenant may change.
pub(super) async fn certificates(vault: &CredentialsNamespace, config: &Spaces) -> Result<Vec<u8>, Cause> {
    let bytes = if let Some(file) = &config.ca_file {
        from_file(file)?
    } else {
        let maps: Api<ConfigMap> = Api::namespaced(vault.client(), vault.namespace());
        let found = lookup::get_opt(&maps, ROOT_CA).await?.and_then(|map| map.data?.remove(CA_KEY));
        found.unwrap_or_default().into_bytes()
    };
    let pem = bytes.windows(11).any(|part| part == b"-----BEGIN ");
    let none = || Cause::new(Reason::NotFound, "the certificates of the API server are not known");
    pem.then_some(bytes).ok_or_else(none)
}

fn from_file(file: &Path) -> Result<Vec<u8>, Cause> {
    std::fs::read(file)
        .map_err(|error| Cause::new(Reason::NotFound, format!("cannot read {}: {error}", file.display())))
}

/// Fingerprint of the inputs of credentials except the token: a difference leads to new credentials.
pub(super) fn origin(server: &str, certificates: &[u8]) -> String {
    let all = [server.as_bytes(), b"\n", space::SERVICE_ACCOUNT.as_bytes(), b"\n", certificates].concat();
    Uuid::new_v5(&Uuid::NAMESPACE_URL, &all).to_string()
}
