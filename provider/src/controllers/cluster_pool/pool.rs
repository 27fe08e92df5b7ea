//! A ClusterPool, as far as it is read.

use serde::Deserialize as _;
use serde_json::Value;
use testplatform_apis::{
    foreign::cluster_pool::ClusterPool,
    names::ours,
    pool::PlatformKind,
    pool_report::{Ceiling, PoolRequest, PoolStatus},
};

/// A pool that Git asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Size: number of unclaimed clusters.
    pub size: i64,
    /// Running count: number of running clusters.
    pub running_count: i64,
    /// How many clusters it may have of all sorts, claimed ones included; none: as many as it likes.
    pub most: Option<i64>,
    /// Whether its clusters cannot be stopped.
    pub always_runs: bool,
    /// The Secret whose credentials new clusters are made with.
    pub credentials: Option<String>,
    /// The ClusterImageSet that new clusters are made from.
    pub image_set: String,
    /// Request of the function.
    pub request: PoolRequest,
    /// Status of the last reconcile; None before the first.
    pub known: Option<PoolStatus>,
}

/// Reasons to ignore a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The function did not make it.
    NotOurs,
    /// Our own annotation cannot be read: the started work is unknown, and nothing new is started on top of it.
    Broken(String),
}

impl Pool {
    /// Reads a ClusterPool.
    ///
    /// # Errors
    /// With why it is left alone.
    pub fn read(object: &Value) -> Result<Self, Unread> {
        let pool = ClusterPool::deserialize(object).map_err(|e| Unread::Broken(e.to_string()))?;
        let annotation = |key| pool.metadata.annotation(key);
        let request = annotation(ours::POOL_REQUEST).ok_or(Unread::NotOurs)?;
        let broken = |key: &str, why: serde_json::Error| Unread::Broken(format!("annotation {key}: {why}"));
        let request: PoolRequest =
            serde_json::from_str(request).map_err(|e| broken(ours::POOL_REQUEST, e))?;
        let known = annotation(ours::POOL_STATUS).map(PoolStatus::from_annotation).transpose();
        let known = known.map_err(|e| broken(ours::POOL_STATUS, e))?;
        let platform = PlatformKind::ALL.into_iter().find(|p| pool.spec["platform"][p.as_str()].is_object());
        let credentials = platform.and_then(|p| {
            pool.spec["platform"][p.as_str()]["credentialsSecretRef"]["name"]
                .as_str()
                .filter(|n| !n.is_empty())
        });
        Ok(Self {
            size: pool.spec["size"].as_i64().unwrap_or_default(),
            running_count: pool.spec["runningCount"].as_i64().unwrap_or_default(),
            most: most(&pool.spec),
            always_runs: platform.is_some_and(PlatformKind::always_runs),
            credentials: credentials.map(str::to_owned),
            image_set: pool.spec["imageSetRef"]["name"].as_str().unwrap_or_default().to_owned(),
            deleting: pool.metadata.deletion_timestamp.is_some(),
            name: pool.metadata.name,
            namespace: pool.metadata.namespace,
            request,
            known,
        })
    }
}

/// Hive counts every cluster against `maxSize`, and uses each entry of an inventory for one of them.
fn most(spec: &Value) -> Option<i64> {
    let entries = spec["inventory"].as_array().map(|all| i64::try_from(all.len()).unwrap_or(i64::MAX));
    spec["maxSize"].as_i64().into_iter().chain(entries.filter(|count| *count > 0)).min()
}

/// No more than so many clusters.
pub(super) const fn at_most(size: i64, running_count: Option<i64>) -> Ceiling {
    Ceiling { size, running_count }
}
