//! The identity service over HTTP: version 3 of OpenStack's Identity API, of it tokens and application credentials.
//!
//! Each call is sent once, takes at most [`CALL`], and reads at most [`MOST`] of the response. Only a few cleaned words of a response are
//! reported, and none if one of our secrets is among them.

use std::time::Duration;

use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use jiff::Timestamp;
use kube::{Client, client::Body, config::Kubeconfig};
use serde_json::{Value, json};
use testplatform_apis::redact::redact_text;
use testplatform_runtime::{
    client::{Trust, build_config, check_authority, set_timeouts},
    redacted::Redacted,
};
use tokio::time::timeout;

use super::{
    clouds::{Cloud, Proof},
    plan::{CredentialCheck, DeletionResult, IdentityError},
};

/// How long one call may take.
pub const CALL: Duration = Duration::from_secs(10);
/// The most that is read of an answer: tokens come with a catalogue of everything that the cloud has.
pub const MOST: usize = 1 << 20;
/// Maximum length of a reported response, in characters.
const MAX_MESSAGE: usize = 200;
/// Maximum length of an id; it becomes a path segment.
const LONGEST_ID: usize = 255;

/// Somebody whom the identity service has let in.
pub struct Session {
    client: Client,
    token: HeaderValue,
    /// Id of the user.
    pub user: String,
    /// Secrets that must never be reported.
    secrets: Vec<Redacted<String>>,
}

/// A credential that the identity service has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCredential {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// A credential that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedCredential {
    /// Its id.
    pub id: String,
    /// Its secret, which is never returned again.
    pub secret: Redacted<String>,
}

struct IdentityResponse {
    code: StatusCode,
    token: Option<HeaderValue>,
    body: Value,
}

async fn build_client(cloud: &Cloud) -> Result<Client, IdentityError> {
    const NOT: &str = "has an auth_url or certificates that cannot be used";
    let unusable = |why: &str| IdentityError::Unusable(why.to_owned());
    let read: Kubeconfig = serde_json::from_value(cloud.client_config()).map_err(|_| unusable(NOT))?;
    let config = build_config(read).await;
    let mut config = config.map_err(|_| unusable(NOT))?;
    set_timeouts(&mut config);
    let bundle = std::env::var_os("SSL_CERT_FILE").is_some();
    let trust = if bundle { Trust::Bundle } else { Trust::Kubeconfig };
    check_authority(&config, trust)
        .map_err(|_| unusable("has no key cacert, and no bundle of authorities is configured"))?;
    Client::try_from(config).map_err(|_| unusable(NOT))
}

async fn send_request(
    client: &Client,
    method: Method,
    path: &str,
    token: Option<&HeaderValue>,
    body: &Value,
) -> Result<IdentityResponse, IdentityError> {
    let mut request = Request::builder().method(method).uri(path).header("accept", "application/json");
    if let Some(token) = token {
        request = request.header("x-auth-token", token.clone());
    }
    let bytes = if body.is_null() {
        Vec::new()
    } else {
        request = request.header("content-type", "application/json");
        body.to_string().into_bytes()
    };
    let request =
        request.body(Body::from(bytes)).map_err(|_| IdentityError::Refused("no such path".into()))?;
    let answered = async {
        let answer = client.send(request).await.map_err(|_| IdentityError::Unreachable)?;
        let (mut parts, body) = answer.into_parts();
        let read =
            Limited::new(body, MOST).collect().await.map_err(|error| response_fault(error.as_ref()))?;
        let token = parts.headers.remove("x-subject-token").map(|mut token| {
            token.set_sensitive(true);
            token
        });
        let body = serde_json::from_slice(&read.to_bytes()).unwrap_or_default();
        Ok(IdentityResponse { code: parts.status, token, body })
    };
    timeout(CALL, answered).await.unwrap_or(Err(IdentityError::Unreachable))
}

