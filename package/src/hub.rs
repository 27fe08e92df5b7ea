//! `cargo xpkg hub-kubeconfig`: the kubeconfig behind a ProviderConfig, with a token that ends.
//!
//! Input: a cluster, its CA and a token. Output: a kubeconfig with everything inline. Only [`token`] asks an API server.

use serde_json::{Value, json};

pub mod command;
pub mod token;

/// What a kubeconfig leads to, and as whom.
#[derive(Clone, PartialEq, Eq)]
pub struct Way<'a> {
    /// Address of the API server, as seen from where it will be used.
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

/// The kubeconfig. Everything is in it: a provider has no files beside it.
pub fn kubeconfig(way: &Way<'_>) -> Value {
    let Way { server, authority, account, namespace, token } = way;
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "hub", "cluster": { "server": server, "certificate-authority-data": authority } }],
        "users": [{ "name": account, "user": { "token": token } }],
        "contexts": [{ "name": "hub", "context": { "cluster": "hub", "user": account, "namespace": namespace } }],
        "current-context": "hub",
    })
}
