//! Status of a HostedCluster and its NodePools → [`Health`].

use super::{HyperShiftRequest, cluster_conditions, facts};
use crate::cluster::{
    backends::{
        Health,
        common::templated::{BackendStatus, unobserved_health},
        hosted_cluster::{completed_update, console_url, failures},
    },
    observed::Observed,
    request::{Templated, Validated},
};
use testplatform_apis::{foreign::hosted_cluster::HOSTED_CLUSTER, text::bounded};

pub(super) fn assess_health(templated: &Templated, request: &Validated, observed: &Observed) -> Health {
    let mut health = unobserved_health(templated);
    let Some(facts) = facts::read_facts(observed, HyperShiftRequest::from_templated(templated)) else {
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
    health.version = completed_update(status).map(|update| bounded(&update.version, 64));
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
