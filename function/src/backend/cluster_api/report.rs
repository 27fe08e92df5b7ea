//! What a Cluster shows → [`Health`].

use testplatform_apis::foreign::cluster_api::{Endpoint, KIND, conditions};

use super::{facts::Facts, levels, trouble};
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

pub(super) fn health(templated: &Templated, request: &Validated, observed: &Observed) -> Health {
    let mut health = unseen(templated);
    let Some(facts) = Facts::of(observed) else { return health };
    let (remote, status) = (facts.remote, facts.status);
    let sight = Sight {
        kind: KIND,
        metadata: &remote.metadata,
        answers: facts.answers(),
        up: facts.is_up(),
        begun: facts.condition(conditions::INFRASTRUCTURE_READY).is_some(),
        hard: trouble::terminal(&facts),
        degrading: trouble::degrading(&facts),
        passing: trouble::passing(&facts),
    };
    health.has_cluster =
        !status.conditions.is_empty() || !status.phase.is_empty() || remote.status.error.is_some();
    health.ready_since = facts.up_since().filter(|_| sight.up);
    health.unreadable.clone_from(&remote.status.error);
    health.version = facts.version().map(|version| bounded(&version.to_string(), 64));
    health.api_server_url = endpoint(&facts).url().map(|url| bounded(&url, 2048));
    health.teardown_failure =
        trouble::keeps_from_ending(&facts).filter(|_| remote.metadata.deletion_timestamp.is_some());
    health.conditions = levels::levels(&facts, templated, observed, &sight.grown(observed.now));
    sight.tell(health, templated, request, observed)
}

/// It is filled in on the hub, in the spec.
fn endpoint(facts: &Facts<'_>) -> Endpoint {
    let endpoint = &facts.remote.spec["controlPlaneEndpoint"];
    Endpoint {
        host: endpoint["host"].as_str().unwrap_or_default().to_owned(),
        port: endpoint["port"].as_u64().and_then(|port| port.try_into().ok()).unwrap_or_default(),
    }
}
