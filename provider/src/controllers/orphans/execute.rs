//! Writes on a hub: the record of the owner, and the calls that end an orphan. Each names uid and version of the object that was read.

use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Patch, Preconditions},
};
use serde_json::{Value, json};
use testplatform_apis::{
    claim::COMPOSITE_KIND,
    foreign::object::{API_VERSION, NAMESPACED_API_VERSION},
    names::{ObjectName, ours},
};
use testplatform_runtime::{
    apply::patch_params,
    error::{Cause, Reason, is_not_found, is_object_not_found},
    lookup::get_metadata_opt,
};

use super::{
    observe::{composite_resource, object_resource},
    owners::is_deleted,
    remote::{RemoteObject, RemoteRef},
    teardown::{TeardownCall, next_call},
};
use crate::{config::Carried, sparse_object::PartialObject};

/// Records the uid of this Konflux cluster on a remote object that a composite owns. Returns whether it is recorded now.
pub(super) async fn record_owner(hub: &Client, remote: &RemoteRef, uid: &str) -> Result<bool, Cause> {
    let api: Api<PartialObject> = api_of(hub, remote);
    let patch = Patch::Merge(json!({ "metadata": {
        "uid": remote.uid, "annotations": { ours::KONFLUX_CLUSTER_UID: uid },
    } }));
    match api.patch(&remote.name, &patch_params(), &patch).await {
        Err(error) if is_object_not_found(&error, &remote.name) => Ok(false),
        other => Ok(other.map(|_| true)?),
    }
}

/// Ends an orphan: one call, after everything that could own it was read once more.
pub(super) async fn end_orphan(
    konflux: &Client,
    hub: &Client,
    remote: &RemoteObject,
    flavours: &[Carried],
) -> Result<TeardownCall, Cause> {
    has_no_owner(konflux, remote, flavours).await?;
    let identity = &remote.identity;
    let api: Api<DynamicObject> = api_of(hub, identity);
    let current = match api.get(&identity.name).await {
        Err(error) if is_object_not_found(&error, &identity.name) => return Ok(TeardownCall::Changed),
        other => other?,
    };
    let version = current.metadata.resource_version.clone();
    let current = serde_json::to_value(current).unwrap_or(Value::Null);
    let call = next_call(remote, &current);
    match call {
        TeardownCall::SetField => {
            let patch = Patch::Merge(json!({
                "metadata": { "uid": identity.uid, "resourceVersion": version },
                "spec": { "tearDownCluster": true },
            }));
            api.patch(&identity.name, &patch_params(), &patch).await?;
        }
        TeardownCall::Delete => {
            let preconditions = Preconditions { uid: Some(identity.uid.clone()), resource_version: version };
            let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
            api.delete(&identity.name, &params).await?;
        }
        TeardownCall::AwaitHub | TeardownCall::Changed => {}
    }
    Ok(call)
}

/// Fails if a composite or an Object of its name exists by now, unless the Object is deleted too. A flavour that is not configured need not be served.
async fn has_no_owner(konflux: &Client, remote: &RemoteObject, flavours: &[Carried]) -> Result<(), Cause> {
    let name = &remote.identity.name;
    let is_optional = |flavour: Carried| !flavours.contains(&flavour);
    let composites: Api<PartialObject> = Api::all_with(konflux.clone(), &composite_resource(Carried::Claims));
    absent(&composites, COMPOSITE_KIND, name, is_optional(Carried::Claims)).await?;
    let objects: Api<PartialObject> = Api::all_with(konflux.clone(), &object_resource(API_VERSION));
    let tenant = remote.tenant.as_deref().filter(|tenant| ObjectName::try_from(*tenant).is_ok());
    let namespaced = object_resource(NAMESPACED_API_VERSION);
    let namespaced: Option<Api<PartialObject>> =
        tenant.map(|tenant| Api::namespaced_with(konflux.clone(), tenant, &namespaced));
    for object in [format!("managed-{name}"), format!("credentials-{name}")] {
        absent(&objects, "Object", &object, is_optional(Carried::Claims)).await?;
        if let Some(namespaced) = &namespaced {
            absent(namespaced, "Object", &object, is_optional(Carried::TestClusters)).await?;
        }
    }
    Ok(())
}

async fn absent(api: &Api<PartialObject>, kind: &str, name: &str, is_optional: bool) -> Result<(), Cause> {
    match get_metadata_opt(api, name).await {
        Ok(None) => Ok(()),
        Ok(Some(found)) if kind == "Object" && is_deleted(&found.metadata) => Ok(()),
        Ok(Some(_)) => Err(Cause::new(Reason::Conflict, format!("{kind} {name} exists by now"))),
        Err(error) if is_optional && is_not_found(&error) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn api_of<K>(hub: &Client, remote: &RemoteRef) -> Api<K>
where
    K: kube::Resource<DynamicType = kube::core::ApiResource, Scope = kube::core::DynamicResourceScope>,
{
    Api::namespaced_with(hub.clone(), &remote.namespace, &remote.kind.resource())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;
    use crate::config::RemoteKind;

    /// A Konflux cluster without owners, which does not serve the kinds whose paths begin so.
    fn without(paths: &'static [&'static str]) -> Client {
        let service = tower::service_fn(move |request: Request<Body>| {
            let path = request.uri().path();
            let text = if paths.iter().any(|missing| path.starts_with(missing)) {
                "404 page not found".to_owned()
            } else {
                let name = path.rsplit('/').next().unwrap_or_default();
                let details = json!({ "name": name });
                json!({ "kind": "Status", "status": "Failure", "message": "not found", "reason": "NotFound", "code": 404,
                    "details": details })
                .to_string()
            };
            let mut response = Response::new(Body::from(text.into_bytes()));
            *response.status_mut() = http::StatusCode::NOT_FOUND;
            async move { Ok::<_, Infallible>(response) }
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn a_flavour_that_is_not_configured_need_not_be_served() {
        use Carried::{Claims, TestClusters};
        const OF_CLAIMS: &[&str] =
            &["/apis/ci.openshift.org/v1alpha1/xtestplatformclusters", "/apis/kubernetes.crossplane.io"];
        const OF_TEST_CLUSTERS: &[&str] = &["/apis/kubernetes.m.crossplane.io"];
        let remote = RemoteObject {
            identity: RemoteRef {
                hub: "hub".into(),
                kind: RemoteKind::EphemeralCluster,
                namespace: "ns".into(),
                name: "lost".into(),
                uid: "u".into(),
            },
            tenant: Some("tenant-a".into()),
            created: None,
            deleted: None,
            konflux_cluster: None,
            konflux_cluster_uid: None,
            dependent: false,
        };
        let all = [Claims, TestClusters];
        for (missing, flavours, is_known) in [
            (&[][..], &all[..], true),
            (OF_CLAIMS, &[TestClusters][..], true),
            (OF_TEST_CLUSTERS, &[Claims][..], true),
            (OF_CLAIMS, &all[..], false),
            (OF_TEST_CLUSTERS, &all[..], false),
        ] {
            let found = has_no_owner(&without(missing), &remote, flavours).await;
            assert_eq!(found.is_ok(), is_known, "{missing:?} {flavours:?}: {found:?}");
        }
    }
}
