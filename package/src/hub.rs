//! `cargo xpkg hub-kubeconfig`: the kubeconfig behind a ProviderConfig, with an expiring token.
//!
//! Input: a cluster, its CA and a token. Output: a kubeconfig with everything inline. Only [`token`] calls an API server.

use serde_json::{Value, json};

pub mod command;
pub mod token;

/// Target and identity of a kubeconfig.
#[derive(Clone, PartialEq, Eq)]
pub struct KubeconfigTarget<'a> {
    /// Address of the API server, reachable by its users.
    pub server: &'a str,
    /// CA of the API server, PEM in base64.
    pub authority: &'a str,
    /// Name of the ServiceAccount.
    pub account: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its token.
    pub token: &'a str,
}

/// The kubeconfig. All data is inline, because a provider has no files next to it.
pub fn build_kubeconfig(way: &KubeconfigTarget<'_>) -> Value {
    let KubeconfigTarget { server, authority, account, namespace, token } = way;
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "hub", "cluster": { "server": server, "certificate-authority-data": authority } }],
        "users": [{ "name": account, "user": { "token": token } }],
        "contexts": [{ "name": "hub", "context": { "cluster": "hub", "user": account, "namespace": namespace } }],
        "current-context": "hub",
    })
}
