//! Tokens of a ServiceAccount, issued by an API server. Edge.

use anyhow::Context as _;
use jiff::Timestamp;
use k8s_openapi::api::{
    authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec},
    core::v1::{Secret, ServiceAccount},
};
use kube::{Api, Client, api::PostParams};

use crate::access::describe_error;

/// Request of a token.
#[derive(Clone, Copy, Debug)]
pub struct HubTokenRequest<'a> {
    /// Namespace of the ServiceAccount.
    pub namespace: &'a str,
    /// Its name.
    pub account: &'a str,
    /// Secret in that namespace whose deletion ends the token.
    pub bound: Option<&'a str>,
    /// Lifetime in seconds; none: the API server's default.
    pub seconds: Option<i64>,
}

/// A token.
#[derive(Clone)]
pub struct IssuedToken {
    /// The token itself.
    pub token: String,
    /// Time of expiry.
    pub until: Timestamp,
}

/// Requests a token.
///
/// # Errors
/// If the API server issues none.
pub async fn issue_token(client: Client, request: &HubTokenRequest<'_>) -> anyhow::Result<IssuedToken> {
    let HubTokenRequest { namespace, account, bound, seconds } = *request;
    let bound = match bound {
        None => None,
        Some(name) => {
            let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
            let secret = secrets.get(name).await.map_err(describe_error);
            let secret = secret.with_context(|| {
                format!("cannot read Secret {namespace}/{name}, to which the token is to be bound")
            })?;
            Some(BoundObjectReference {
                api_version: Some("v1".into()),
                kind: Some("Secret".into()),
                name: Some(name.to_owned()),
                uid: secret.metadata.uid,
            })
        }
    };
    let spec = TokenRequestSpec {
        bound_object_ref: bound,
        expiration_seconds: seconds,
        ..TokenRequestSpec::default()
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(client, namespace);
    let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
    let issued = accounts.create_token_request(account, &PostParams::default(), &request).await;
    let issued = issued.map_err(describe_error).with_context(|| {
        format!("no token for ServiceAccount {namespace}/{account}; package/install/hub has the one of Konflux clusters")
    })?;
    let status = issued.status.unwrap_or_default();
    let token =
        status.token.filter(|token| !token.is_empty()).context("the API server answers without a token")?;
    let until = status.expiration_timestamp.context("the API server does not say when the token ends")?;
    Ok(IssuedToken { token, until: until.0 })
}
