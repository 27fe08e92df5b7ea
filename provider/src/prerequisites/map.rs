//! A ConfigMap with an order, as it was read.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use testplatform_apis::{
    bundle::Report,
    prerequisites::{self, Order},
};

use super::own::Owner;
use crate::orders::{Marks, deleted, note};

/// What is on it.
pub(super) const MARKS: Marks = Marks {
    label: prerequisites::LABEL,
    order: prerequisites::ORDER,
    report: prerequisites::REPORT,
    finalizer: prerequisites::FINALIZER,
};

/// Annotation on the ConfigMap: since when what was made is being deleted. Nobody else reads it.
pub const REMOVING: &str = "testplatform.ci.openshift.org/prerequisites-removing";

/// What a ConfigMap says.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Whose everything is that is made by it: it itself.
    pub owner: Owner,
    /// What is to be done; or why that cannot be read, in a sentence.
    pub order: Result<Order, String>,
    /// What was told last; nothing of it, if that cannot be read.
    pub report: Report,
    /// Whether our finalizer stands on it.
    pub holds: bool,
    /// Since when it is being deleted, by the API server's clock.
    pub deleted: Option<Timestamp>,
    /// Since when what was made is being deleted.
    pub removing: Option<Timestamp>,
}

impl Map {
    /// Reads a ConfigMap.
    pub fn read(map: &ConfigMap) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let metadata = &map.metadata;
        Self {
            owner: Owner {
                namespace: text(&metadata.namespace),
                name: text(&metadata.name),
                uid: text(&metadata.uid),
            },
            order: MARKS.order(map),
            report: MARKS.report(map),
            holds: MARKS.holds(map),
            deleted: deleted(map),
            removing: note(map, REMOVING).and_then(|at| at.parse().ok()),
        }
    }
}
