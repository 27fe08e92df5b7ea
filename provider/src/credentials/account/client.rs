//! A delivered cluster, by a client. It is made from what was read of a kubeconfig, and used once.

use std::time::Duration;

use http::StatusCode;
use kube::Client;
use serde_json::{Value, json};
use testplatform_apis::account::AccessRequest;
use testplatform_runtime::redacted::Redacted;
use tokio::time::sleep;

use super::{
    LIFETIME, NAMESPACE, account_name,
    admin::{AdminKubeconfig, KubeconfigParts, token_kubeconfig},
    guest_client::{self, ApiResponse, UnusableKubeconfig, send_json, send_request},
    plan::{AccountObject, AccountObjects, ObjectState, TokenCheck as Said},
    token::{DeliveredCluster, Token, TokenFailure},
};

/// How long one call may take.
const CALL: Duration = Duration::from_secs(5);
/// Rights take a moment to arrive everywhere.
const TRIES: u32 = 5;
const BETWEEN: Duration = Duration::from_millis(300);
/// Maximum size of a response, in bytes: the expected ones are small.
const MOST: usize = 64 << 10;
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A cluster, and the ServiceAccount in it.
pub(super) struct GuestAccountClient {
    parts: KubeconfigParts,
    account: String,
    role: String,
}

/// Reads a kubeconfig. Nothing is called yet.
pub(super) fn connect(
    admin: &AdminKubeconfig,
    uid: &str,
    wish: &AccessRequest,
) -> Result<GuestAccountClient, TokenFailure> {
    let parts = admin.read_parts().map_err(TokenFailure::Unusable)?;
    Ok(GuestAccountClient { parts, account: account_name(uid), role: wish.cluster_role.clone() })
}

/// A client for it.
pub(super) async fn build_client(parts: &KubeconfigParts) -> Result<Client, TokenFailure> {
    guest_client::build_client(parts).await.map_err(|UnusableKubeconfig(why)| TokenFailure::Unusable(why))
}

/// Sends a request. None: its object does not exist (404), or exists already (409).
async fn guest_request(
    client: &Client,
    verb: &str,
    path: &str,
    body: &Value,
) -> Result<Option<Value>, TokenFailure> {
    let answer = send_request(client, verb, path, ("application/json", body), MOST, CALL).await;
    let ApiResponse { code, body } = answer.map_err(|_| TokenFailure::Unreachable)?;
    match (describe_error(code)?, body) {
        (false, _) => Ok(None),
        (true, Value::Null) => Err(TokenFailure::Unreachable),
        (true, body) => Ok(Some(body)),
    }
}

/// The same, where what is answered is not needed: whether it was done.
pub(super) async fn ensure_done(
    client: &Client,
    verb: &str,
    path: &str,
    body: &Value,
) -> Result<bool, TokenFailure> {
    let code = send_json(client, verb, path, ("application/json", body), CALL).await;
    describe_error(code.map_err(|_| TokenFailure::Unreachable)?)
}

/// Maps a status code to a result.
fn describe_error(code: StatusCode) -> Result<bool, TokenFailure> {
    match code {
        StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(false),
        StatusCode::UNAUTHORIZED => Err(TokenFailure::AdminUnknown),
        code if code.is_success() => Ok(true),
        code => Err(TokenFailure::Answered(code.as_u16())),
    }
}

impl GuestAccountClient {
    async fn client(&self) -> Result<Client, TokenFailure> {
        build_client(&self.parts).await
    }

    /// Where a thing is, its name, and what of it must be so.
    fn object_manifest(&self, thing: AccountObject) -> (String, String, Value) {
        let name = self.account.clone();
        let subject = json!([{ "kind": "ServiceAccount", "name": name, "namespace": NAMESPACE }]);
        let role = |kind: &str, name: &str| {
            json!({
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name },
                "subjects": subject,
            })
        };
        match thing {
            AccountObject::Namespace => ("/api/v1/namespaces".into(), NAMESPACE.into(), json!({})),
            AccountObject::Account => {
                (format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts"), name, json!({}))
            }
            AccountObject::Ending => {
                let allowed = json!({
                    "apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": [name], "verbs": ["delete"],
                });
                (format!("{RBAC}/namespaces/{NAMESPACE}/roles"), name, json!({ "rules": [allowed] }))
            }
            AccountObject::EndingBinding => {
                let gives = role("Role", &name);
                (format!("{RBAC}/namespaces/{NAMESPACE}/rolebindings"), name, gives)
            }
            AccountObject::Binding => {
                (format!("{RBAC}/clusterrolebindings"), name, role("ClusterRole", &self.role))
            }
        }
    }

    async fn read_object(&self, client: &Client, thing: AccountObject) -> Result<ObjectState, TokenFailure> {
        let (path, name, wanted) = self.object_manifest(thing);
        let existing = guest_request(client, "GET", &format!("{path}/{name}"), &Value::Null).await?;
        Ok(match existing {
            None => ObjectState::Absent,
            // For a moment an API server gives tokens of it, and takes them.
            Some(existing) if !existing["metadata"]["deletionTimestamp"].is_null() => ObjectState::Deleting,
            Some(existing) if contains_fields(&existing, &wanted) => ObjectState::Right,
            Some(_) => ObjectState::Wrong,
        })
    }
}

/// Whether an object contains all wanted fields. Fields that an API server adds do not matter.
fn contains_fields(actual: &Value, wanted: &Value) -> bool {
    match (actual, wanted) {
        (Value::Object(actual), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, value)| actual.get(key).is_some_and(|found| contains_fields(found, value))),
        (Value::Array(actual), Value::Array(wanted)) => {
            actual.len() == wanted.len()
                && actual.iter().zip(wanted).all(|(one, other)| contains_fields(one, other))
        }
        (actual, wanted) => actual == wanted,
    }
}

