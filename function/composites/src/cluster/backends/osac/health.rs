//! Status of a ClusterOrder and its underlying objects → [`Health`].

use testplatform_apis::{
    condition::{Condition, ConditionStatus, Mirrored},
    foreign::{
        meta::find_condition,
        osac::{KIND, conditions},
    },
    text::bounded,
};

use super::{OsacRequest, cluster_conditions, facts::OrderFacts, failures};
use crate::cluster::{
    backends::{
        Health,
        common::templated::{BackendStatus, unobserved_health},
        hosted_cluster::{completed_update, console_url},
    },
    observed::Observed,
    request::{Templated, Validated},
};

pub(super) fn assess_health(templated: &Templated, request: &Validated, observed: &Observed) -> Health {
    let mut health = unobserved_health(templated);
    let wanted = OsacRequest::from_templated(templated);
    let Some(facts) = OrderFacts::from_observed(observed, wanted) else {
        health.mirrored = storage_condition(None, observed).into_iter().collect();
        return health;
    };
    let remote = facts.remote;
    let sight = BackendStatus {
        kind: KIND,
        metadata: &remote.metadata,
        api_answers: facts.api_answers(),
        is_up: facts.is_up(),
        has_started: facts.has_started(),
        terminal: failures::terminal_failures(&facts, observed),
        degrading: failures::degrading_failures(&facts),
        transient: failures::transient_failures(&facts),
    };
    health.has_cluster = facts.has_started() || remote.status.error.is_some();
    health.ready_since = facts.up_since().filter(|_| sight.is_up);
    health.unreadable.clone_from(&remote.status.error);
    if let Some(hosted) = &facts.hosted {
        let completed = completed_update(hosted.status);
        health.version = completed.map(|update| bounded(&update.version, 64));
        let endpoint = &hosted.status.control_plane_endpoint.value;
        health.api_server_url = endpoint.url().map(|url| bounded(&url, 2048));
        health.console_url = console_url(hosted);
    }
    health.teardown_failure =
        failures::teardown_failure(&facts).filter(|_| remote.metadata.deletion_timestamp.is_some());
    health.mirrored = storage_condition(Some(&facts), observed).into_iter().collect();
    health.conditions = cluster_conditions::build_conditions(
        &facts,
        wanted,
        observed,
        &sight.persistent_failures(observed.now),
    );
    sight.complete_health(health, templated, request, observed)
}

/// `StorageReady`, where OSAC says anything of it, or once did: a condition that is left out would keep its last value for ever.
fn storage_condition(facts: Option<&OrderFacts<'_>>, observed: &Observed) -> Option<Condition> {
    let type_ = conditions::STORAGE_READY;
    let made = |status, reason: &str, message: &str| Condition {
        type_: type_.into(),
        status,
        reason: bounded(reason, 256),
        message: bounded(message, 1024),
    };
    match facts.and_then(|facts| facts.condition(conditions::CLUSTER_STORAGE_READY)) {
        Some(said) => {
            let status = ConditionStatus::parse(&said.status).unwrap_or(ConditionStatus::Unknown);
            Some(made(status, &said.reason, &said.message))
        }
        None => find_condition(&observed.composite.conditions, type_).map(|_| {
            let words = "the hub does not report it any more";
            made(ConditionStatus::Unknown, Mirrored::NotReported.as_str(), words)
        }),
    }
}
