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
use testplatform_apis::redact::redacted;
use tokio::time::timeout;

use super::{
    clouds::{Cloud, Proof},
    next::{Fault, Removal, Verdict},
};
use crate::{
    build_clusters::{Trust, configured, limit, vouched},
    redacted::Redacted,
};

/// How long one call may take.
pub const CALL: Duration = Duration::from_secs(10);
/// The most that is read of an answer: tokens come with a catalogue of everything that the cloud has.
pub const MOST: usize = 1 << 20;
/// The most that is told of an answer, in characters.
const TOLD: usize = 200;
/// The longest id that is taken for one; it becomes a part of a path.
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
pub struct Listed {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// A credential that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its id.
    pub id: String,
    /// Its secret, which nobody is ever told again.
    pub secret: Redacted<String>,
}

struct Answer {
    code: StatusCode,
    token: Option<HeaderValue>,
    body: Value,
}

async fn client(cloud: &Cloud) -> Result<Client, Fault> {
    const NOT: &str = "has an auth_url or certificates that cannot be used";
    let unusable = |why: &str| Fault::Unusable(why.to_owned());
    let read: Kubeconfig = serde_json::from_value(cloud.client_config()).map_err(|_| unusable(NOT))?;
    let config = configured(read).await;
    let mut config = config.map_err(|_| unusable(NOT))?;
    limit(&mut config);
    let bundle = std::env::var_os("SSL_CERT_FILE").is_some();
    let trust = if bundle { Trust::Bundle } else { Trust::Kubeconfig };
    vouched(&config, trust)
        .map_err(|_| unusable("has no key cacert, and no bundle of authorities is configured"))?;
    Client::try_from(config).map_err(|_| unusable(NOT))
}

async fn call(
    client: &Client,
    method: Method,
    path: &str,
    token: Option<&HeaderValue>,
    body: &Value,
) -> Result<Answer, Fault> {
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
    let request = request.body(Body::from(bytes)).map_err(|_| Fault::Refused("no such path".into()))?;
    let answered = async {
        let answer = client.send(request).await.map_err(|_| Fault::Unreachable)?;
        let (mut parts, body) = answer.into_parts();
        let read = Limited::new(body, MOST).collect().await.map_err(|error| unread(error.as_ref()))?;
        let token = parts.headers.remove("x-subject-token").map(|mut token| {
            token.set_sensitive(true);
            token
        });
        let body = serde_json::from_slice(&read.to_bytes()).unwrap_or_default();
        Ok(Answer { code: parts.status, token, body })
    };
    timeout(CALL, answered).await.unwrap_or(Err(Fault::Unreachable))
}

