//! Status of a HostedCluster and its NodePools → [`Health`].

use super::{HyperShiftRequest, cluster_conditions, facts::HostedClusterFacts, failures, rollout};
use crate::{
    cluster::{
        backends::{
            Health,
            common::templated::{BackendStatus, unobserved_health},
        },
        observed::Observed,
        request::{Templated, Validated},
    },
    text::bounded,
};
use testplatform_apis::foreign::hypershift::{HOSTED_CLUSTER, HostedCluster, conditions};

pub(super) fn assess_health(templated: &Templated, request: &Validated, observed: &Observed) -> Health {
    let mut health = unobserved_health(templated);
    let Some(facts) = HostedClusterFacts::from_observed(observed, HyperShiftRequest::from_request(templated))
    else {
        return health;
    };
    let (remote, status) = (facts.remote, facts.status);
    let sight = BackendStatus {
        kind: HOSTED_CLUSTER,
        metadata: &remote.metadata,
        api_answers: facts.api_answers(),
        is_up: facts.is_up(),
        has_started: true,
        terminal: failures::terminal_failures(&facts),
        degrading: failures::degrading_failures(&facts),
        transient: failures::transient_failures(&facts),
    };
    health.has_cluster = !status.conditions.is_empty() || remote.status.error.is_some();
    health.ready_since = facts.up_since().filter(|_| sight.is_up);
    health.unreadable.clone_from(&remote.status.error);
    health.version = rollout::completed_update(status).map(|update| bounded(&update.version, 64));
    health.api_server_url = status.control_plane_endpoint.value.url().map(|url| bounded(&url, 2048));
    health.console_url = console_url(&facts).filter(|_| facts.requests_nodes());
    health.conditions = cluster_conditions::build_conditions(
        &facts,
        templated,
        observed,
        &sight.persistent_failures(observed.now),
    );
    sight.complete_health(health, templated, request, observed)
}

/// Known once the console is there, for which there have to be nodes.
pub(in crate::cluster::backends) fn console_url(facts: &HostedClusterFacts<'_>) -> Option<String> {
    rollout::completed_update(facts.status)?;
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

/// The component of the control plane that is not there.
pub(in crate::cluster::backends) fn missing_component(facts: &HostedClusterFacts<'_>) -> Option<String> {
    let parts =
        [(conditions::ETCD_AVAILABLE, "etcd"), (conditions::KUBE_API_SERVER_AVAILABLE, "kube-apiserver")];
    parts.into_iter().find_map(|(type_, what)| {
        let lacks = facts.is_false(type_)?;
        let message = if lacks.message.is_empty() { &lacks.reason } else { &lacks.message };
        Some(if message.is_empty() { what.to_owned() } else { format!("{what}: {}", bounded(message, 256)) })
    })
}
