//! A client from a kubeconfig file. Errors never repeat what is in the file.

use std::{path::Path, time::Duration};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use thiserror::Error;

/// Why a kubeconfig cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("its kubeconfig cannot be used: {0}")]
pub struct Unusable(String);

/// A client for a kubeconfig's current context.
pub(super) async fn connect(path: &Path) -> Result<Client, Unusable> {
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| unusable(&error))?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.map_err(|error| unusable(&error))?;
    limit(&mut config);
    Client::try_from(config).map_err(|_| Unusable("no client can be made from it".to_owned()))
}

/// Limits to how long a call may take. It is sent once: whoever asked tries again later, and must not be held until then. A
/// connection that is silent is cut: watches are ended by the server after 290 s, so one that says nothing
/// for longer is cut, and an answer that has not begun by then never will.
pub fn limit(config: &mut Config) {
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    config.read_timeout = Some(Duration::from_mins(5));
}

/// Parsers like to quote what they did not understand, and here that may be a token.
fn unusable(error: &KubeconfigError) -> Unusable {
    let text = match error {
        KubeconfigError::ReadConfig(error, _) => format!("it cannot be read: {}", error.kind()),
        KubeconfigError::Parse(_) => "it is not a kubeconfig".to_owned(),
        KubeconfigError::CurrentContextNotSet => "it has no current context".to_owned(),
        KubeconfigError::LoadContext(_) => "its current context is not in it".to_owned(),
        KubeconfigError::LoadClusterOfContext(_) | KubeconfigError::MissingClusterUrl => {
            "the cluster of its current context is not in it".to_owned()
        }
        KubeconfigError::LoadCertificateAuthority(_)
        | KubeconfigError::LoadClientCertificate(_)
        | KubeconfigError::LoadClientKey(_)
        | KubeconfigError::ParseCertificates(_) => "a certificate or key in it cannot be read".to_owned(),
        _ => "something in it is not what it should be".to_owned(),
    };
    Unusable(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_of_a_broken_kubeconfig_is_repeated() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("build01");
        for text in [
            "users: [{name: a, user: {token: s3cret}]",
            "s3cret",
            "apiVersion: v1\nkind: Config\ncurrent-context: s3cret\n",
            "clusters: s3cret",
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: s3cret, user: b}}]\n",
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n\
             clusters: [{name: a, cluster: {server: 's3cret'}}]\nusers: [{name: a, user: {client-certificate-data: s3cret}}]",
        ] {
            std::fs::write(&path, text).unwrap();
            let error = connect(&path).await.err().expect(text);
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
        }
    }
}
