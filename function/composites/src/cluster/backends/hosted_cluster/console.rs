//! URL of a cluster's console.

use testplatform_apis::{foreign::hosted_cluster::HostedCluster, text::bounded};

use super::{facts::HostedClusterFacts, version::completed_update};

/// Known once the console is there, for which there have to be nodes.
pub(in crate::cluster::backends) fn console_url(facts: &HostedClusterFacts<'_>) -> Option<String> {
    completed_update(facts.status)?;
    build_console_url(facts.remote)
}

/// The domain is in the spec as the hub has it: where it is that of the hub, HyperShift fills it in.
pub(super) fn build_console_url(remote: &HostedCluster) -> Option<String> {
    let spec = &remote.spec;
    let ingress = spec["configuration"]["ingress"]["domain"].as_str().filter(|d| !d.is_empty());
    let base = spec["dns"]["baseDomain"].as_str().filter(|d| !d.is_empty());
    let name = remote.metadata.name.as_str();
    let own = |base: &str| match spec["dns"]["baseDomainPrefix"].as_str() {
        Some("") => format!("apps.{base}"),
        prefix => format!("apps.{}.{base}", prefix.unwrap_or(name)),
    };
    let domain = ingress.map(str::to_owned).or_else(|| base.map(own))?;
    Some(bounded(&format!("https://console-openshift-console.{domain}"), 2048))
}
