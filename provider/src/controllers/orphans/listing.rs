//! Complete listings, page by page, of metadata alone where that is enough. An error on any page is an error of the listing.
//!
//! Nothing comes from a cache: without a resource version the API server answers with its latest state.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup;
use kube::{
    Client, Resource as _,
    api::{DynamicObject, ListParams},
    core::{ApiResource, Request},
};
use serde::Deserialize;
use testplatform_runtime::error::{Cause, Reason, is_not_found};

use crate::sparse_object::{PAGE, PartialObject};

/// Objects on a page of metadata. Each takes a few kilobytes.
const METADATA_PAGE: u32 = 500;

/// The part of each object that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectPart {
    /// Its metadata.
    Metadata,
    /// The object.
    Everything,
}

/// One page.
#[derive(Deserialize)]
struct ObjectPage {
    #[serde(default)]
    metadata: PageMetadata,
    /// An API server writes `null` where a list of metadata is empty. Without the field it is no list.
    #[serde(deserialize_with = "Option::deserialize")]
    items: Option<Vec<PartialObject>>,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(rename = "continue", default)]
    token: Option<String>,
}

/// Calls `on` with every object of a kind, in a namespace or in all of them. Returns whether the API server serves the kind.
pub(super) async fn list_objects(
    client: &Client,
    resource: &ApiResource,
    namespace: Option<&str>,
    part: ObjectPart,
    mut on: impl FnMut(PartialObject),
) -> Result<bool, Cause> {
    let request = Request::new(DynamicObject::url_path(resource, namespace));
    let mut token = None;
    loop {
        let limit = match part {
            ObjectPart::Metadata => METADATA_PAGE,
            ObjectPart::Everything => PAGE,
        };
        let params = ListParams { limit: Some(limit), continue_token: token, ..ListParams::default() };
        let built = match part {
            ObjectPart::Metadata => request.list_metadata(&params),
            ObjectPart::Everything => request.list(&params),
        };
        let built = built.map_err(|error| Cause::new(Reason::Bug, error.to_string()))?;
        let text = match client.request_text(built).await {
            Err(error) if is_not_found(&error) && !is_served(client, resource).await? => return Ok(false),
            Err(error) => {
                return Err(
                    Cause::from(error).at(&format!("cannot list {}.{}", resource.plural, resource.group))
                );
            }
            Ok(text) => text,
        };
        let page: ObjectPage = serde_json::from_str(&text).map_err(|_| unreadable(resource))?;
        page.items.into_iter().flatten().for_each(&mut on);
        token = page.metadata.token.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(true);
        }
    }
}

/// Whether the API server serves a kind, by its own lists of groups and resources: 404 may come from any proxy in between.
async fn is_served(client: &Client, resource: &ApiResource) -> Result<bool, Cause> {
    let groups = client.list_api_groups().await?.groups;
    let is_version = |group: &APIGroup| {
        group.name == resource.group
            && group.versions.iter().any(|version| version.version == resource.version)
    };
    if !groups.iter().any(is_version) {
        return Ok(false);
    }
    let resources = client.list_api_group_resources(&resource.api_version).await?.resources;
    Ok(resources.iter().any(|served| served.name == resource.plural))
}

/// Like [`list_objects`], of a kind that has to be served.
pub(super) async fn list_served(
    client: &Client,
    resource: &ApiResource,
    namespace: Option<&str>,
    part: ObjectPart,
    on: impl FnMut(PartialObject),
) -> Result<(), Cause> {
    if list_objects(client, resource, namespace, part, on).await? {
        return Ok(());
    }
    let sentence = format!("{}.{} is not served: its definition is missing", resource.plural, resource.group);
    Err(Cause::new(Reason::NotFound, sentence))
}

fn unreadable(resource: &ApiResource) -> Cause {
    let sentence =
        format!("cannot list {}.{}: the answer cannot be understood", resource.plural, resource.group);
    Cause::new(Reason::Server, sentence)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response, StatusCode};
    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::config::RemoteKind;

    /// An API server that answers by path and query.
    fn answering(answer: impl Fn(&str) -> (u16, String) + Clone + Send + 'static) -> Client {
        let service = tower::service_fn(move |request: Request<Body>| {
            let (code, text) = answer(&request.uri().to_string());
            let mut response = Response::new(Body::from(text.into_bytes()));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            async move { Ok::<_, Infallible>(response) }
        });
        Client::new(service, "default")
    }

    async fn names(client: &Client) -> Result<(bool, Vec<String>), Cause> {
        let mut names = Vec::new();
        let kind = RemoteKind::EphemeralCluster.resource();
        let add = |object: PartialObject| names.extend(object.metadata.name);
        let served = list_objects(client, &kind, Some("ns"), ObjectPart::Metadata, add).await?;
        Ok((served, names))
    }

    /// An API server with one group, and nothing else.
    fn groups(uri: &str, name: &str) -> (u16, String) {
        if uri != "/apis" {
            return (404, "404 page not found".to_owned());
        }
        let version = json!({ "groupVersion": format!("{name}/v1"), "version": "v1" });
        let group = json!({ "name": name, "versions": [version] });
        (200, json!({ "kind": "APIGroupList", "groups": [group] }).to_string())
    }

    fn page(name: &str, next: &str) -> String {
        json!({ "metadata": { "continue": next }, "items": [{ "metadata": { "name": name } }] }).to_string()
    }

    #[tokio::test]
    async fn every_page_is_read() {
        let client =
            answering(|uri| (200, if uri.contains("continue=") { page("b", "") } else { page("a", "t") }));
        assert_eq!(names(&client).await, Ok((true, vec!["a".to_owned(), "b".to_owned()])));
    }

    #[tokio::test]
    async fn empty_list_of_metadata_has_null_items() {
        let client =
            answering(|_| (200, r#"{ "metadata": { "resourceVersion": "7" }, "items": null }"#.to_owned()));
        assert_eq!(names(&client).await, Ok((true, vec![])));
        for text in ["{}", r#"{ "metadata": {} }"#, r#"{ "items": {} }"#] {
            assert!(names(&answering(move |_| (200, text.to_owned()))).await.is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn a_page_that_fails_fails_the_listing() {
        fn second(uri: &str, code: u16, text: &str) -> (u16, String) {
            if uri.contains("continue=") { (code, text.to_owned()) } else { (200, page("a", "t")) }
        }
        for client in [answering(|uri| second(uri, 410, "{}")), answering(|uri| second(uri, 200, "{"))] {
            assert!(names(&client).await.is_err());
        }
    }

    /// 404 is the answer of anything in between, too.
    #[tokio::test]
    async fn unlisted_kind_is_not_served() {
        assert!(names(&answering(|_| (404, "404 page not found".to_owned()))).await.is_err());
        assert_eq!(names(&answering(|uri| groups(uri, "another"))).await, Ok((false, vec![])));
        // The group is there, and its resources cannot be listed.
        assert!(names(&answering(|uri| groups(uri, "ci.openshift.io"))).await.is_err());
    }
}
