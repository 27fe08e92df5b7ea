//! Observes the hub through a client. Lists are paged, and only the relevant fields of each object are kept.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Error,
    api::{ListParams, Request},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use testplatform_apis::{
    hub::{CONFIG_MAP, Facts, KEY, ResourceKind, cluster_class_key},
    template::Backend,
};
use testplatform_runtime::{
    error::{is_not_found, plain_message},
    lookup,
};

use super::{
    backend::in_the_making,
    observed_state::{BackendState, HubState},
};
use crate::config::{Agents, HubFacts};

/// Objects in a page: a HostedCluster has some twenty kilobytes.
const PAGE: u32 = 100;
/// Classes of clusters that are reported of a backend. Their names are read with each claim that has no hub yet.
const MAX_CLASSES: usize = 500;
/// Where hosts of an inventory are.
pub(super) const AGENTS: ResourceKind = ResourceKind {
    group: "agent-install.openshift.io",
    versions: &["v1beta1"],
    kind: "Agent",
    plural: "agents",
};

/// Published facts of the hub. None: there are none, or they cannot be read.
pub(super) async fn read_published(client: &Client, namespace: &str) -> kube::Result<Option<Facts>> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let map = lookup::get_opt(&maps, CONFIG_MAP).await?;
    Ok(map.and_then(|map| Facts::from_json(map.data?.get(KEY)?).ok()))
}

/// Observes everything that is published about the hub. A failed part is unknown; the rest is published.
pub(super) async fn observe_hub(client: &Client, config: &HubFacts) -> kube::Result<HubState> {
    let served = served_versions(client).await?;
    let best = |kind: &ResourceKind| {
        let versions = served.get(kind.group)?;
        kind.versions.iter().copied().find(|version| versions.iter().any(|v| v == version))
    };
    let mut observed = HubState { trouble: api_server_problem(client).await, ..HubState::default() };
    for backend in &config.backends {
        let kind = backend.cluster_kind();
        let found = match best(&kind) {
            Some(version) => count(client, *backend, version, config).await,
            None => not_served(&kind),
        };
        observed.backends.insert(*backend, found);
    }
    for (class, how) in &config.classes {
        let free = match &how.agents {
            Some(agents) => known_count(class, free(client, agents).await),
            None => None,
        };
        observed.classes.insert(class.clone(), free);
    }
    let reported = config.backends.iter().find(|backend| backend.descriptor().reports_api_version);
    observed.api_version = reported.and_then(|backend| best(&backend.cluster_kind())).map(str::to_owned);
    Ok(observed)
}

/// The versions of each API group.
async fn served_versions(client: &Client) -> kube::Result<BTreeMap<String, Vec<String>>> {
    let groups = client.list_api_groups().await?.groups;
    let versions = |group: &k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup| {
        group.versions.iter().map(|version| version.version.clone()).collect()
    };
    Ok(groups.iter().map(|group| (group.name.clone(), versions(group))).collect())
}

/// Problem that the API server reports about itself.
async fn api_server_problem(client: &Client) -> Option<String> {
    let request = http::Request::get("/readyz").body(vec![]).ok()?;
    let refused = client.request_text(request).await.err()?;
    // Where somebody between does not let us ask, nothing is known.
    let not_ready = matches!(refused, Error::Api(status) if status.code >= 500);
    not_ready.then(|| "its API server says that it is not ready".into())
}

fn not_served(kind: &ResourceKind) -> BackendState {
    let versions = kind.versions.join(" or ");
    BackendState::NotServed(format!("it serves no {} of {} in version {versions}", kind.plural, kind.group))
}

/// Fields that are read of an object of a cluster.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Counted {
    metadata: DeletionMetadata,
    status: Value,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct DeletionMetadata {
    deletion_timestamp: Option<Value>,
}

async fn count(client: &Client, backend: Backend, version: &str, config: &HubFacts) -> BackendState {
    let kind = backend.cluster_kind();
    let (mut clusters, mut provisioning) = (0, 0);
    let path = format!("/apis/{}/{version}/{}", kind.group, kind.plural);
    let counted = list_pages(client, &path, None, |object: &Counted| {
        clusters += 1;
        let goes = object.metadata.deletion_timestamp.is_some();
        provisioning += i64::from(!goes && in_the_making(backend, &object.status));
    });
    match counted.await {
        Ok(()) => BackendState::Counted {
            clusters,
            provisioning,
            versions: supported_versions(client, backend, config).await,
            cluster_classes: cluster_classes(client, backend).await,
        },
        // The group is there, and the kind is not.
        Err(error) if is_not_found(&error) => not_served(&kind),
        Err(error) => {
            tracing::warn!(%backend, error = plain_message(&error), "clusters not counted");
            BackendState::Unknown
        }
    }
}

