//! Step → client: a token, the published Secret, and one annotation of the namespace.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::{
    ByteString,
    api::{
        authentication::v1::{TokenRequest, TokenRequestSpec},
        core::v1::{Namespace, ServiceAccount},
    },
};
use kube::{Api, api::PostParams, core::PartialObjectMeta};
use testplatform_apis::{
    names::ours,
    space::{self, keys},
};
use testplatform_runtime::error::{Cause, Reason};

use super::{kubeconfig::kubeconfig, observe::owner, plan::SpaceFingerprint};
use crate::{
    config::Spaces,
    credentials::{
        publish::{CredentialsNamespace, write},
        secret::SecretContent,
    },
};

/// The hub as tenants see it.
pub(super) struct PublicApiServer<'a> {
    /// URL of its API server.
    pub server: &'a str,
    /// By what it is trusted.
    pub certificates: &'a [u8],
    /// Fingerprint of both and the account.
    pub origin: String,
}

/// Asks for a token, puts the credentials together and publishes them.
pub(super) async fn issue(
    vault: &CredentialsNamespace,
    config: &Spaces,
    site: &PublicApiServer<'_>,
    (name, uid): (&str, &str),
    now: Timestamp,
) -> Result<SpaceFingerprint, Cause> {
    let accounts: Api<ServiceAccount> = Api::namespaced(vault.client(), name);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(config.token_lifetime.as_signed().as_secs()),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let account = space::SERVICE_ACCOUNT;
    let answer = accounts.create_token_request(account, &PostParams::default(), &request).await;
    let answer = answer.map_err(|error| Cause::about_secret(&error))?;
    let issued = answer.status.and_then(|status| status.token.zip(status.expiration_timestamp));
    let (token, expires) = issued
        .filter(|(token, _)| !token.is_empty())
        .ok_or_else(|| Cause::new(Reason::Server, "the API server gave no token"))?;
    let stamp = SpaceFingerprint { issued: now, expires: expires.0, origin: site.origin.clone() };
    let config = kubeconfig(site.server, site.certificates, name, account, &token)
        .map_err(|why| Cause::new(Reason::Bug, why))?;
    let value = |text: &str| ByteString(text.as_bytes().to_vec());
    let data = BTreeMap::from(
        [
            (keys::API_SERVER, value(site.server)),
            (keys::KUBECONFIG, value(&config)),
            (keys::NAMESPACE, value(name)),
            (keys::SERVICE_ACCOUNT, value(account)),
            (keys::TOKEN, value(&token)),
        ]
        .map(|(key, value)| (key.to_owned(), value)),
    );
    let revision = stamp.to_string();
    write::publish_content(vault, &owner(name, uid), &SecretContent { data, revision: &revision }).await?;
    Ok(stamp)
}

/// Notes a revision on the namespace, where provider-kubernetes sees it.
pub(super) async fn record_revision(
    vault: &CredentialsNamespace,
    namespace: &PartialObjectMeta<Namespace>,
    revision: String,
) -> Result<(), Cause> {
    let api: Api<PartialObjectMeta<Namespace>> = Api::all(vault.client());
    write::write_annotations(&api, &namespace.metadata, [(ours::CREDENTIALS_REVISION, Some(revision))])
        .await?;
    Ok(())
}
