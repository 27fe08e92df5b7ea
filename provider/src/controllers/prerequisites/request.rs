//! A ConfigMap with an order, as it was read.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use testplatform_apis::{
    bundle::BundleReport,
    prerequisites::{self, PrerequisiteRequestSpec},
};

use super::objects::RequestOwner;
use crate::manifests::requests::{RequestKeys, annotation, deletion_timestamp};

/// Keys of a bundle request.
pub(super) const MARKS: RequestKeys = RequestKeys {
    label: prerequisites::LABEL,
    order: prerequisites::ORDER,
    report: prerequisites::REPORT,
    finalizer: prerequisites::FINALIZER,
};

/// Annotation on the ConfigMap: start of the deletion of the created objects. It has no other reader.
pub const REMOVING: &str = "testplatform.ci.openshift.org/prerequisites-removing";

/// Content of a request's ConfigMap.
#[derive(Clone, Debug, PartialEq)]
pub struct PrerequisiteRequest {
    /// Owner of everything that the request creates: the ConfigMap itself.
    pub owner: RequestOwner,
    /// Parsed request, or the parse error as a sentence.
    pub order: Result<PrerequisiteRequestSpec, String>,
    /// Last report; empty if it cannot be read.
    pub report: BundleReport,
    /// Whether our finalizer is present.
    pub holds: bool,
    /// Since when it is being deleted, by the API server's clock.
    pub deleted: Option<Timestamp>,
    /// Since when what was made is being deleted.
    pub removing: Option<Timestamp>,
}

impl PrerequisiteRequest {
    /// Reads a ConfigMap.
    pub fn read(map: &ConfigMap) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let metadata = &map.metadata;
        Self {
            owner: RequestOwner {
                namespace: text(&metadata.namespace),
                name: text(&metadata.name),
                uid: text(&metadata.uid),
            },
            order: MARKS.parse_request(map),
            report: MARKS.parse_report(map),
            holds: MARKS.has_finalizer(map),
            deleted: deletion_timestamp(map),
            removing: annotation(map, REMOVING).and_then(|at| at.parse().ok()),
        }
    }
}
