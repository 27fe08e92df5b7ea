//! Observes one cluster, as data. Nothing is written here, and the only decision is what may be read.

use std::{sync::Arc, time::Duration};

use kube::{
    Api, Client,
    core::{ApiResource, GroupVersionKind},
};
use testplatform_apis::{
    hive_status::Blocked,
    hub,
    names::{ObjectName, ours},
    template::Backend,
};
use testplatform_runtime::{
    error::{Cause, Error, Reason, is_not_found, plain_message},
    lookup,
    redacted::Redacted,
    timeout::with_timeout,
};

use super::{
    caches::ClusterCaches,
    kind::{self, ClusterKind, Password, owner},
    object::Cluster,
    observed_state::{ClusterSettings, ClusterState, HolderState},
    plan::{may_read, needs_fresh_read},
};
use crate::{
    account::{self, CredentialsOwner, Issue, credentials_owner, guest_limiter::GuestLimiter},
    ephemeral_cluster::credentials::{Credentials, Published},
    publish::{CredentialsNamespace, CredentialsSource, Reader},
};

/// Looks.
pub(super) struct ClusterObserver {
    /// Kind of the observed clusters.
    pub kind: &'static dyn ClusterKind,
    /// The same, as the hub serves it.
    pub resource: ApiResource,
    /// The Secrets of the hub.
    pub vault: CredentialsNamespace,
    /// Cached objects.
    pub caches: Arc<ClusterCaches>,
    /// What administrators decided.
    pub settings: ClusterSettings,
    /// How long one call may take.
    pub patience: Duration,
    /// Leave to call clusters that were delivered.
    pub callers: GuestLimiter,
}

/// Credentials of a cluster as they were read.
struct FoundCredentials {
    source: CredentialsSource,
    lacks: Option<(Blocked, String)>,
}

impl ClusterObserver {
    /// Observes a cluster; None if the API server says that it does not exist any more.
    pub async fn observe(
        &self,
        cached: Arc<Cluster>,
        anew: bool,
    ) -> Result<Option<(Arc<Cluster>, ClusterState)>, Error> {
        let published = self.caches.published(&cached);
        let matters = needs_fresh_read(self.kind, &cached, &published, &self.settings);
        let object = if anew || matters {
            match self.object(cached.namespace(), cached.name()).await? {
                Some(object) => Arc::new(object),
                None => return Ok(None),
            }
        } else {
            cached
        };
        let holder =
            if matters { self.holder(&object).await? } else { holder_without_read(self.kind, &object) };
        // By the object as it is now, which may be another one of the same name.
        let published = self.caches.published(&object);
        let settings = self.settings.clone();
        let mut observed =
            ClusterState { settings, holder, source: CredentialsSource::Unread, lacks: None, published };
        if let Some(holder) = may_read(self.kind, &object, &observed) {
            let reader = Reader { vault: &self.vault, patience: self.patience };
            let found = self.read(&reader, &object, holder, &observed.published).await?;
            let announced = object.annotation(ours::CREDENTIALS_REVISION);
            let owner = owner(self.kind.backend(), &object);
            let mut published = observed.published.clone();
            reader.verify(&owner, announced, &found.source, &mut published).await?;
            let source = reader.verify_accepted(&self.callers, found.source, &published).await?;
            observed = ClusterState { source, lacks: found.lacks, published, ..observed };
        }
        Ok(Some((object, observed)))
    }

    /// The object of a name.
    pub async fn object(&self, namespace: &str, name: &str) -> Result<Option<Cluster>, Error> {
        let api = api(&self.vault.client(), namespace, &self.resource);
        self.call("get_cluster", lookup::get_opt(&api, name)).await
    }

