//! Reads of a cluster's object in any served version.

use std::time::Duration;

use kube::{
    Api, Client,
    core::{ApiResource, GroupVersionKind},
};
use testplatform_apis::{hub, template::Backend};
use testplatform_runtime::{
    error::{Cause, Error, Reason, is_not_found, plain_message},
    lookup,
    timeout::with_timeout,
};

use super::cluster_object::Cluster;

/// A kind, as a hub serves it.
pub(crate) fn resource(kind: hub::ResourceKind, version: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(kind.group, version, kind.kind), kind.plural)
}

/// Objects of a kind in a namespace.
pub(crate) fn api(client: &Client, namespace: &str, resource: &ApiResource) -> Api<Cluster> {
    Api::namespaced_with(client.clone(), namespace, resource)
}

/// Reads the object of a cluster, in any served version. None: it does not exist.
pub(crate) async fn find(
    client: &Client,
    patience: Duration,
    backend: Backend,
    namespace: &str,
    name: &str,
) -> Result<Option<Cluster>, Error> {
    let found = find_with_api(client, patience, backend, namespace, name).await?;
    Ok(found.map(|(_, cluster)| cluster))
}

/// The same, with the API of the version that serves it.
pub(crate) async fn find_with_api(
    client: &Client,
    patience: Duration,
    backend: Backend,
    namespace: &str,
    name: &str,
) -> Result<Option<(Api<Cluster>, Cluster)>, Error> {
    const ACTION: &str = "get_cluster";
    let kind = backend.cluster_kind();
    let mut unsaid = None;
    for version in kind.versions {
        let api = api(client, namespace, &resource(kind, version));
        let get = async {
            match lookup::get_opt(&api, name).await {
                // It is not said of the cluster, so perhaps of the version.
                Err(error) if is_not_found(&error) => Ok(Err(error)),
                found => Ok(Ok(found?)),
            }
        };
        match with_timeout(ACTION, patience, get).await? {
            Ok(found) => return Ok(found.map(|cluster| (api, cluster))),
            Err(error) => unsaid = Some(error),
        }
    }
    let Some(unsaid) = unsaid else { return Ok(None) };
    let ask = async { may_be_served(client, kind).await.map_err(Cause::from) };
    if with_timeout(ACTION, patience, ask).await? {
        let message =
            format!("it is not known whether there is such a {}: {}", kind.kind, plain_message(&unsaid));
        return Err(Cause::new(Reason::NotFound, message).with_action(ACTION));
    }
    Ok(None)
}

/// Whether there may be objects of a kind: removing a definition deletes all of its objects, and nothing should wait for them. Only discovery
/// can tell, in lists that also contain other kinds, so that no proxy can have made them up; and the objects may be stored in a version that we
/// do not support.
async fn may_be_served(client: &Client, kind: hub::ResourceKind) -> kube::Result<bool> {
    let groups = client.list_api_groups().await?.groups;
    // Some are always there.
    if groups.is_empty() {
        return Ok(true);
    }
    let of_it = groups.into_iter().filter(|group| group.name == kind.group);
    for version in of_it.flat_map(|group| group.versions) {
        let served = client.list_api_group_resources(&version.group_version).await?.resources;
        if served.iter().any(|resource| resource.name == kind.plural) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response, StatusCode};
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    const CLUSTER: &str = "/apis/hypershift.openshift.io/v1beta1/namespaces/clusters/hostedclusters/one";

    /// Observation of a hub that has these answers, and answers 404 to everything else.
    async fn found(answers: Vec<(&'static str, StatusCode, Value)>) -> Result<Option<Cluster>, Error> {
        let service = tower::service_fn(move |request: Request<Body>| {
            let known = answers.iter().find(|(path, ..)| *path == request.uri().path());
            let (code, text) = match known {
                Some((_, code, body)) => (*code, body.to_string()),
                None => (StatusCode::NOT_FOUND, "404 page not found".to_owned()),
            };
            let mut answer = Response::new(Body::from(text.into_bytes()));
            *answer.status_mut() = code;
            async move { Ok::<_, Infallible>(answer) }
        });
        let client = Client::new(service, "default");
        find(&client, Duration::from_secs(10), Backend::HyperShift, "clusters", "one").await
    }

    fn groups(of: &[(&str, &[&str])]) -> (&'static str, StatusCode, Value) {
        let group = |(name, versions): &(&str, &[&str])| {
            let version = |v: &&str| json!({ "groupVersion": format!("{name}/{v}"), "version": v });
            json!({ "name": name, "versions": versions.iter().map(version).collect::<Vec<_>>() })
        };
        let groups: Vec<Value> = of.iter().map(group).collect();
        let list = json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups });
        ("/apis", StatusCode::OK, list)
    }

    fn resources(path: &'static str, of: &[&str]) -> (&'static str, StatusCode, Value) {
        let resource = |name: &&str| json!({ "name": name, "singularName": "", "namespaced": true, "kind": "", "verbs": [] });
        let resources: Vec<Value> = of.iter().map(resource).collect();
        let list = json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "", "resources": resources });
        (path, StatusCode::OK, list)
    }

    #[tokio::test]
    async fn a_cluster_is_gone_if_the_hub_says_so_of_it() {
        let there =
            json!({ "kind": "HostedCluster", "metadata": { "name": "one", "namespace": "clusters" } });
        assert!(found(vec![(CLUSTER, StatusCode::OK, there)]).await.unwrap().is_some());
        let gone =
            json!({ "kind": "Status", "code": 404, "reason": "NotFound", "details": { "name": "one" } });
        assert!(found(vec![(CLUSTER, StatusCode::NOT_FOUND, gone)]).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn missing_page_is_no_missing_cluster() {
        const GROUP: &str = "hypershift.openshift.io";
        let served = |of: &[&str]| resources("/apis/hypershift.openshift.io/v1beta1", of);
        let elsewhere = resources("/apis/hypershift.openshift.io/v1", &["hostedclusters"]);
        let not_json = ("/apis", StatusCode::OK, json!("welcome"));
        for answers in [
            // Of discovery neither.
            vec![],
            vec![groups(&[])],
            vec![not_json],
            vec![groups(&[(GROUP, &["v1beta1"])])],
            // Served, so something else has answered.
            vec![
                groups(&[("apps", &["v1"]), (GROUP, &["v1beta1"])]),
                served(&["nodepools", "hostedclusters"]),
            ],
            // Stored, and served in a version that we do not know.
            vec![groups(&[(GROUP, &["v1beta1", "v1"])]), served(&["nodepools"]), elsewhere],
        ] {
            let told = format!("{answers:?}");
            let error = found(answers).await.unwrap_err();
            assert_eq!(error.action, "get_cluster", "{told}: {error}");
        }
    }

    /// They went with the definition, and nobody is to wait for them for ever.
    #[tokio::test]
    async fn of_a_kind_that_is_not_served_there_is_none() {
        const GROUP: &str = "hypershift.openshift.io";
        let served =
            resources("/apis/hypershift.openshift.io/v1beta1", &["nodepools", "hostedclusters/status"]);
        for answers in [vec![groups(&[("apps", &["v1"])])], vec![groups(&[(GROUP, &["v1beta1"])]), served]] {
            let told = format!("{answers:?}");
            assert!(found(answers).await.unwrap().is_none(), "{told}");
        }
    }
}
