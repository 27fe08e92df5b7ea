//! The hub, by its client: few kinds, in the namespaces of clusters.

use std::collections::BTreeSet;

use http::StatusCode;
use kube::Client;
use serde_json::{Value, json};
use testplatform_runtime::apply::MANAGER;

use super::objects::{HubObjects, ObjectVersion, WriteResult};
use crate::{
    config::AllowedResource,
    credentials::account::guest_client::ApiResponse,
    manifests::{
        apply::{ApplyError, ApplyErrorReason},
        guest_cluster::{
            ErrorMessages, GuestClient, NO_BODY, Resource, Target, expect_object, response_error,
        },
    },
};

const WORDS: ErrorMessages = ErrorMessages {
    unauthorized: "the hub does not know the provider",
    unreachable: "the hub does not answer",
    too_large: "the hub's answer is longer than 2 MiB, or has more than 100,000 values",
    no_such_kind: "the hub does not serve objects of this kind",
};

/// The hub for the time of one look.
pub(super) struct OnHub<'a> {
    opened: GuestClient,
    allowed: &'a BTreeSet<AllowedResource>,
}

impl<'a> OnHub<'a> {
    /// By a client. Nothing is called yet.
    pub fn new(client: Client, allowed: &'a BTreeSet<AllowedResource>) -> Self {
        Self { opened: GuestClient::new(client, WORDS), allowed }
    }

    /// Resolves the object of a manifest, if it may be created.
    async fn place(&self, object: &Value) -> Result<(Target, Resource), ApplyError> {
        let target = Target::of(object)?;
        let resource = self.opened.discover_resource(&target).await?;
        if !resource.namespaced {
            let message = "objects of this kind are in no namespace";
            return Err(ApplyError::new(ApplyErrorReason::InvalidManifest, message));
        }
        let resource_named = AllowedResource::new(&target.group, &resource.plural);
        if !self.allowed.contains(&resource_named) {
            let message =
                format!("{resource_named} is not in clusters.prerequisites.resources of the provider");
            return Err(ApplyError::new(ApplyErrorReason::KindNotAllowed, message));
        }
        Ok((target, resource))
    }

    async fn path(&self, object: &Value) -> Result<String, ApplyError> {
        let (target, resource) = self.place(object).await?;
        target.object_path(&resource, NOWHERE)
    }
}

/// A manifest without a namespace is about nothing.
const NOWHERE: &str = "";

fn write_result(answer: ApiResponse) -> Result<WriteResult, ApplyError> {
    match answer.code {
        StatusCode::CONFLICT => Ok(WriteResult::Changed(response_error(&answer))),
        _ => expect_object(answer).map(WriteResult::There),
    }
}

/// Whether the hub says that there is no object of this name. Any other 404 proves nothing.
fn is_object_not_found(answer: &ApiResponse, name: &str) -> bool {
    let ApiResponse { code, body } = answer;
    *code == StatusCode::NOT_FOUND && body["reason"] == "NotFound" && body["details"]["name"] == *name
}

impl HubObjects for OnHub<'_> {
    async fn find(&self, object: &Value) -> Result<Option<Value>, ApplyError> {
        let (target, resource) = self.place(object).await?;
        let answer =
            self.opened.send_request("GET", &target.object_path(&resource, NOWHERE)?, NO_BODY).await?;
        if is_object_not_found(&answer, &target.name) {
            return Ok(None);
        }
        expect_object(answer).map(Some)
    }

    async fn create(&self, object: &Value) -> Result<WriteResult, ApplyError> {
        let (target, resource) = self.place(object).await?;
        let path = format!("{}?fieldManager={MANAGER}", target.collection_path(&resource, NOWHERE)?);
        write_result(self.opened.send_request("POST", &path, ("application/json", object)).await?)
    }

    async fn apply(&self, object: &Value) -> Result<WriteResult, ApplyError> {
        let path = self.path(object).await?;
        write_result(self.opened.apply_object(&path, object).await?)
    }

    async fn delete(
        &self,
        object: &Value,
        ObjectVersion { uid, resource_version }: &ObjectVersion,
    ) -> Result<(), ApplyError> {
        // Deletes the dependents of a Job too, which is not the default.
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": { "uid": uid, "resourceVersion": resource_version },
        });
        let answer = self
            .opened
            .send_request("DELETE", &self.path(object).await?, ("application/json", &options))
            .await?;
        match answer.code {
            // It is deleted, or another object.
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(()),
            code if code.is_success() => Ok(()),
            _ => Err(response_error(&answer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;

    const SERVED: &str =
        r#"{ "resources": [{ "kind": "ConfigMap", "name": "configmaps", "namespaced": true }] }"#;

    /// Lookup of an object on a hub that answers every read with this 404.
    async fn found(text: &'static str) -> Result<Option<Value>, ApplyError> {
        let service = tower::service_fn(move |request: Request<Body>| {
            let served = request.uri().path() == "/api/v1";
            let (code, text) = if served { (StatusCode::OK, SERVED) } else { (StatusCode::NOT_FOUND, text) };
            let mut answer = Response::new(Body::from(text.as_bytes().to_vec()));
            *answer.status_mut() = code;
            async move { Ok::<_, Infallible>(answer) }
        });
        let allowed = BTreeSet::from([AllowedResource::new("", "configmaps")]);
        let hub = OnHub::new(Client::new(service, "default"), &allowed);
        let metadata = json!({ "name": "one", "namespace": "clusters" });
        hub.find(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).await
    }

    /// An object that is believed to be gone is not deleted, and its dependents are released.
    #[tokio::test]
    async fn only_what_the_hub_says_of_an_object_is_believed() {
        let gone = r#"{ "kind": "Status", "code": 404, "reason": "NotFound",
            "details": { "name": "one", "kind": "configmaps" } }"#;
        assert_eq!(found(gone).await, Ok(None));
        for other in [
            "404 page not found",
            "",
            r#"{ "kind": "Status", "code": 404, "reason": "NotFound", "details": {} }"#,
            r#"{ "kind": "Status", "code": 404, "reason": "NotFound", "details": { "name": "clusters" } }"#,
        ] {
            let refusal = found(other).await.unwrap_err();
            assert!(
                !refusal.hopeless && !refusal.has_reason(ApplyErrorReason::NoSuchKind),
                "{other}: {refusal:?}"
            );
        }
    }
}
