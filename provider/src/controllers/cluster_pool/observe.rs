//! Client → pool and world. Everything is read from the API server in every pass: pools are few, and what is decided may remove clusters.

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams},
    core::GroupVersionKind,
};
use serde_json::Value;
use testplatform_runtime::lookup;

use super::{
    clusters::{PoolCluster, PoolClusters},
    pool::{Pool, Unread},
};

/// Labels that Hive gives to the ClusterDeployments of a pool.
pub(super) const LABELS: [&str; 2] =
    ["hive.openshift.io/clusterpool-namespace", "hive.openshift.io/clusterpool-name"];

/// A kind of Hive's.
pub(super) fn hive(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("hive.openshift.io", "v1", kind))
}

/// Lookup result for a pool.
pub(super) enum PoolLookup {
    /// Nothing, or a pool that the function did not make.
    Nothing,
    /// One of ours that is left alone, because it cannot be read.
    Broken,
    /// One of ours.
    Pool(Box<Observed>),
}

/// A pool and what is around it.
pub(super) struct Observed {
    /// The object itself: what is written refers to it.
    pub object: DynamicObject,
    pub pool: Pool,
    pub clusters: PoolClusters,
}

/// Reads a pool.
pub(super) async fn observe(client: &Client, namespace: &str, name: &str) -> kube::Result<PoolLookup> {
    let pools: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &hive("ClusterPool"));
    let Some(object) = lookup::get_opt(&pools, name).await? else { return Ok(PoolLookup::Nothing) };
    let pool = match Pool::read(&json(&object)?) {
        Ok(pool) => pool,
        Err(Unread::NotOurs) => return Ok(PoolLookup::Nothing),
        Err(Unread::Broken(why)) => {
            tracing::warn!(namespace, clusterpool = name, why, "pool skipped");
            return Ok(PoolLookup::Broken);
        }
    };
    let clusters = PoolClusters {
        clusters: clusters(client, namespace, name).await?,
        waiting: count_waiting_claims(client, namespace, name).await?,
        release_image: release_image(client, &pool.image_set).await?,
        namesakes: namesakes(client, namespace, name).await?,
    };
    Ok(PoolLookup::Pool(Box::new(Observed { object, pool, clusters })))
}

async fn clusters(client: &Client, namespace: &str, name: &str) -> kube::Result<Vec<PoolCluster>> {
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &hive("ClusterDeployment"));
    let labelled = ListParams::default().labels(&format!("{}={namespace},{}={name}", LABELS[0], LABELS[1]));
    let mut clusters = Vec::new();
    for object in all.list(&labelled).await? {
        clusters.extend(PoolCluster::read(&json(&object)?, namespace, name));
    }
    Ok(clusters)
}

/// Claims for which Hive has no cluster yet.
async fn count_waiting_claims(client: &Client, namespace: &str, name: &str) -> kube::Result<usize> {
    let claims: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &hive("ClusterClaim"));
    let waits = |claim: &&DynamicObject| {
        let spec = &claim.data["spec"];
        let bound = spec["namespace"].as_str().is_some_and(|n| !n.is_empty());
        spec["clusterPoolName"] == name && !bound && claim.metadata.deletion_timestamp.is_none()
    };
    Ok(claims.list(&ListParams::default()).await?.items.iter().filter(waits).count())
}

async fn release_image(client: &Client, image_set: &str) -> kube::Result<Option<String>> {
    if image_set.is_empty() {
        return Ok(None);
    }
    let sets: Api<DynamicObject> = Api::all_with(client.clone(), &hive("ClusterImageSet"));
    let set = lookup::get_opt(&sets, image_set).await?;
    Ok(set.and_then(|s| s.data["spec"]["releaseImage"].as_str().filter(|r| !r.is_empty()).map(str::to_owned)))
}

async fn namesakes(client: &Client, namespace: &str, name: &str) -> kube::Result<Vec<String>> {
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &hive("ClusterPool"));
    let named = ListParams::default().fields(&format!("metadata.name={name}"));
    let found = all.list(&named).await?;
    let mut namesakes: Vec<String> =
        found.into_iter().filter_map(|p| p.metadata.namespace).filter(|n| n != namespace).collect();
    namesakes.sort();
    Ok(namesakes)
}

fn json(object: &DynamicObject) -> kube::Result<Value> {
    serde_json::to_value(object).map_err(kube::Error::SerdeError)
}
