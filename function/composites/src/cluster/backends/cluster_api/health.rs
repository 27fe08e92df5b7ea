//! Status of a Cluster → [`Health`].

use testplatform_apis::{
    foreign::{
        Endpoint,
        cluster_api::{KIND, conditions},
    },
    text::bounded,
};

use super::{cluster_conditions, facts::TopologyFacts, failures};
use crate::cluster::{
    backends::{
        Health,
        common::templated::{BackendStatus, unobserved_health},
    },
    observed::Observed,
    request::{Templated, Validated},
};

pub(super) fn assess_health(templated: &Templated, request: &Validated, observed: &Observed) -> Health {
    let mut health = unobserved_health(templated);
    let Some(facts) = TopologyFacts::from_observed(observed) else { return health };
    let (remote, status) = (facts.remote, facts.status);
    let sight = BackendStatus {
        kind: KIND,
        metadata: &remote.metadata,
        api_answers: facts.api_answers(),
        is_up: facts.is_up(),
        has_started: facts.condition(conditions::INFRASTRUCTURE_READY).is_some(),
        terminal: failures::terminal_failures(&facts),
        degrading: failures::degrading_failures(&facts, observed.now),
        transient: failures::transient_failures(&facts),
    };
    health.has_cluster =
        !status.conditions.is_empty() || !status.phase.is_empty() || remote.status.error.is_some();
    health.ready_since = facts.up_since().filter(|_| sight.is_up);
    health.unreadable.clone_from(&remote.status.error);
    health.version = facts.version().map(|version| bounded(&version.to_string(), 64));
    health.api_server_url = read_endpoint(&facts).url().map(|url| bounded(&url, 2048));
    health.teardown_failure =
        failures::teardown_failure(&facts).filter(|_| remote.metadata.deletion_timestamp.is_some());
    health.conditions = cluster_conditions::build_conditions(
        &facts,
        templated,
        observed,
        &sight.persistent_failures(observed.now),
    );
    sight.complete_health(health, templated, request, observed)
}

/// It is filled in on the hub, in the spec.
fn read_endpoint(facts: &TopologyFacts<'_>) -> Endpoint {
    let endpoint = &facts.remote.spec["controlPlaneEndpoint"];
    Endpoint {
        host: endpoint["host"].as_str().unwrap_or_default().to_owned(),
        port: endpoint["port"].as_u64().and_then(|port| port.try_into().ok()).unwrap_or_default(),
    }
}
