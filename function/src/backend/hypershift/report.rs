//! What a HostedCluster and its NodePools show → [`Health`].

use super::{Wanted, facts::Facts, levels, rollout, trouble};
use crate::{
    backend::{
        Health,
        templated::{Sight, unseen},
    },
    observed::Observed,
    templates::Templated,
    text::bounded,
    validate::Validated,
};
use testplatform_apis::foreign::hypershift::{HOSTED_CLUSTER, HostedCluster, conditions};

pub(super) fn health(templated: &Templated, request: &Validated, observed: &Observed) -> Health {
    let mut health = unseen(templated);
    let Some(facts) = Facts::of(observed, Wanted::of(templated)) else { return health };
    let (remote, status) = (facts.remote, facts.status);
    let sight = Sight {
        kind: HOSTED_CLUSTER,
        metadata: &remote.metadata,
        answers: facts.answers(),
        up: facts.is_up(),
        begun: true,
        hard: trouble::terminal(&facts),
        degrading: trouble::degrading(&facts),
        passing: trouble::passing(&facts),
    };
    health.has_cluster = !status.conditions.is_empty() || remote.status.error.is_some();
    health.ready_since = facts.up_since().filter(|_| sight.up);
    health.unreadable.clone_from(&remote.status.error);
    health.version = rollout::completed(status).map(|update| bounded(&update.version, 64));
    health.api_server_url = status.control_plane_endpoint.value.url().map(|url| bounded(&url, 2048));
    health.console_url = console(&facts).filter(|_| facts.nodes_asked());
    health.conditions = levels::levels(&facts, templated, observed, &sight.grown(observed.now));
    sight.tell(health, templated, request, observed)
}

/// Known once the console is there, for which there have to be nodes.
pub(in crate::backend) fn console(facts: &Facts<'_>) -> Option<String> {
    rollout::completed(facts.status)?;
    address_of_console(facts.remote)
}

/// The domain is in the spec as the hub has it: where it is that of the hub, HyperShift fills it in.
pub(super) fn address_of_console(remote: &HostedCluster) -> Option<String> {
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
pub(in crate::backend) fn component(facts: &Facts<'_>) -> Option<String> {
    let parts =
        [(conditions::ETCD_AVAILABLE, "etcd"), (conditions::KUBE_API_SERVER_AVAILABLE, "kube-apiserver")];
    parts.into_iter().find_map(|(type_, what)| {
        let lacks = facts.lacks(type_)?;
        let words = if lacks.message.is_empty() { &lacks.reason } else { &lacks.message };
        Some(if words.is_empty() { what.to_owned() } else { format!("{what}: {}", bounded(words, 256)) })
    })
}
