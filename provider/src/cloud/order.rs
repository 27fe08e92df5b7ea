//! A ConfigMap with an order, and the Secret of its name, as they were read.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use testplatform_apis::{
    cloud::{self, Order, Report},
    redact::redacted,
    template::Backend,
};

use super::next::Stored;

/// The most that is said of why an order cannot be read, in characters.
const MOST: usize = 256;

/// What a ConfigMap says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// What is wanted; or why that cannot be read, in a sentence.
    pub order: Result<Order, String>,
    /// What was told last; nothing of it, if that cannot be read.
    pub report: Report,
    /// Whether our finalizer stands on it.
    pub holds: bool,
    /// Since when it is being deleted, by the API server's clock.
    pub deleted: Option<Timestamp>,
}

impl Map {
    /// Reads a ConfigMap.
    pub fn read(map: &ConfigMap) -> Self {
        let text = map.data.as_ref().and_then(|data| data.get(cloud::ORDER));
        let order = text.map_or_else(
            || Err(format!("the ConfigMap has no key {}", cloud::ORDER)),
            |text| {
                let order: Order = serde_json::from_str(text).map_err(|error| {
                    redacted(
                        &format!("what the ConfigMap has as {} is no order: {error}", cloud::ORDER),
                        MOST,
                    )
                })?;
                match flaw(&order) {
                    Some(flaw) => Err(flaw.to_owned()),
                    None => Ok(order),
                }
            },
        );
        let report = map.metadata.annotations.as_ref().and_then(|notes| notes.get(cloud::REPORT));
        let finalizers = map.metadata.finalizers.as_deref().unwrap_or_default();
        Self {
            order,
            report: report.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default(),
            holds: finalizers.iter().any(|finalizer| finalizer == cloud::FINALIZER),
            deleted: map.metadata.deletion_timestamp.as_ref().map(|at| at.0),
        }
    }
}

fn flaw(order: &Order) -> Option<&'static str> {
    let kind = Backend::ClusterApi.cluster_kind();
    if order.cluster.group != kind.group || order.cluster.kind != kind.kind {
        return Some("cluster of the order is no Cluster of Cluster API");
    }
    order.flaw()
}

/// What the Secret of the order's name is. Ours is what has a record that can be read and, where the order can be read, is of its composite.
pub fn stored(secret: Option<&Secret>, order: Option<&Order>) -> Stored {
    let Some(secret) = secret else { return Stored::Absent };
    let text = secret.metadata.annotations.as_ref().and_then(|notes| notes.get(cloud::RECORD));
    let record = text.and_then(|text| serde_json::from_str::<super::record::Record>(text).ok());
    match record {
        Some(record) if order.is_none_or(|order| order.uid == record.uid) => {
            let filled = secret.data.as_ref().is_some_and(|data| data.contains_key(cloud::CLOUDS));
            Stored::Ours { record, filled }
        }
        Some(_) | None => Stored::Foreign,
    }
}
