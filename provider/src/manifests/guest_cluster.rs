//! A cluster, by a client: finds resources, applies objects.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use http::StatusCode;
use kube::Client;
use serde_json::Value;
use testplatform_runtime::apply::MANAGER;
use tokio::sync::Mutex;

use super::apply::{ApplyError, ApplyErrorReason, GuestCluster};
use crate::credentials::account::{
    admin::AdminKubeconfig,
    guest_client::{self, ApiResponse, MAX_RESPONSE_BYTES, RequestError, UnusableKubeconfig, send_request},
};

/// How long one call may take. Admission in the cluster may take longer; then it is tried again.
const CALL: Duration = Duration::from_secs(10);
/// Namespace of an object without one, as with `kubectl`.
const DEFAULT: &str = "default";

/// Messages for the cases in which an API server does not do what it is asked to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorMessages {
    /// It does not know who asks.
    pub unauthorized: &'static str,
    /// It does not answer.
    pub unreachable: &'static str,
    /// There is more in an answer than is read.
    pub too_large: &'static str,
    /// It does not serve objects of a kind.
    pub no_such_kind: &'static str,
}

/// Messages about a delivered cluster.
const DELIVERED: ErrorMessages = ErrorMessages {
    unauthorized: "the cluster rejects the kubeconfig",
    unreachable: "the cluster cannot be reached from the hub",
    too_large: "the cluster's answer is longer than 2 MiB, or has more than 100,000 values",
    no_such_kind: "the cluster does not serve objects of this kind",
};

/// Discovery result for a kind.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    /// Its plural.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

/// Object that a manifest refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// API group; empty for the core.
    pub group: String,
    /// Version in the group.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Namespace, if it has one.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl Target {
    /// Reads a manifest.
    ///
    /// # Errors
    /// If it is none.
    pub fn of(object: &Value) -> Result<Self, ApplyError> {
        let unreadable = || {
            ApplyError::new(
                ApplyErrorReason::InvalidManifest,
                "the manifest has no apiVersion, kind or metadata.name",
            )
        };
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let metadata = &object["metadata"];
        let api_version = text(&object["apiVersion"]).ok_or_else(unreadable)?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        Ok(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text(&object["kind"]).ok_or_else(unreadable)?,
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]).ok_or_else(unreadable)?,
        })
    }

    /// The path of its group and version.
    fn api_root(&self) -> Result<String, ApplyError> {
        let version = escape_segment(&self.version)?;
        match &*self.group {
            "" => Ok(format!("/api/{version}")),
            group => Ok(format!("/apis/{}/{version}", escape_segment(group)?)),
        }
    }

    /// Path of the collection of its kind, in its namespace, or in `otherwise` if it has none.
    pub fn collection_path(&self, resource: &Resource, otherwise: &str) -> Result<String, ApplyError> {
        let mut path = self.api_root()?;
        if resource.namespaced {
            path.push_str("/namespaces/");
            path.push_str(&escape_segment(self.namespace.as_deref().unwrap_or(otherwise))?);
        }
        Ok(format!("{path}/{}", escape_segment(&resource.plural)?))
    }

    /// Path of the object itself.
    pub fn object_path(&self, resource: &Resource, otherwise: &str) -> Result<String, ApplyError> {
        Ok(format!("{}/{}", self.collection_path(resource, otherwise)?, escape_segment(&self.name)?))
    }
}

/// Client of a cluster for one reconcile. Discovery results are cached, except for missing kinds, because a bundle may be creating them.
pub(crate) struct GuestClient {
    client: Client,
    words: ErrorMessages,
    known: Mutex<BTreeMap<(String, String), Resource>>,
}