/// Why an answer could not be read.
fn unread(error: &(dyn std::error::Error + 'static)) -> Fault {
    if error.is::<LengthLimitError>() { Fault::TooLarge } else { Fault::Unreachable }
}

/// A part of a path: whatever is in it leads nowhere else.
fn id(value: &Value) -> Option<String> {
    let id = value.as_str()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (!id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(plain)).then(|| id.to_owned())
}

/// Why a call was not answered with what it asked for.
fn refused(answer: &Answer, secrets: &[Redacted<String>]) -> Fault {
    let said = answer.body["error"]["message"].as_str().unwrap_or_default();
    let tells = secrets.iter().any(|secret| !secret.0.is_empty() && said.contains(&secret.0));
    let said = if tells { String::new() } else { redacted(said, TOLD) };
    let code = answer.code.as_u16();
    match code {
        401 => Fault::Unknown,
        403 => Fault::Forbidden,
        409 => Fault::Taken,
        429 | 500.. => Fault::Unreachable,
        _ if said.is_empty() => Fault::Refused(code.to_string()),
        _ => Fault::Refused(format!("{code}: {said}")),
    }
}

/// Has the identity service let somebody in.
///
/// # Errors
/// Fails if the service does not accept the credential. A missing credential is answered with 401 or, for an application credential, with 404.
pub async fn sign_in(cloud: &Cloud) -> Result<Session, Fault> {
    let client = client(cloud).await?;
    let secrets = vec![Redacted(cloud.proof.secret().to_owned())];
    let answer = call(&client, Method::POST, "/auth/tokens", None, &cloud.proof.request()).await?;
    match answer.code {
        StatusCode::CREATED | StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Err(Fault::Unknown),
        _ => return Err(refused(&answer, &secrets)),
    }
    let token = &answer.body["token"];
    if let Proof::Application { id, .. } = &cloud.proof {
        // Older ones do not say it.
        let said = token["application_credential"]["id"].as_str();
        if said.is_some_and(|said| said != id) {
            return Err(Fault::Refused("the token is another one's".into()));
        }
    }
    let user = id(&token["user"]["id"]);
    match (answer.token, user) {
        (Some(token), Some(user)) => Ok(Session { client, token, user, secrets }),
        (None, _) | (_, None) => Err(Fault::Refused("the answer has no token or no user".into())),
    }
}

/// Whether the identity service lets somebody in.
pub async fn probe(cloud: &Cloud) -> Verdict {
    match sign_in(cloud).await {
        Ok(_) => Verdict::Works,
        Err(Fault::Unreachable | Fault::TooLarge) => Verdict::Unknown,
        Err(
            Fault::Unknown
            | Fault::Forbidden
            | Fault::Refused(_)
            | Fault::Taken
            | Fault::Unusable(_)
            | Fault::Unverified,
        ) => Verdict::Invalid,
    }
}

impl Session {
    async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Answer, Fault> {
        call(&self.client, method, path, Some(&self.token), body).await
    }

    /// The application credentials of the user. The service has no pages of them, and filters by whole names alone; ours are many.
    ///
    /// # Errors
    /// If it does not answer with them.
    pub async fn list(&self) -> Result<Vec<Listed>, Fault> {
        let path = format!("/users/{}/application_credentials", self.user);
        let answer = self.call(Method::GET, &path, &Value::Null).await?;
        let all = answer.body["application_credentials"].as_array();
        match (answer.code, all) {
            (StatusCode::OK, Some(all)) => {
                let one = |one: &Value| {
                    Some(Listed { id: id(&one["id"])?, name: one["name"].as_str()?.to_owned() })
                };
                Ok(all.iter().filter_map(one).collect())
            }
            // It is no answer of an identity service.
            (StatusCode::OK, None) => Err(Fault::Unreachable),
            _ => Err(refused(&answer, &self.secrets)),
        }
    }

    /// Makes an application credential that can make no others.
    ///
    /// # Errors
    /// If it was not made; after [`Fault::Unreachable`] it may have been.
    pub async fn create(
        &self,
        name: &str,
        roles: &[String],
        expires: Option<Timestamp>,
    ) -> Result<Made, Fault> {
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
            return Err(refused(&answer, &self.secrets));
        }
        let made = &answer.body["application_credential"];
        let secret = made["secret"].as_str().filter(|secret| !secret.is_empty());
        match (id(&made["id"]), secret) {
            (Some(id), Some(secret)) => Ok(Made { id, secret: Redacted(secret.to_owned()) }),
            // It was made, and will be found by its name.
            (None, _) | (_, None) => Err(Fault::Unreachable),
        }
    }

    /// Deletes an application credential of a user. That of another user only administrators may.
    pub async fn delete(&self, user: &str, credential: &str) -> Removal {
        let ids = (id(&user.into()), id(&credential.into()));
        let (Some(user), Some(credential)) = ids else { return Removal::Left };
        let path = format!("/users/{user}/application_credentials/{credential}");
        match self.call(Method::DELETE, &path, &Value::Null).await {
            Ok(answer) => match answer.code {
                code if code.is_success() || code == StatusCode::NOT_FOUND => Removal::Gone,
                StatusCode::UNAUTHORIZED => Removal::Nobody,
                StatusCode::TOO_MANY_REQUESTS => Removal::Unreachable,
                code if code.is_server_error() => Removal::Unreachable,
                _ => Removal::Left,
            },
            Err(_) => Removal::Unreachable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_an_answer_is_short_and_no_secret() {
        let answer = |code: u16, message: &str| Answer {
            code: StatusCode::from_u16(code).unwrap(),
            token: None,
            body: json!({ "error": { "message": message } }),
        };
        let secrets = [Redacted("hunter2".to_owned())];
        let refused = |code, message: &str| refused(&answer(code, message), &secrets);
        assert_eq!(refused(401, "x"), Fault::Unknown);
        assert_eq!(refused(403, "x"), Fault::Forbidden);
        assert_eq!(refused(503, "x"), Fault::Unreachable);
        assert_eq!(refused(400, "no role\n member"), Fault::Refused("400: no role member".into()));
        assert_eq!(refused(400, "you said hunter2"), Fault::Refused("400".into()));
        let Fault::Refused(long) = refused(400, &"ä ".repeat(9_000)) else { panic!() };
        assert!(long.chars().count() < 210);
    }

    #[tokio::test]
    async fn an_answer_that_is_too_large_is_no_silence() {
        let read = |most| Limited::new(http_body_util::Full::new(&b"0123456789"[..]), most).collect();
        assert_eq!(unread(read(9).await.unwrap_err().as_ref()), Fault::TooLarge);
        assert_eq!(read(10).await.unwrap().to_bytes().len(), 10);
        assert_eq!(unread(&std::io::Error::other("reset")), Fault::Unreachable);
    }

    #[test]
    fn an_id_leads_nowhere_else() {
        for not in ["", "..", "a/b", "a?b", "a%2f", &"x".repeat(256)] {
            assert_eq!(id(&not.into()), None, "{not}");
        }
        assert_eq!(id(&"0a-_Z".into()), Some("0a-_Z".into()));
    }
}