    /// The object that has the credentials.
    async fn holder(&self, object: &Cluster) -> Result<HolderState, Error> {
        let (namespace, name) = match self.kind.holder(object) {
            kind::CredentialsHolder::Itself => return Ok(HolderState::Itself),
            kind::CredentialsHolder::NotNamed(_) => return Ok(HolderState::NotNamed),
            kind::CredentialsHolder::HostedCluster { namespace, name } => (namespace, name),
        };
        // They become parts of a path.
        if ObjectName::try_from(namespace).is_err() || ObjectName::try_from(name).is_err() {
            return Ok(HolderState::Gone);
        }
        let client = self.vault.client();
        let found = find(&client, self.patience, Backend::HyperShift, namespace, name).await?;
        Ok(found.map_or(HolderState::Gone, |found| HolderState::Here(Arc::new(found))))
    }

    /// The credentials, from where they are.
    async fn read(
        &self,
        reader: &Reader<'_>,
        object: &Cluster,
        holder: &Cluster,
        published: &Published,
    ) -> Result<FoundCredentials, Error> {
        let blocked = |(reason, message)| {
            Ok(FoundCredentials { source: CredentialsSource::Blocked(reason, message), lacks: None })
        };
        let place = match self.kind.place(holder) {
            Ok(place) => place,
            Err(why) => return blocked((Blocked::MetadataMissing, why.to_owned())),
        };
        let namespace = holder.namespace();
        match credentials_owner(object.annotation(account::WISH), published) {
            CredentialsOwner::Admin => {}
            CredentialsOwner::Account(wish) => {
                let (admin, revision) = match reader.admin(namespace, &place.kubeconfig).await? {
                    Ok(found) => found,
                    Err(why) => return blocked(why),
                };
                let issue = Issue { admin, wish, uid: object.uid().to_owned(), revision };
                return Ok(FoundCredentials {
                    source: CredentialsSource::Account(Box::new(issue)),
                    lacks: None,
                });
            }
            CredentialsOwner::Nobody(why) => return blocked((Blocked::SecretMissing, why.to_owned())),
        }
        let (config, config_version) = match reader.kubeconfig(namespace, &place.kubeconfig).await? {
            Ok(found) => found,
            Err(why) => return blocked(why),
        };
        let none = || (Vec::new(), "none".to_owned());
        let mut lacks = None;
        let (password, password_version) = match &place.password {
            Password::None => none(),
            Password::At(key) => match reader.value(namespace, key).await? {
                Ok(found) => found,
                Err(why) => return blocked(why),
            },
            Password::Perhaps { at: None, .. } => {
                let message = "the cluster does not name a Secret with a password".to_owned();
                lacks = Some((Blocked::MetadataMissing, message));
                none()
            }
            Password::Perhaps { at: Some(key), .. } => match reader.value(namespace, key).await? {
                Ok(found) => found,
                Err(why) => {
                    lacks = Some(why);
                    none()
                }
            },
        };
        let source = CredentialsSource::Complete(Credentials {
            kubeconfig: Redacted(config),
            password: Redacted(password),
            source_revision: format!("{namespace}:{config_version},{password_version}"),
        });
        Ok(FoundCredentials { source, lacks })
    }

    /// A call whose answer is not secret.
    async fn call<T>(
        &self,
        action: &'static str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Error> {
        with_timeout(action, self.patience, async { call.await.map_err(Cause::from) }).await
    }
}

/// The object with the credentials of a cluster of which nothing has to be read.
fn holder_without_read(kind: &dyn ClusterKind, object: &Cluster) -> HolderState {
    match kind.holder(object) {
        kind::CredentialsHolder::Itself => HolderState::Itself,
        kind::CredentialsHolder::NotNamed(_) | kind::CredentialsHolder::HostedCluster { .. } => {
            HolderState::NotNamed
        }
    }
}

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
            Ok(found) => return Ok(found),
            Err(error) => unsaid = Some(error),
        }
    }
    let Some(unsaid) = unsaid else { return Ok(None) };
    let ask = async { may_be_served(client, kind).await.map_err(Cause::from) };
    if with_timeout(ACTION, patience, ask).await? {
        let message =
            format!("it is not said whether there is such a {}: {}", kind.kind, plain_message(&unsaid));
        return Err(Cause::new(Reason::NotFound, message).during(ACTION));
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
    async fn a_page_that_is_not_there_is_no_cluster_that_is_gone() {
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
