//! The Objects of what comes ahead of a cluster by template: prerequisites, and a credential of the cloud.

use serde::de::DeserializeOwned;
use testplatform_apis::{cloud, json, names::ours, prerequisites};

use super::tenant_credentials::ObservedObject;

/// Composition resource name of the Object with the ConfigMap that orders a credential of the cloud.
pub const CLOUD: &str = "cloud-credential";
/// Of the one with the ConfigMap that says what the hub has to have before.
pub const PREREQUISITES: &str = "prerequisites";

/// Both, in the order of names. What another step calls so is its own: ours have our label.
pub const PREREQUISITE_RESOURCES: [&str; 2] = [CLOUD, PREREQUISITES];

/// Where it was decided that the cluster is to be, by the order for what comes ahead of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrerequisitePlacement<'o> {
    /// Name of the hub's ProviderConfig.
    pub hub: &'o str,
    /// The namespace there.
    pub namespace: &'o str,
    /// Name of the object that stands for the cluster.
    pub name: &'o str,
    /// Namespace of published credentials there.
    pub credentials_namespace: Option<&'o str>,
}

/// What such an Object tells of where the cluster is to be.
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

/// What the hub-side provider answered. None: nothing yet, or nothing that can be read.
pub fn read_answer<R: DeserializeOwned>(part: &ObservedObject, annotation: &str) -> Option<R> {
    let remote = part.object.status.at_provider.manifest.as_ref()?;
    json::read_text(remote.metadata.annotation(annotation)?).ok()
}
