//! The kubeconfig of a cluster's admin, and the one that is published in its place.

use std::fmt;

use serde_json::{Value, json};
use testplatform_apis::yaml::to_yaml;
use testplatform_runtime::redacted::Redacted;

use crate::credentials::kubeconfig::Kubeconfig;

/// Kubeconfig of a cluster's admin, which must not leave the hub: it can open a client and return the cluster's address, and nothing returns
/// its content.
#[derive(Clone, PartialEq, Eq)]
pub struct AdminKubeconfig(Redacted<Vec<u8>>);

impl AdminKubeconfig {
    /// Takes one, as it was read.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Redacted(bytes))
    }

    /// Parts of the kubeconfig that a client needs.
    ///
    /// # Errors
    /// If it is none, or one that would run something, read files, or trust anybody: the end of a sentence, without a word of what is in it.
    pub(super) fn read_parts(&self) -> Result<KubeconfigParts, &'static str> {
        KubeconfigParts::of(&self.0.0)
    }
}

impl fmt::Debug for AdminKubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a cluster is, and by what it is trusted. Nothing of it is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// URL of its API server.
    pub server: String,
    /// Certificates of its authorities, in base64; none where well-known ones vouch.
    pub authority: Option<String>,
    /// The name that its certificate has, where that is not the URL's.
    pub name: Option<String>,
}

impl Address {
    fn user_value(&self) -> Value {
        let mut cluster = json!({ "server": self.server });
        if let Some(authority) = &self.authority {
            cluster["certificate-authority-data"] = authority.as_str().into();
        }
        if let Some(name) = &self.name {
            cluster["tls-server-name"] = name.as_str().into();
        }
        cluster
    }
}

/// Parts of a kubeconfig that a client needs.
pub(super) struct KubeconfigParts {
    /// Where the cluster is.
    pub address: Address,
    user: Redacted<Value>,
}

impl KubeconfigParts {
    /// Reads the current context. Anything that is not understood is refused: no value is guessed or left to another parser.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, &'static str> {
        let kubeconfig = Kubeconfig::read(bytes)?;
        let (cluster, user) = kubeconfig.current().ok_or("has no current context")?;
        let text = |value: &Option<String>| value.clone().filter(|text| !text.is_empty());
        if cluster.insecure_skip_tls_verify == Some(true) {
            return Err("does not verify the API server");
        }
        if cluster.proxy_url.is_some() {
            return Err("uses a proxy");
        }
        let server = text(&cluster.server).filter(|url| url.starts_with("https://"));
        let address = Address {
            server: server.ok_or("has no https URL of an API server")?,
            authority: text(&cluster.certificate_authority_data),
            name: text(&cluster.tls_server_name),
        };
        let pair = [&user.client_certificate_data, &user.client_key_data].map(text);
        let user = match (text(&user.token), pair) {
            (Some(token), _) => json!({ "token": token }),
            (None, [Some(certificate), Some(key)]) => {
                json!({ "client-certificate-data": certificate, "client-key-data": key })
            }
            (None, _) => return Err("has neither a certificate with its key nor a token"),
        };
        Ok(Self { address, user: Redacted(user) })
    }

    /// The same as a kubeconfig, with nothing else in it.
    pub(super) fn value(&self) -> Value {
        render_kubeconfig(&self.address, "admin", &self.user.0)
    }
}

/// The kubeconfig that is published: an address and a token.
pub(super) fn token_kubeconfig(address: &Address, account: &str, token: &str) -> String {
    let kubeconfig = render_kubeconfig(address, account, &json!({ "token": token }));
    // JSON is YAML too; that the other cannot be written nothing in it brings about.
    to_yaml(&kubeconfig).unwrap_or_else(|_| kubeconfig.to_string())
}

fn render_kubeconfig(address: &Address, user: &str, credential: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "default",
        "clusters": [{ "name": "cluster", "cluster": address.user_value() }],
        "contexts": [{
            "name": "default", "context": { "cluster": "cluster", "namespace": "default", "user": user },
        }],
        "users": [{ "name": user, "user": credential }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::kubeconfig::rewrite_kubeconfig;

    const USER: &str = "client-certificate-data: Y2VydA==, client-key-data: c2VjcmV0";

    fn config(cluster: &str, user: &str) -> Vec<u8> {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: admin\nclusters: [{{name: c, cluster: {{{cluster}}}}}]\n\
             contexts: [{{name: admin, context: {{cluster: c, user: admin}}}}]\nusers: [{{name: admin, user: {{{user}}}}}]\n"
        )
        .into_bytes()
    }

    #[test]
    fn an_address_is_all_that_leaves() {
        let cluster = "server: 'https://api.c:6443', certificate-authority-data: UEVN";
        let admin = AdminKubeconfig::new(config(cluster, USER));
        assert_eq!(format!("{admin:?}"), "[redacted]");
        let parts = admin.read_parts().unwrap();
        let text = token_kubeconfig(&parts.address, "tpc-u", "t0k3n");
        assert!(!text.contains("c2VjcmV0") && !text.contains("Y2VydA"), "{text}");
        assert_eq!(rewrite_kubeconfig(text.as_bytes()).as_deref(), Ok(text.as_bytes()));
        // A published kubeconfig can be opened again, to revoke it.
        let again = KubeconfigParts::of(text.as_bytes()).unwrap();
        assert_eq!(again.address, parts.address);
        assert_eq!(again.value()["users"][0]["user"], json!({ "token": "t0k3n" }));
        assert_eq!(parts.value()["users"][0]["user"]["client-key-data"], "c2VjcmV0");
    }

    #[test]
    fn what_would_trust_run_or_read_anything_is_not_used() {
        let https = "server: 'https://c'";
        for (cluster, user, why) in [
            ("server: 'http://c'", USER, "https"),
            ("server: 'https://c', insecure-skip-tls-verify: true", USER, "does not verify"),
            ("server: 'https://c', proxy-url: 'http://p'", USER, "proxy"),
            ("server: 'https://c', certificate-authority: /etc/ca", USER, "files"),
            (https, "exec: {command: rm}", "run a program"),
            (https, "auth-provider: {name: gcp}", "run a program"),
            (https, "tokenFile: /token", "files"),
            (https, "username: admin, password: s3cret", "neither"),
            (https, "client-certificate-data: Y2VydA==", "without its key"),
        ] {
            let error = AdminKubeconfig::new(config(cluster, user)).read_parts().err().unwrap();
            assert!(error.contains(why), "{cluster} {user}: {error}");
        }
        for text in ["", "not ready", "clusters: [{name: c, cluster: {server: 'https://c'}}]\nusers: []\n"] {
            assert!(KubeconfigParts::of(text.as_bytes()).is_err(), "{text}");
        }
    }
}
