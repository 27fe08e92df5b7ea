//! A client from a kubeconfig file. Errors never repeat what is in the file.

use std::{path::Path, time::Duration};

use http::Uri;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use serde_json::Value;
use thiserror::Error;

/// Why a kubeconfig cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("its kubeconfig cannot be used: {0}")]
pub struct ClientError(String);

/// Trust in an API server whose kubeconfig has no certificate authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// None: images have no bundle of authorities.
    Kubeconfig,
    /// A bundle that an administrator gave, in `SSL_CERT_FILE`.
    Bundle,
}

/// A client for a kubeconfig's current context.
pub async fn connect_cluster(path: &Path, trust: Trust) -> Result<Client, ClientError> {
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| client_error(&error))?;
    let mut config = build_config(kubeconfig).await.map_err(|error| client_error(&error))?;
    set_timeouts(&mut config);
    check_authority(&config, trust)?;
    Client::try_from(config).map_err(|_| ClientError("no client can be made from it".to_owned()))
}

/// Client configuration for the current context of a kubeconfig. A proxy of the environment, in `HTTPS_PROXY`, is not used: no client here
/// supports one, and with it no client would be created.
///
/// # Errors
/// If nothing can be made of the kubeconfig.
pub async fn build_config(kubeconfig: Kubeconfig) -> Result<Config, KubeconfigError> {
    let named = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref()?.proxy_url.clone());
    let named: Vec<String> = named.collect();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    drop_proxy(&mut config, &named);
    Ok(config)
}

/// Takes away a proxy that the kubeconfig does not name. With one that it does, no client is made: who names one does not want to go without.
fn drop_proxy(config: &mut Config, named: &[String]) {
    let own = |url: &Uri| named.iter().any(|named| named.parse::<Uri>().is_ok_and(|named| named == *url));
    config.proxy_url = config.proxy_url.take().filter(own);
}

/// Expiry of the bearer token of a kubeconfig's current context, as the token itself says. None without such a token: certificates and programs
/// renew themselves or are an administrator's to watch.
pub fn token_expiry(kubeconfig: &Kubeconfig) -> Option<Timestamp> {
    let context =
        kubeconfig.contexts.iter().find(|named| Some(&named.name) == kubeconfig.current_context.as_ref());
    let user = context?.context.as_ref()?.user.as_ref()?;
    let named = kubeconfig.auth_infos.iter().find(|named| named.name == *user)?;
    let info = serde_json::to_value(named.auth_info.as_ref()?).ok()?;
    let claims = info["token"].as_str()?.split('.').nth(1)?;
    // Base64 for URLs and without padding. The decoder knows the common alphabet.
    let mut common = claims.replace('-', "+").replace('_', "/");
    common.extend(std::iter::repeat_n('=', (4 - common.len() % 4) % 4));
    let ByteString(bytes) = serde_json::from_value(Value::String(common)).ok()?;
    let claims: Value = serde_json::from_slice(&bytes).ok()?;
    Timestamp::from_second(claims["exp"].as_i64()?).ok()
}

/// Sets timeouts. A call is sent once: the caller retries later, and must not be blocked until then. A silent connection is cut: servers end
/// watches after 290 s, so a longer silence means a broken connection, and a response that has not started by then never will.
pub fn set_timeouts(config: &mut Config) {
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    config.read_timeout = Some(Duration::from_mins(5));
}

/// Checks that a certificate authority covers the API server. Without one every call would fail with an incomprehensible error.
///
/// # Errors
/// Fails if there is none.
pub fn check_authority(config: &Config, trust: Trust) -> Result<(), ClientError> {
    let asks = config.cluster_url.scheme_str() != Some("http") && !config.accept_invalid_certs;
    if asks && trust == Trust::Kubeconfig && config.root_cert.is_none() {
        let text =
            "it has no certificate-authority-data; add it, or name a bundle of authorities in SSL_CERT_FILE";
        return Err(ClientError(text.to_owned()));
    }
    Ok(())
}

/// Parsers like to quote what they did not understand, and here that may be a token.
fn client_error(error: &KubeconfigError) -> ClientError {
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
    ClientError(text)
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
            let error = connect_cluster(&path, Trust::Bundle).await.err().expect(text);
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
        }
    }

    /// Values that kube reads from the environment look like values from the file.
    #[test]
    fn the_environment_s_proxy_keeps_no_client_from_being_made() {
        let proxy: Uri = "http://proxy:3128".parse().unwrap();
        for (named, usable) in
            [(None, true), (Some("http://another:3128"), true), (Some("http://proxy:3128"), false)]
        {
            let mut config = Config::new("https://a".parse().unwrap());
            config.proxy_url = Some(proxy.clone());
            drop_proxy(&mut config, &named.map(str::to_owned).into_iter().collect::<Vec<_>>());
            assert_eq!(config.proxy_url.is_none(), usable, "{named:?}");
        }
    }

    #[test]
    fn a_token_says_when_it_expires() {
        // {"exp":1767225600,"sub":"a?~"}: with a character that differs between the alphabets.
        let ends = "e30.eyJleHAiOjE3NjcyMjU2MDAsInN1YiI6ImE_fiJ9.c2ln";
        let cases = [
            (format!("{{token: {ends}}}"), Some("2026-01-01T00:00:00Z")),
            ("{token: e30.e30.c2ln}".to_owned(), None),
            ("{token: opaque}".to_owned(), None),
            ("{username: a, password: b}".to_owned(), None),
        ];
        for (user, expires) in cases {
            let text = format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: b}}}}]\n\
                 users: [{{name: c, user: {{token: x}}}}, {{name: b, user: {user}}}]"
            );
            let found = token_expiry(&Kubeconfig::from_yaml(&text).unwrap());
            assert_eq!(found, expires.map(|at| at.parse().unwrap()), "{user}");
        }
    }

    #[tokio::test]
    async fn somebody_vouches_for_an_api_server() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("build01");
        let kubeconfig = |cluster: &str| {
            format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
                 clusters: [{{name: a, cluster: {cluster}}}]\nusers: [{{name: a, user: {{token: t}}}}]"
            )
        };
        let authority = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.pem();
        let named = format!("{{server: 'https://a', certificate-authority-data: {}}}", base64(&authority));
        let unnamed = "{server: 'https://a'}";
        for (cluster, trust, usable) in [
            (unnamed, Trust::Kubeconfig, false),
            (unnamed, Trust::Bundle, true),
            (&named, Trust::Kubeconfig, true),
            ("{server: 'http://a'}", Trust::Kubeconfig, true),
        ] {
            std::fs::write(&path, kubeconfig(cluster)).unwrap();
            let said = connect_cluster(&path, trust).await.err().map(|error| error.to_string());
            assert_eq!(said.is_none(), usable, "{cluster}: {said:?}");
            assert!(said.is_none_or(|said| said.contains("SSL_CERT_FILE")), "what to do");
        }
    }

    fn base64(text: &str) -> String {
        let bytes = k8s_openapi::ByteString(text.as_bytes().to_vec());
        serde_json::to_value(bytes).unwrap().as_str().unwrap().to_owned()
    }
}
