//! Failures of a HostedCluster or its NodePools: terminal ones, which need a change, and transient ones.

use testplatform_apis::foreign::{
    hosted_cluster::{HostedClusterStatus, conditions},
    meta::{ObservedCondition, find_condition},
};

use super::facts::HostedClusterFacts;
use crate::cluster::backends::common::templated::{FailureCondition, is_network_error};

/// Failures that do not resolve by themselves.
pub(in crate::cluster::backends) fn terminal_failures(
    facts: &HostedClusterFacts<'_>,
) -> Vec<FailureCondition> {
    let mut found = Vec::new();
    let conflict = facts.condition(conditions::CLUSTER_NETWORK_CIDR_CONFLICT).filter(|c| c.is_true());
    let changed_at = facts.remote.metadata.status_changed_at;
    // Some are asked of another API server in each reconcile, as the version of KubeVirt is.
    let own = own_faults(facts).filter(|c| !is_network_error(&c.message));
    found.extend(own.map(|c| FailureCondition::from_condition(c, None, true).since_message(changed_at)));
    // An image is not valid either while its pull secret is missing, or its registry is not reached.
    found.extend(
        invalid_image(facts.status)
            .map(|c| FailureCondition::from_condition(c, None, true).since_message(changed_at)),
    );
    found.extend(conflict.map(|c| FailureCondition::from_condition(c, None, true)));
    // NodePools report as final a release image that the HostedCluster still waits for.
    let waits = facts
        .is_false(conditions::VALID_RELEASE_IMAGE)
        .is_some_and(|c| c.reason != conditions::INVALID_IMAGE);
    for pool in &facts.pools {
        let awaited = |c: &ObservedCondition| waits && c.type_ == conditions::VALID_RELEASE_IMAGE;
        let own = pool.conditions().iter();
        let own = own.filter(|c| conditions::is_terminal_of_pool(&c.type_) && !awaited(c));
        let scaling = pool.condition(conditions::AUTOSCALING_ENABLED);
        let scaling = scaling.filter(|c| c.reason == conditions::VALIDATION_FAILED);
        let wrong = own.chain(scaling).filter(|c| c.is_false() && !is_network_error(&c.message));
        // The same of what cannot be fetched; and what the load does not decide is False from birth on.
        found.extend(wrong.map(|c| {
            FailureCondition::from_condition(c, Some(&pool.name), true)
                .since_message(pool.status_changed_at())
        }));
    }
    found
}

/// The HostedCluster's own conditions that are not likely to pass.
fn own_faults<'a>(facts: &'a HostedClusterFacts<'_>) -> impl Iterator<Item = &'a ObservedCondition> {
    conditions::TERMINAL.iter().filter_map(|type_| facts.is_false(type_))
}

/// The condition that says that the release's image cannot be used, and never will be.
pub(in crate::cluster::backends) fn invalid_image(
    status: &HostedClusterStatus,
) -> Option<&ObservedCondition> {
    find_condition(&status.conditions, conditions::VALID_RELEASE_IMAGE)
        .filter(|c| c.is_false() && c.reason == conditions::INVALID_IMAGE && !is_network_error(&c.message))
}

/// What may pass: the weightiest first.
pub(in crate::cluster::backends) fn transient_failures(
    facts: &HostedClusterFacts<'_>,
) -> Vec<FailureCondition> {
    let degraded = facts.condition(conditions::DEGRADED).filter(|c| c.is_true());
    let blocked = facts.is_false(conditions::PROGRESSING).filter(|c| c.reason == conditions::BLOCKED);
    let succeeding = |type_: &str| {
        // It never settles where there are no nodes.
        type_ != conditions::CLUSTER_VERSION_SUCCEEDING || facts.requests_nodes()
    };
    let soft =
        conditions::SOFT.iter().filter(|type_| succeeding(type_)).filter_map(|type_| facts.is_false(type_));
    let mut found: Vec<FailureCondition> = degraded
        .into_iter()
        .chain(own_faults(facts).filter(|c| is_network_error(&c.message)))
        .chain(blocked)
        .chain(soft)
        .map(|c| FailureCondition::from_condition(c, None, false))
        .collect();
    for pool in &facts.pools {
        let unhealthy = pool.condition(conditions::ALL_NODES_HEALTHY).filter(|c| c.is_false());
        found.extend(unhealthy.map(|c| FailureCondition::from_condition(c, Some(&pool.name), false)));
    }
    found
}

/// Failures that degrade a cluster that was ready.
pub(in crate::cluster::backends) fn degrading_failures(
    facts: &HostedClusterFacts<'_>,
) -> Vec<FailureCondition> {
    let down = facts.condition(conditions::AVAILABLE).filter(|c| !c.is_true());
    let degraded = facts.condition(conditions::DEGRADED).filter(|c| c.is_true());
    let version = facts.is_false(conditions::CLUSTER_VERSION_SUCCEEDING).filter(|_| facts.requests_nodes());
    let mut found: Vec<FailureCondition> = [down, degraded, version]
        .into_iter()
        .flatten()
        .map(|c| FailureCondition::from_condition(c, None, false))
        .collect();
    for pool in facts.pools.iter().filter(|pool| !pool.is_served()) {
        let ready = pool.condition(conditions::READY).filter(|c| c.is_false());
        found.extend(ready.map(|c| FailureCondition::from_condition(c, Some(&pool.name), false)));
    }
    found
}
