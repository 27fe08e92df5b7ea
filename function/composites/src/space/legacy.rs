//! Spaces of the incumbent. Their token is in a Secret in the space itself and never expires. Running pipelines use it, so it stays.

use prost::bytes::Bytes;
use serde_json::{Value, json};
use testplatform_apis::{
    foreign::object::{AnyRemote, Object},
    names::ObjectName,
    space::{self, keys},
};

use super::{SECRET, SpaceCredentials, SpaceState};

/// Whether its Object carries something. In its first pass the incumbent writes `<no value>` for the name, which no hub takes.
pub(super) fn carries_token(object: &Object<AnyRemote>) -> bool {
    let manifest = &object.spec.for_provider.manifest;
    manifest["metadata"]["name"].as_str().is_some_and(|name| ObjectName::try_from(name).is_ok())
}

/// Credentials, composed as the incumbent does once token and URL are known. Existing ones of the tenant are repeated byte for byte while
/// they are equivalent.
pub(super) fn legacy_credentials(observed: &SpaceState, namespace: &str) -> Option<SpaceCredentials> {
    if !observed.is_legacy() {
        return None;
    }
    let read = &observed.objects.get(SECRET)?.details;
    let (token, server) = (read.get(keys::TOKEN)?, read.get(keys::API_SERVER)?);
    let given = &observed.details;
    let same = |key: &str, value: &Bytes| given.get(key) == Some(value);
    if given.is_complete() && same(keys::TOKEN, token) && same(keys::API_SERVER, server) {
        return Some(given.clone());
    }
    let text = |bytes: &Bytes| Value::from(String::from_utf8_lossy(bytes));
    let account = space::SERVICE_ACCOUNT;
    // JSON is YAML in which nothing can be taken for something else.
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "default",
        "clusters": [{ "name": "eaas-cluster", "cluster": { "server": text(server) } }],
        "contexts": [{
            "name": "default",
            "context": { "cluster": "eaas-cluster", "namespace": namespace, "user": account },
        }],
        "users": [{ "name": account, "user": { "token": text(token) } }],
    });
    Some(SpaceCredentials::of([
        (keys::API_SERVER, server.clone()),
        (keys::KUBECONFIG, kubeconfig.to_string().into()),
        (keys::NAMESPACE, namespace.to_owned().into()),
        (keys::SERVICE_ACCOUNT, account.into()),
        (keys::TOKEN, token.clone()),
    ]))
}
