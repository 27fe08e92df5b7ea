//! A ConfigMap with an order, and the Secret of its name, as they were read.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use testplatform_apis::{
    cloud::{self, CloudCredentialReport, CredentialRequestSpec},
    redact::redact_text,
    template::Backend,
};

use super::plan::StoredSecret;
use crate::manifests::requests::{annotation, deletion_timestamp};

/// Annotation on the ConfigMap: start of the deletion, if it takes more than one reconcile. It has no other reader.
pub const REMOVING: &str = "testplatform.ci.openshift.org/cloud-credential-removing";

/// Maximum length of a parse error, in characters.
const MOST: usize = 256;

/// Content of a request's ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialRequest {
    /// Parsed request, or the parse error as a sentence.
    pub order: Result<CredentialRequestSpec, String>,
    /// Last report; empty if it cannot be read.
    pub report: CloudCredentialReport,
    /// Whether our finalizer is present.
    pub holds: bool,
    /// Since when it is being deleted, by the API server's clock.
    pub deleted: Option<Timestamp>,
    /// Since when what was made is being deleted.
    pub removing: Option<Timestamp>,
    /// Name of the cluster's object; for an unreadable request, the name that its ConfigMap implies.
    pub cluster: String,
}

impl CredentialRequest {
    /// Reads a ConfigMap.
    pub fn from_config_map(map: &ConfigMap) -> Self {
        let text = map.data.as_ref().and_then(|data| data.get(cloud::ORDER));
        let order = text.map_or_else(
            || Err(format!("the ConfigMap has no key {}", cloud::ORDER)),
            |text| {
                let order: CredentialRequestSpec = serde_json::from_str(text).map_err(|error| {
                    redact_text(
                        &format!("the ConfigMap's key {} is not a request: {error}", cloud::ORDER),
                        MOST,
                    )
                })?;
                match find_flaw(&order) {
                    Some(flaw) => Err(flaw),
                    None => Ok(order),
                }
            },
        );
        let report = annotation(map, cloud::REPORT);
        let name = map.metadata.name.as_deref().unwrap_or_default();
        let cluster = order.as_ref().map_or_else(
            |_| name.strip_suffix(cloud::SUFFIX).unwrap_or(name).to_owned(),
            |order| order.cluster.name.to_string(),
        );
        let finalizers = map.metadata.finalizers.as_deref().unwrap_or_default();
        Self {
            order,
            report: report.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default(),
            holds: finalizers.iter().any(|finalizer| finalizer == cloud::FINALIZER),
            deleted: deletion_timestamp(map),
            removing: annotation(map, REMOVING).and_then(|at| at.parse().ok()),
            cluster,
        }
    }
}

fn find_flaw(order: &CredentialRequestSpec) -> Option<String> {
    let is_of_it = |backend: Backend| {
        let kind = backend.cluster_kind();
        order.cluster.group == kind.group && order.cluster.kind == kind.kind
    };
    if !Backend::with_cloud_credentials().any(is_of_it) {
        let name =
            |backend: Backend| format!("{} of {}", backend.cluster_kind().kind, backend.descriptor().title);
        let known: Vec<String> = Backend::with_cloud_credentials().map(name).collect();
        return Some(format!("cluster of the order is not a {}", known.join(" or ")));
    }
    order.find_flaw().map(str::to_owned)
}

/// State of the Secret of the request's name. A Secret is ours if its record can be read and, where the request can be read, names the same
/// composite.
pub fn stored_secret(secret: Option<&Secret>, order: Option<&CredentialRequestSpec>) -> StoredSecret {
    let Some(secret) = secret else { return StoredSecret::Absent };
    let text = secret.metadata.annotations.as_ref().and_then(|notes| notes.get(cloud::RECORD));
    let record = text.and_then(|text| serde_json::from_str::<super::record::CredentialRecord>(text).ok());
    match record {
        Some(record) if order.is_none_or(|order| order.uid == record.uid) => {
            let filled = secret.data.as_ref().is_some_and(|data| data.contains_key(cloud::CLOUDS));
            StoredSecret::Ours { record, filled }
        }
        Some(_) | None => StoredSecret::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn unreadable_request_concerns_the_cluster_of_its_name() {
        let mut map = ConfigMap::default();
        map.metadata.name = Some("one-cloud-credential".into());
        map.data = Some(BTreeMap::from([(cloud::ORDER.to_owned(), "{".to_owned())]));
        map.metadata.annotations =
            Some(BTreeMap::from([(REMOVING.to_owned(), "2026-03-02T00:00:00Z".to_owned())]));
        let read = CredentialRequest::from_config_map(&map);
        assert!(read.order.is_err());
        assert_eq!((read.cluster.as_str(), read.removing), ("one", "2026-03-02T00:00:00Z".parse().ok()));
    }
}