/// Versions that a backend supports. None: it does not say.
async fn supported_versions(client: &Client, backend: Backend, config: &HubFacts) -> Vec<String> {
    #[derive(Deserialize)]
    struct Supported {
        versions: Vec<String>,
    }
    let Some((namespace, name)) = config.supported_versions(backend) else { return vec![] };
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let map = lookup::get_opt(&maps, name).await.unwrap_or_else(|error| {
        tracing::warn!(error = plain_message(&error), "supported versions not read");
        None
    });
    let text = map.and_then(|map| map.data?.remove(name)).unwrap_or_default();
    serde_json::from_str(&text).map(|supported: Supported| supported.versions).unwrap_or_default()
}

/// Fields that are read of a class of clusters.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ClusterClass {
    metadata: ClassMetadata,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ClassMetadata {
    name: String,
    namespace: Option<String>,
    deletion_timestamp: Option<Value>,
}

/// Classes of clusters, such as `ClusterClass` objects. None: the backend has none, or they cannot be listed.
async fn cluster_classes(client: &Client, backend: Backend) -> Option<Vec<String>> {
    let ResourceKind { group, versions, plural, .. } = backend.descriptor().cluster_class?;
    let path = format!("/apis/{group}/{}/{plural}", versions.first()?);
    let mut found = Vec::new();
    let listed = list_pages(client, &path, None, |class: &ClusterClass| {
        let ClassMetadata { name, namespace, deletion_timestamp } = &class.metadata;
        if deletion_timestamp.is_none() {
            found.push(cluster_class_key(namespace.as_deref(), name));
        }
    });
    if let Err(error) = listed.await {
        tracing::warn!(%backend, error = plain_message(&error), "{plural} not listed; claims that need a missing one are not refused");
        return None;
    }
    if found.len() > MAX_CLASSES {
        tracing::warn!(%backend, count = found.len(), "{plural} not reported: too many; claims that need a missing one are not refused");
        return None;
    }
    found.sort();
    Some(found)
}

/// Fields that are read of a host.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Agent {
    metadata: DeletionMetadata,
    spec: AgentSpec,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct AgentSpec {
    approved: bool,
    cluster_deployment_name: Option<Value>,
}

/// Hosts that may be used and are not.
async fn free(client: &Client, agents: &Agents) -> kube::Result<i64> {
    let mut free = 0;
    let ResourceKind { group, versions, plural, .. } = AGENTS;
    let version = versions.first().copied().unwrap_or_default();
    let path = format!("/apis/{group}/{version}/namespaces/{}/{plural}", agents.namespace);
    let labels: Vec<String> =
        agents.match_labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    list_pages(client, &path, Some(&labels.join(",")), |agent: &Agent| {
        let goes = agent.metadata.deletion_timestamp.is_some();
        let is_bound = agent.spec.cluster_deployment_name.is_some();
        free += i64::from(agent.spec.approved && !is_bound && !goes);
    })
    .await?;
    Ok(free)
}

fn known_count(class: &str, count: kube::Result<i64>) -> Option<i64> {
    count
        .inspect_err(|error| {
            tracing::warn!(class, error = plain_message(error), "free nodes not counted");
        })
        .ok()
}

#[derive(Deserialize)]
struct Page<T> {
    #[serde(default)]
    metadata: ListContinue,
    items: Vec<T>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ListContinue {
    r#continue: Option<String>,
}

/// Each object of a list, page by page.
async fn list_pages<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    labels: Option<&str>,
    mut each: impl FnMut(&T),
) -> kube::Result<()> {
    let mut parameters = ListParams::default().limit(PAGE);
    if let Some(labels) = labels {
        parameters = parameters.labels(labels);
    }
    loop {
        let request = Request::new(path).list(&parameters).map_err(Error::BuildRequest)?;
        let page: Page<T> = client.request(request).await?;
        page.items.iter().for_each(&mut each);
        match page.metadata.r#continue.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(()),
        }
    }
}
