//! What a ClusterOrder and what is behind it show → [`Health`].

use testplatform_apis::{
    condition::{Condition, ConditionStatus, Mirrored},
    foreign::{
        meta::condition,
        osac::{KIND, conditions},
    },
};

use super::{Wanted, facts::Facts, levels, trouble};
use crate::{
    backend::{
        Health, hypershift,
        templated::{Sight, unseen},
    },
    observed::Observed,
    templates::Templated,
    text::bounded,
    validate::Validated,
};

pub(super) fn health(templated: &Templated, request: &Validated, observed: &Observed) -> Health {
    let mut health = unseen(templated);
    let wanted = Wanted::of(templated);
    let Some(facts) = Facts::of(observed, wanted) else {
        health.mirrored = storage(None, observed).into_iter().collect();
        return health;
    };
    let remote = facts.remote;
    let sight = Sight {
        kind: KIND,
        metadata: &remote.metadata,
        answers: facts.answers(),
        up: facts.is_up(),
        begun: facts.begun(),
        hard: trouble::terminal(&facts, observed),
        degrading: trouble::degrading(&facts),
        passing: trouble::passing(&facts),
    };
    health.has_cluster = facts.begun() || remote.status.error.is_some();
    health.ready_since = facts.up_since().filter(|_| sight.up);
    health.unreadable.clone_from(&remote.status.error);
    if let Some(hosted) = &facts.hosted {
        let completed = hypershift::rollout::completed(hosted.status);
        health.version = completed.map(|update| bounded(&update.version, 64));
        let endpoint = &hosted.status.control_plane_endpoint.value;
        health.api_server_url = endpoint.url().map(|url| bounded(&url, 2048));
        health.console_url = hypershift::report::console(hosted);
    }
    health.teardown_failure =
        trouble::keeps_from_ending(&facts).filter(|_| remote.metadata.deletion_timestamp.is_some());
    health.mirrored = storage(Some(&facts), observed).into_iter().collect();
    health.conditions = levels::levels(&facts, wanted, observed, &sight.grown(observed.now));
    sight.tell(health, templated, request, observed)
}

/// `StorageReady`, where OSAC says anything of it, or once did: a condition that is left out would keep its last value for ever.
fn storage(facts: Option<&Facts<'_>>, observed: &Observed) -> Option<Condition> {
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
        None => condition(&observed.composite.conditions, type_).map(|_| {
            let words = "the hub does not report it any more";
            made(ConditionStatus::Unknown, Mirrored::NotReported.as_str(), words)
        }),
    }
}