impl DeliveredCluster for GuestAccountClient {
    async fn read_objects(&self) -> Result<AccountObjects, TokenFailure> {
        let client = self.client().await?;
        let role = format!("{RBAC}/clusterroles/{}", self.role);
        // It may be long, and it is not looked into.
        let has_role = ensure_done(&client, "GET", &role, &Value::Null).await?;
        let mut things = [ObjectState::Absent; 5];
        for (place, thing) in things.iter_mut().zip(AccountObject::ALL) {
            *place = self.read_object(&client, thing).await?;
        }
        Ok(AccountObjects { has_role, things })
    }

    async fn delete_object(&self, thing: AccountObject) -> Result<(), TokenFailure> {
        let (path, name, _) = self.object_manifest(thing);
        ensure_done(&self.client().await?, "DELETE", &format!("{path}/{name}"), &Value::Null).await.map(drop)
    }

    async fn create_object(&self, thing: AccountObject) -> Result<bool, TokenFailure> {
        let (path, name, mut object) = self.object_manifest(thing);
        object["metadata"] =
            json!({ "name": name, "labels": { "app.kubernetes.io/managed-by": "testplatform" } });
        ensure_done(&self.client().await?, "POST", &path, &object).await
    }

    async fn request_token(&self) -> Result<Token, TokenFailure> {
        let path = format!("{}/{}/token", self.object_manifest(AccountObject::Account).0, self.account);
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": { "audiences": [], "expirationSeconds": LIFETIME.as_secs() },
        });
        let answer = guest_request(&self.client().await?, "POST", &path, &request).await?;
        // The ServiceAccount was there, or made, a moment ago.
        answer.as_ref().and_then(parse_token).ok_or(TokenFailure::Restless)
    }

    async fn verify_token(&self, token: &Token) -> Result<Said, TokenFailure> {
        let text = token_kubeconfig(&self.parts.address, &self.account, &token.token.0);
        let own = KubeconfigParts::of(text.as_bytes()).map_err(TokenFailure::Unusable)?;
        let client = build_client(&own).await?;
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": {
                "verb": "delete", "resource": "serviceaccounts", "namespace": NAMESPACE, "name": self.account,
            } },
        });
        for _ in 0..TRIES {
            let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
            match guest_request(&client, "POST", path, &review).await {
                Ok(Some(answer)) if answer["status"]["allowed"] == true => return Ok(Said::Taken),
                Ok(_) | Err(TokenFailure::Answered(403)) => sleep(BETWEEN).await,
                Err(TokenFailure::AdminUnknown) => return Ok(Said::Unknown),
                Err(other) => return Err(other),
            }
        }
        Ok(Said::NoRights)
    }
}

/// The token in an answer, which may be anything.
fn parse_token(answer: &Value) -> Option<Token> {
    let status = &answer["status"];
    let expires = status["expirationTimestamp"].as_str()?.parse().ok()?;
    let token = status["token"].as_str().filter(|token| !token.is_empty())?;
    Some(Token { token: Redacted(token.to_owned()), expires })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::account::{admin::Address, guest_client::tests::answering};

    /// The server may be a tenant's, and several are called at a time.
    #[tokio::test]
    async fn of_long_answers_nothing_is_held() {
        let long = json!({ "metadata": { "name": "x".repeat(MOST) } }).to_string();
        let client = answering(StatusCode::OK, &long);
        assert_eq!(ensure_done(&client, "DELETE", "/", &Value::Null).await, Ok(true));
        assert_eq!(guest_request(&client, "GET", "/", &Value::Null).await, Err(TokenFailure::Unreachable));
        let client = answering(StatusCode::NOT_FOUND, &long);
        assert_eq!(ensure_done(&client, "DELETE", "/", &Value::Null).await, Ok(false));
    }

    #[tokio::test]
    async fn what_is_being_deleted_is_neither_right_nor_taken_away_again() {
        let address = Address { server: "https://c".into(), authority: None, name: None };
        let admin = AdminKubeconfig::new(token_kubeconfig(&address, "admin", "t").into_bytes());
        let opened =
            connect(&admin, "u", &AccessRequest { cluster_role: "view".into(), generation: 0 }).unwrap();
        for (metadata, found) in [
            (json!({ "name": "tpc-u" }), ObjectState::Right),
            (json!({ "name": "tpc-u", "deletionTimestamp": "2026-03-02T12:00:00Z" }), ObjectState::Deleting),
        ] {
            let client = answering(StatusCode::OK, &json!({ "metadata": metadata }).to_string());
            for thing in [AccountObject::Namespace, AccountObject::Account] {
                assert_eq!(opened.read_object(&client, thing).await, Ok(found), "{thing:?}: {metadata}");
            }
        }
    }

    #[test]
    fn an_answer_without_a_token_is_none_whatever_it_is() {
        let at = "2026-03-02T12:00:00Z";
        for answer in [
            json!([]),
            json!("x"),
            json!(1),
            json!({}),
            json!({ "status": [] }),
            json!({ "status": { "token": "t" } }),
            json!({ "status": { "token": "t", "expirationTimestamp": "soon" } }),
            json!({ "status": { "token": "", "expirationTimestamp": at } }),
            json!({ "status": { "token": 1, "expirationTimestamp": at } }),
        ] {
            assert_eq!(parse_token(&answer), None, "{answer}");
        }
        let whole = json!({ "status": { "token": "t", "expirationTimestamp": at } });
        let expected = Token { token: Redacted("t".to_owned()), expires: at.parse().unwrap() };
        assert_eq!(parse_token(&whole), Some(expected));
    }
}