/// Why an answer could not be read.
fn response_fault(error: &(dyn std::error::Error + 'static)) -> IdentityError {
    if error.is::<LengthLimitError>() { IdentityError::TooLarge } else { IdentityError::Unreachable }
}

/// Escapes a path segment, so that its content cannot lead elsewhere.
fn id(value: &Value) -> Option<String> {
    let id = value.as_str()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (!id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(plain)).then(|| id.to_owned())
}

/// Error for an unexpected response.
fn refusal_fault(answer: &IdentityResponse, secrets: &[Redacted<String>]) -> IdentityError {
    let message = answer.body["error"]["message"].as_str().unwrap_or_default();
    let contains_secret = secrets.iter().any(|secret| !secret.0.is_empty() && message.contains(&secret.0));
    let message = if contains_secret { String::new() } else { redact_text(message, MAX_MESSAGE) };
    let code = answer.code.as_u16();
    match code {
        401 => IdentityError::Unknown,
        403 => IdentityError::Forbidden,
        409 => IdentityError::Taken,
        429 | 500.. => IdentityError::Unreachable,
        _ if message.is_empty() => IdentityError::Refused(code.to_string()),
        _ => IdentityError::Refused(format!("{code}: {message}")),
    }
}

/// Has the identity service let somebody in.
///
/// # Errors
/// Fails if the service does not accept the credential. A missing credential is answered with 401 or, for an application credential, with 404.
pub async fn sign_in(cloud: &Cloud) -> Result<Session, IdentityError> {
    let client = build_client(cloud).await?;
    let secrets = vec![Redacted(cloud.proof.secret().to_owned())];
    let answer =
        send_request(&client, Method::POST, "/auth/tokens", None, &cloud.proof.auth_request()).await?;
    match answer.code {
        StatusCode::CREATED | StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Err(IdentityError::Unknown),
        _ => return Err(refusal_fault(&answer, &secrets)),
    }
    let token = &answer.body["token"];
    if let Proof::Application { id, .. } = &cloud.proof {
        // Older versions do not report it.
        let reported_id = token["application_credential"]["id"].as_str();
        if reported_id.is_some_and(|reported_id| reported_id != id) {
            return Err(IdentityError::Refused("the token is another one's".into()));
        }
    }
    let user = id(&token["user"]["id"]);
    match (answer.token, user) {
        (Some(token), Some(user)) => Ok(Session { client, token, user, secrets }),
        (None, _) | (_, None) => Err(IdentityError::Refused("the answer has no token or no user".into())),
    }
}

/// Whether the identity service lets somebody in.
pub async fn probe_credential(cloud: &Cloud) -> CredentialCheck {
    match sign_in(cloud).await {
        Ok(_) => CredentialCheck::Works,
        Err(IdentityError::Unreachable | IdentityError::TooLarge) => CredentialCheck::Unknown,
        Err(
            IdentityError::Unknown
            | IdentityError::Forbidden
            | IdentityError::Refused(_)
            | IdentityError::Taken
            | IdentityError::Unusable(_)
            | IdentityError::Unverified,
        ) => CredentialCheck::Invalid,
    }
}

impl Session {
    async fn call(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<IdentityResponse, IdentityError> {
        send_request(&self.client, method, path, Some(&self.token), body).await
    }

    /// The application credentials of the user. The service has no pages of them, and filters by whole names alone; ours are many.
    ///
    /// # Errors
    /// If it does not answer with them.
    pub async fn list_credentials(&self) -> Result<Vec<ListedCredential>, IdentityError> {
        let path = format!("/users/{}/application_credentials", self.user);
        let answer = self.call(Method::GET, &path, &Value::Null).await?;
        let all = answer.body["application_credentials"].as_array();
        match (answer.code, all) {
            (StatusCode::OK, Some(all)) => {
                let one = |one: &Value| {
                    Some(ListedCredential { id: id(&one["id"])?, name: one["name"].as_str()?.to_owned() })
                };
                Ok(all.iter().filter_map(one).collect())
            }
            // It is no answer of an identity service.
            (StatusCode::OK, None) => Err(IdentityError::Unreachable),
            _ => Err(refusal_fault(&answer, &self.secrets)),
        }
    }

    /// Makes an application credential that can make no others.
    ///
    /// # Errors
    /// If it was not made; after [`IdentityError::Unreachable`] it may have been.
    pub async fn create_credential(
        &self,
        name: &str,
        roles: &[String],
        expires: Option<Timestamp>,
    ) -> Result<CreatedCredential, IdentityError> {
        let mut wanted = json!({ "name": name, "unrestricted": false, "description": "of a test cluster" });
        if !roles.is_empty() {
            wanted["roles"] = roles.iter().map(|role| json!({ "name": role })).collect();
        }
        if let Some(at) = expires {
            // In UTC, without saying so.
            wanted["expires_at"] = at.strftime("%Y-%m-%dT%H:%M:%S.000000").to_string().into();
        }
        let path = format!("/users/{}/application_credentials", self.user);
        let answer = self.call(Method::POST, &path, &json!({ "application_credential": wanted })).await?;
        if answer.code != StatusCode::CREATED {
            return Err(refusal_fault(&answer, &self.secrets));
        }
        let made = &answer.body["application_credential"];
        let secret = made["secret"].as_str().filter(|secret| !secret.is_empty());
        match (id(&made["id"]), secret) {
            (Some(id), Some(secret)) => Ok(CreatedCredential { id, secret: Redacted(secret.to_owned()) }),
            // It was made, and will be found by its name.
            (None, _) | (_, None) => Err(IdentityError::Unreachable),
        }
    }

    /// Deletes an application credential of a user. That of another user only administrators may.
    pub async fn delete_credential(&self, user: &str, credential: &str) -> DeletionResult {
        let ids = (id(&user.into()), id(&credential.into()));
        let (Some(user), Some(credential)) = ids else { return DeletionResult::Left };
        let path = format!("/users/{user}/application_credentials/{credential}");
        match self.call(Method::DELETE, &path, &Value::Null).await {
            Ok(answer) => match answer.code {
                code if code.is_success() || code == StatusCode::NOT_FOUND => DeletionResult::Gone,
                StatusCode::UNAUTHORIZED => DeletionResult::Nobody,
                StatusCode::TOO_MANY_REQUESTS => DeletionResult::Unreachable,
                code if code.is_server_error() => DeletionResult::Unreachable,
                _ => DeletionResult::Left,
            },
            Err(_) => DeletionResult::Unreachable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_an_answer_is_short_and_no_secret() {
        let answer = |code: u16, message: &str| IdentityResponse {
            code: StatusCode::from_u16(code).unwrap(),
            token: None,
            body: json!({ "error": { "message": message } }),
        };
        let secrets = [Redacted("hunter2".to_owned())];
        let refused = |code, message: &str| refusal_fault(&answer(code, message), &secrets);
        assert_eq!(refused(401, "x"), IdentityError::Unknown);
        assert_eq!(refused(403, "x"), IdentityError::Forbidden);
        assert_eq!(refused(503, "x"), IdentityError::Unreachable);
        assert_eq!(refused(400, "no role\n member"), IdentityError::Refused("400: no role member".into()));
        assert_eq!(refused(400, "you said hunter2"), IdentityError::Refused("400".into()));
        let IdentityError::Refused(long) = refused(400, &"ä ".repeat(9_000)) else { panic!() };
        assert!(long.chars().count() < 210);
    }

    #[tokio::test]
    async fn an_answer_that_is_too_large_is_no_silence() {
        let read = |most| Limited::new(http_body_util::Full::new(&b"0123456789"[..]), most).collect();
        assert_eq!(response_fault(read(9).await.unwrap_err().as_ref()), IdentityError::TooLarge);
        assert_eq!(read(10).await.unwrap().to_bytes().len(), 10);
        assert_eq!(response_fault(&std::io::Error::other("reset")), IdentityError::Unreachable);
    }

    #[test]
    fn an_id_leads_nowhere_else() {
        for not in ["", "..", "a/b", "a?b", "a%2f", &"x".repeat(256)] {
            assert_eq!(id(&not.into()), None, "{not}");
        }
        assert_eq!(id(&"0a-_Z".into()), Some("0a-_Z".into()));
    }
}