/// Opens a cluster that was delivered. Nothing is called yet.
pub(crate) async fn connect(admin: &AdminKubeconfig) -> Result<GuestClient, ApplyError> {
    match guest_client::connect(admin).await {
        Ok(client) => Ok(GuestClient::new(client, DELIVERED)),
        Err(UnusableKubeconfig(why)) => Err(ApplyError::new(
            ApplyErrorReason::KubeconfigUnusable,
            format!("the kubeconfig of the cluster {why}"),
        )),
    }
}

impl GuestClient {
    /// By a client.
    pub fn new(client: Client, words: ErrorMessages) -> Self {
        Self { client, words, known: Mutex::default() }
    }

    /// Sends a request; returns any response except 401.
    pub async fn send_request(
        &self,
        verb: &str,
        path: &str,
        body: (&str, &Value),
    ) -> Result<ApiResponse, ApplyError> {
        match send_request(&self.client, verb, path, body, MAX_RESPONSE_BYTES, CALL).await {
            Ok(ApiResponse { code: StatusCode::UNAUTHORIZED, .. }) => {
                Err(ApplyError::new(ApplyErrorReason::Unauthorized, self.words.unauthorized))
            }
            Ok(answer) => Ok(answer),
            Err(RequestError::Unreachable) => {
                Err(ApplyError::new(ApplyErrorReason::Unreachable, self.words.unreachable))
            }
            Err(RequestError::TooLarge) => {
                Err(ApplyError::new(ApplyErrorReason::TooLarge, self.words.too_large))
            }
        }
    }

    /// Discovers the resource of a manifest's kind.
    pub async fn discover_resource(&self, target: &Target) -> Result<Resource, ApplyError> {
        let (root, kind) = (target.api_root()?, &target.kind);
        let key = (root.clone(), kind.clone());
        if let Some(known) = self.known.lock().await.get(&key) {
            return Ok(known.clone());
        }
        let answer = self.send_request("GET", &root, NO_BODY).await?;
        let all = match answer.code {
            StatusCode::NOT_FOUND => None,
            code if code.is_success() => answer.body["resources"].as_array(),
            _ => return Err(response_error(&answer)),
        };
        let named = |entry: &&Value| {
            entry["kind"] == **kind && entry["name"].as_str().is_some_and(|name| !name.contains('/'))
        };
        let found = all.and_then(|all| all.iter().find(named)).and_then(|entry| {
            let plural = entry["name"].as_str()?.to_owned();
            Some(Resource { plural, namespaced: entry["namespaced"].as_bool()? })
        });
        let found =
            found.ok_or_else(|| ApplyError::new(ApplyErrorReason::NoSuchKind, self.words.no_such_kind))?;
        self.known.lock().await.insert(key, found.clone());
        Ok(found)
    }

    /// Applies an object with forced server-side apply and returns the result. Errors of the API server are in the response.
    pub async fn apply_object(&self, path: &str, object: &Value) -> Result<ApiResponse, ApplyError> {
        let path = format!("{path}?fieldManager={MANAGER}&force=true");
        // JSON is YAML too.
        self.send_request("PATCH", &path, ("application/apply-patch+yaml", object)).await
    }
}

impl GuestCluster for GuestClient {
    async fn apply_manifest(&self, object: &Value) -> Result<Value, ApplyError> {
        let target = Target::of(object)?;
        let path = target.object_path(&self.discover_resource(&target).await?, DEFAULT)?;
        expect_object(self.apply_object(&path, object).await?)
    }
}

/// The body of a call without one.
pub(crate) const NO_BODY: (&str, &Value) = ("application/json", &Value::Null);

/// The object in an answer.
///
/// # Errors
/// If the answer is that there is none, or no object: what answers may be its owner's, who may answer anything.
pub(crate) fn expect_object(answer: ApiResponse) -> Result<Value, ApplyError> {
    if !answer.code.is_success() {
        return Err(response_error(&answer));
    }
    let Value::Object(mut object) = answer.body else {
        return Err(ApplyError::new(ApplyErrorReason::Refused, "the API server's answer is not an object"));
    };
    // The largest part of many objects, and nothing that anybody asks for.
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Ok(object.into())
}

