//! Complete listings, page by page, of metadata alone where that is enough. An error on any page is an error of the listing.
//!
//! Nothing comes from a cache: without a resource version the API server answers with its latest state.

use kube::{
    Client, Resource as _,
    api::{DynamicObject, ListParams},
    core::{ApiResource, Request},
};
use serde::Deserialize;

use crate::{
    execute::{Cause, Reason, error::is_not_found},
    partial::{PAGE, PartialObject},
};

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
    items: Vec<PartialObject>,
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
            Err(error) if is_not_found(&error) && params.continue_token.is_none() => return Ok(false),
            Err(error) => {
                return Err(
                    Cause::from(error).at(&format!("cannot list {}.{}", resource.plural, resource.group))
                );
            }
            Ok(text) => text,
        };
        let page: ObjectPage = serde_json::from_str(&text).map_err(|_| unreadable(resource))?;
        page.items.into_iter().for_each(&mut on);
        token = page.metadata.token.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(true);
        }
    }
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
