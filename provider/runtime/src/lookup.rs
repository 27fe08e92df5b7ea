//! Reads of single objects. An object counts as absent only if the API server says so about this very object: 404 is also the response for an
//! unserved kind or version, and of any proxy in between, and irreversible decisions depend on it.

use std::fmt::Debug;

use kube::{Api, core::PartialObjectMeta};
use serde::de::DeserializeOwned;

use crate::error::is_object_not_found;

/// Reads an object. None: there is none.
pub async fn get_opt<K>(api: &Api<K>, name: &str) -> kube::Result<Option<K>>
where
    K: Clone + DeserializeOwned + Debug,
{
    ignore_not_found(api.get(name).await, name)
}

/// Reads the metadata of an object. None: there is none.
pub async fn get_metadata_opt<K>(api: &Api<K>, name: &str) -> kube::Result<Option<PartialObjectMeta<K>>>
where
    K: Clone + DeserializeOwned + Debug,
{
    ignore_not_found(api.get_metadata(name).await, name)
}

/// Turns a `NotFound` error about this object into `None`.
pub fn ignore_not_found<T>(answer: kube::Result<T>, name: &str) -> kube::Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if is_object_not_found(&error, name) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response, StatusCode};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{Client, client::Body};

    use super::*;

    /// ConfigMaps of an API server that answers so to everything.
    fn answering(code: StatusCode, text: &'static str) -> Api<ConfigMap> {
        let service = tower::service_fn(move |_: Request<Body>| {
            let mut answer = Response::new(Body::from(text.as_bytes().to_vec()));
            *answer.status_mut() = code;
            async move { Ok::<_, Infallible>(answer) }
        });
        Api::namespaced(Client::new(service, "default"), "default")
    }

    #[tokio::test]
    async fn what_the_api_server_says_of_an_object_is_believed() {
        let gone = r#"{ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "configmaps \"one\" not found", "reason": "NotFound",
            "details": { "name": "one", "kind": "configmaps" }, "code": 404 }"#;
        let maps = answering(StatusCode::NOT_FOUND, gone);
        assert_eq!(get_opt(&maps, "one").await.unwrap(), None);
        assert!(get_metadata_opt(&maps, "one").await.unwrap().is_none());
        let there = r#"{ "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "name": "one" } }"#;
        let found = get_opt(&answering(StatusCode::OK, there), "one").await.unwrap();
        assert_eq!(found.unwrap().metadata.name.as_deref(), Some("one"));
    }

    /// The answer for a path or a kind that is not served, of something else, of whoever stands in between.
    #[tokio::test]
    async fn a_404_that_does_not_name_it_is_a_failure() {
        for text in [
            "404 page not found\n",
            r#"{ "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "details": {},
                "message": "the server could not find the requested resource" }"#,
            r#"{ "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound" }"#,
            r#"{ "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
                "details": { "name": "default", "kind": "namespaces" } }"#,
            r#"{ "kind": "Status", "status": "Failure", "code": 404, "reason": "Other", "details": { "name": "one" } }"#,
            "<html><body>one: Not Found</body></html>",
            "",
        ] {
            let maps = answering(StatusCode::NOT_FOUND, text);
            assert!(get_opt(&maps, "one").await.is_err(), "{text}");
            assert!(get_metadata_opt(&maps, "one").await.is_err(), "{text}");
        }
    }
}
