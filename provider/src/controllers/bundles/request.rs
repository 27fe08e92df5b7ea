//! A ConfigMap with an order, as it was read.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use testplatform_apis::bundle::{self, BundleReport, BundleRequestSpec};

use crate::manifests::requests::{RequestKeys, annotation, deletion_timestamp};

/// Keys of a bundle request.
pub(super) const REQUEST_KEYS: RequestKeys = RequestKeys {
    label: bundle::LABEL,
    order: bundle::ORDER,
    report: bundle::REPORT,
    finalizer: bundle::FINALIZER,
};

/// Content of a request's ConfigMap.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleRequest {
    /// Parsed request, or the parse error as a sentence.
    pub order: Result<BundleRequestSpec, String>,
    /// Last report; empty if it cannot be read.
    pub report: BundleReport,
    /// Uid of the object in whose cluster it was begun.
    pub cluster: Option<String>,
    /// Whether our finalizer is present.
    pub has_finalizer: bool,
    /// Since when it is being deleted, by the API server's clock.
    pub deleted: Option<Timestamp>,
}

impl BundleRequest {
    /// Reads a ConfigMap.
    pub fn from_config_map(map: &ConfigMap) -> Self {
        Self {
            order: REQUEST_KEYS.parse_request(map),
            report: REQUEST_KEYS.parse_report(map),
            cluster: annotation(map, bundle::CLUSTER).filter(|uid| !uid.is_empty()).cloned(),
            has_finalizer: REQUEST_KEYS.has_finalizer(map),
            deleted: deletion_timestamp(map),
        }
    }
}
