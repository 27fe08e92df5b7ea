//! Prerequisite Objects of a cluster by template: one for bundles on the hub, and one for a cloud credential.

use serde::de::DeserializeOwned;
use testplatform_apis::{cloud, json, names::ours, prerequisites};

use super::tenant_credentials::ObservedObject;

/// Composition resource name of the Object with the request for a cloud credential.
pub const CLOUD: &str = "cloud-credential";
/// Composition resource name of the Object with the request for bundles on the hub.
pub const PREREQUISITES: &str = "prerequisites";

/// Both, sorted by name. Only Objects with our label count: another step may use the same names.
pub const PREREQUISITE_RESOURCES: [&str; 2] = [CLOUD, PREREQUISITES];

/// Placement of the cluster, as decided with its prerequisites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrerequisitePlacement<'o> {
    /// Name of the hub's ProviderConfig.
    pub hub: &'o str,
    /// The namespace there.
    pub namespace: &'o str,
    /// Name of the object that represents the cluster.
    pub name: &'o str,
    /// Namespace of published credentials there.
    pub credentials_namespace: Option<&'o str>,
}

/// Placement that such an Object records.
pub fn read_placement<'o>(name: &str, part: &'o ObservedObject) -> Option<PrerequisitePlacement<'o>> {
    let metadata = &part.manifest()["metadata"];
    let suffix = if name == CLOUD { cloud::SUFFIX } else { prerequisites::SUFFIX };
    Some(PrerequisitePlacement {
        hub: Some(part.object.spec.provider_config_ref.name.as_str()).filter(|hub| !hub.is_empty())?,
        namespace: metadata["namespace"].as_str()?,
        name: metadata["name"].as_str()?.strip_suffix(suffix)?,
        credentials_namespace: part.object.metadata.annotation(ours::CREDENTIALS_NAMESPACE),
    })
}

/// Answer of the hub-side provider. None: nothing yet, or nothing readable.
pub fn read_answer<R: DeserializeOwned>(part: &ObservedObject, annotation: &str) -> Option<R> {
    let remote = part.object.status.at_provider.manifest.as_ref()?;
    json::read_text(remote.metadata.annotation(annotation)?).ok()
}