/// An answer that is a refusal.
pub(crate) fn response_error(answer: &ApiResponse) -> ApplyError {
    let text = |key| answer.body[key].as_str().unwrap_or_default();
    ApplyError::from_response(answer.code.as_u16(), text("reason"), text("message"))
}

/// Escapes a path segment, so that its content cannot lead elsewhere.
fn escape_segment(text: &str) -> Result<String, ApplyError> {
    if matches!(text, "" | "." | "..") || text.len() > 253 {
        return Err(ApplyError::new(ApplyErrorReason::InvalidManifest, "a name in the manifest is invalid"));
    }
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b':') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    Ok(encoded)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Method, Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use testplatform_apis::bundle::Bundle;
    use tokio::time::Instant;

    use super::*;
    use crate::manifests::apply::{ApplyProgress, apply_bundles};

    const SERVED: &str =
        r#"{ "resources": [{ "kind": "ConfigMap", "name": "configmaps", "namespaced": true }] }"#;

    /// Progress of a bundle in a cluster that gives this answer to every apply.
    async fn applied(answer: &str) -> ApplyProgress {
        let answer = answer.to_owned();
        let service = tower::service_fn(move |request: Request<Body>| {
            let text = if request.method() == Method::GET { SERVED } else { &answer };
            let answer = Response::new(Body::from(text.as_bytes().to_vec()));
            async move { Ok::<_, Infallible>(answer) }
        });
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one" } });
        let bundle: Bundle =
            serde_json::from_value(json!({ "name": "b", "manifests": [{ "object": object }] })).unwrap();
        let cluster = GuestClient::new(Client::new(service, "default"), DELIVERED);
        apply_bundles([&bundle], 0, &cluster, Instant::now() + CALL).await
    }

    /// Its administrator is a tenant.
    #[tokio::test]
    async fn answer_without_object_fails_the_bundle() {
        for answer in ["[]", r#""x""#, "1", "true", "null", "no JSON"] {
            let looked = applied(answer).await;
            let ApplyProgress::At(0, stop) = looked else { panic!("{answer}: {looked:?}") };
            assert!(
                stop.why.has_reason(ApplyErrorReason::Refused) && !stop.why.hopeless,
                "{answer}: {stop:?}"
            );
            assert_eq!(stop.object.as_deref(), Some("ConfigMap one"), "{answer}");
        }
        for answer in [r#"{ "metadata": { "managedFields": [] } }"#, r#"{ "metadata": [] }"#, "{}"] {
            assert_eq!(applied(answer).await, ApplyProgress::All, "{answer}");
        }
    }

    /// Of two bytes a value may become that takes hundreds.
    #[tokio::test]
    async fn oversized_answer_is_refused() {
        let much = format!(r#"{{ "metadata": {{}}, "data": [{}0] }}"#, "[],".repeat(100_000));
        let looked = applied(&much).await;
        let ApplyProgress::At(0, stop) = looked else { panic!("{looked:?}") };
        assert!(
            stop.why.has_reason(ApplyErrorReason::TooLarge) && stop.why.message.contains("100,000"),
            "{stop:?}"
        );
    }

    #[test]
    fn what_fields_are_managed_by_whom_is_left_out() {
        let body = json!({ "metadata": { "name": "one", "managedFields": [{}] } });
        let there = expect_object(ApiResponse { code: StatusCode::OK, body }).unwrap();
        assert_eq!(there, json!({ "metadata": { "name": "one" } }));
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        assert_eq!(escape_segment("system:node-proxier.x_y").unwrap(), "system:node-proxier.x_y");
        assert_eq!(escape_segment("../secrets?a=b#c%2f").unwrap(), "..%2Fsecrets%3Fa%3Db%23c%252f");
        for none in ["", ".", "..", &"x".repeat(254)] {
            assert!(escape_segment(none).is_err(), "{none}");
        }
    }
}
