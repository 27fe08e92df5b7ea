//! A ConfigMap with an order, as it was read.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use testplatform_apis::bundle::{self, Order, Report};

use crate::orders::{Marks, deleted, note};

/// What is on it.
pub(super) const MARKS: Marks = Marks {
    label: bundle::LABEL,
    order: bundle::ORDER,
    report: bundle::REPORT,
    finalizer: bundle::FINALIZER,
};

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
        Self {
            order: MARKS.order(map),
            report: MARKS.report(map),
            cluster: note(map, bundle::CLUSTER).filter(|uid| !uid.is_empty()).cloned(),
            holds: MARKS.holds(map),
            deleted: deleted(map),
        }
    }
}
