//! A ConfigMap with an order, as it was read.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use testplatform_apis::{
    bundle::{self, Order, Report},
    redact::redacted,
};

/// The most that is said of why an order cannot be read, in characters.
const MOST: usize = 256;

/// What a ConfigMap says.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// What is to be done; or why that cannot be read, in a sentence.
    pub order: Result<Order, String>,
    /// What was told last; nothing of it, if that cannot be read.
    pub report: Report,
    /// Uid of the object in whose cluster it was begun.
    pub cluster: Option<String>,
    /// Whether our finalizer stands on it.
    pub holds: bool,
    /// Since when it is being deleted, by the API server's clock.
    pub deleted: Option<Timestamp>,
}

impl Map {
    /// Reads a ConfigMap.
    pub fn read(map: &ConfigMap) -> Self {
        let note = |key| map.metadata.annotations.as_ref().and_then(|notes| notes.get(key));
        let text = map.data.as_ref().and_then(|data| data.get(bundle::ORDER));
        let order = text.map_or_else(
            || Err(format!("the ConfigMap has no key {}", bundle::ORDER)),
            |text| {
                serde_json::from_str(text).map_err(|error| {
                    redacted(
                        &format!("what the ConfigMap has as {} is no order: {error}", bundle::ORDER),
                        MOST,
                    )
                })
            },
        );
        let report = note(bundle::REPORT).and_then(|text| serde_json::from_str(text).ok());
        let finalizers = map.metadata.finalizers.as_deref().unwrap_or_default();
        Self {
            order,
            report: report.unwrap_or_default(),
            cluster: note(bundle::CLUSTER).filter(|uid| !uid.is_empty()).cloned(),
            holds: finalizers.iter().any(|finalizer| finalizer == bundle::FINALIZER),
            deleted: map.metadata.deletion_timestamp.as_ref().map(|at| at.0),
        }
    }
}
