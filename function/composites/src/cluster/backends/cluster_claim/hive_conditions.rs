//! `ClusterAssigned` and `ClusterRunning`: Hive's `Pending` and `ClusterRunning` with what the provider adds to them.

use testplatform_apis::{
    condition::{Assigned, Condition, ConditionStatus, Running},
    foreign::{
        cluster_claim::conditions,
        meta::{ObservedCondition, find_condition},
    },
    hive_status::Supply,
    text::bounded,
};

use super::{facts::ClaimFacts, messages};
use crate::cluster::{observed::Observed, request::Validated};

/// Where the assignment stands.
pub(super) fn assignment_reason(observed_remote: &ClaimFacts<'_>) -> Assigned {
    if observed_remote.is_foreign() {
        return Assigned::OwnershipMismatch;
    }
    if observed_remote.is_claimed() {
        return Assigned::Claimed;
    }
    if observed_remote.is_bound() {
        return Assigned::AssignmentInProgress;
    }
    match &observed_remote.report.pool {
        Some(pool) if !pool.found => return Assigned::PoolNotFound,
        Some(pool) if pool.deleting => return Assigned::PoolDeleting,
        Some(_) | None => {}
    }
    match observed_remote.report.supply {
        Some(Supply::Immediate) => Assigned::AssignmentInProgress,
        Some(Supply::Resuming) => Assigned::Resuming,
        Some(Supply::Installing) => Assigned::Installing,
        Some(Supply::CapacityBlocked) => Assigned::CapacityBlocked,
        Some(Supply::PoolMisconfigured) => Assigned::PoolMisconfigured,
        Some(Supply::InventoryExhausted) => Assigned::InventoryExhausted,
        None if observed_remote.pending.is_some_and(ObservedCondition::is_true) => Assigned::NoClusters,
        None => Assigned::AwaitingPool,
    }
}

/// `ClusterAssigned`.
pub(super) fn assigned_condition(observed_remote: &ClaimFacts<'_>, pool: &str) -> Condition {
    let word = assignment_reason(observed_remote);
    let status = match word {
        Assigned::Claimed => ConditionStatus::True,
        Assigned::AwaitingPool => ConditionStatus::Unknown,
        Assigned::NoClusters
        | Assigned::Resuming
        | Assigned::Installing
        | Assigned::CapacityBlocked
        | Assigned::PoolMisconfigured
        | Assigned::InventoryExhausted
        | Assigned::PoolNotFound
        | Assigned::PoolDeleting
        | Assigned::AssignmentInProgress
        | Assigned::OwnershipMismatch
        | Assigned::QuotaExceeded
        | Assigned::Returned => ConditionStatus::False,
    };
    build_condition(
        conditions::CLUSTER_ASSIGNED,
        status,
        word.as_str(),
        &messages::assigned_message(word, observed_remote, pool),
    )
}

/// `ClusterRunning`.
pub(super) fn running_condition(observed_remote: &ClaimFacts<'_>) -> Condition {
    let made = |status, reason: &str, message: &str| {
        build_condition(conditions::CLUSTER_RUNNING, status, reason, message)
    };
    if !observed_remote.is_claimed() {
        return not_assigned_condition();
    }
    if observed_remote.is_running() {
        return made(ConditionStatus::True, Running::Running.as_str(), "the cluster runs");
    }
    for (hives, ours, message) in [
        (conditions::CLUSTER_DELETED, Running::Deleted, "the cluster was deleted on the hub"),
        (conditions::CLUSTER_DELETING, Running::Deleting, "the cluster is being deleted on the hub"),
    ] {
        if observed_remote.is_not_running_for(hives) {
            return made(ConditionStatus::False, ours.as_str(), message);
        }
    }
    let state =
        observed_remote.report.power_state.as_deref().filter(|s| messages::is_word(s) && *s != "Running");
    made(
        ConditionStatus::False,
        state.unwrap_or(Running::Resuming.as_str()),
        &messages::power_message(observed_remote),
    )
}

/// Both, where no ClusterClaim is seen: before there is one, and once it is over.
pub(super) fn unobserved_conditions(request: &Validated, observed: &Observed) -> Vec<Condition> {
    if observed.is_final() && observed.was_made_before() {
        let is_false =
            |type_, reason, message| build_condition(type_, ConditionStatus::False, reason, message);
        return vec![
            is_false(conditions::CLUSTER_ASSIGNED, Assigned::Returned.as_str(), "the cluster was returned"),
            is_false(conditions::CLUSTER_RUNNING, Running::Deleted.as_str(), "the cluster was returned"),
        ];
    }
    // Between the writer that ended it and the one that watches its end nothing is known anew.
    let repeated = |type_| {
        let shown = find_condition(&observed.composite.conditions, type_)?;
        if !observed.was_made_before() || shown.reason == "FatalError" {
            return None;
        }
        let status = ConditionStatus::parse(&shown.status)?;
        Some(build_condition(type_, status, &shown.reason, &shown.message))
    };
    if let (Some(assigned), Some(running)) =
        (repeated(conditions::CLUSTER_ASSIGNED), repeated(conditions::CLUSTER_RUNNING))
    {
        return vec![assigned, running];
    }
    let blocker = request.blocked_by.as_ref().filter(|_| observed.primary.is_none());
    let refused = blocker.and_then(|h| match Assigned::parse(h.reason.as_str()) {
        Some(word @ (Assigned::PoolNotFound | Assigned::QuotaExceeded)) => Some((word, h.message.clone())),
        Some(_) | None => None,
    });
    let assigned = match refused {
        Some((word, message)) => {
            build_condition(conditions::CLUSTER_ASSIGNED, ConditionStatus::False, word.as_str(), &message)
        }
        None => build_condition(
            conditions::CLUSTER_ASSIGNED,
            ConditionStatus::Unknown,
            Assigned::AwaitingPool.as_str(),
            "no pool has processed the claim yet",
        ),
    };
    vec![assigned, not_assigned_condition()]
}

/// Both, while a cluster may be there in a moment.
pub(super) fn awaiting_conditions(bound: bool, pool: &str) -> Vec<Condition> {
    let (status, word, message) = if bound {
        let message = format!("pool {pool} has chosen a cluster and is handing it over");
        (ConditionStatus::False, Assigned::AssignmentInProgress, message)
    } else {
        (ConditionStatus::Unknown, Assigned::AwaitingPool, "no pool has processed the claim yet".to_owned())
    };
    vec![
        build_condition(conditions::CLUSTER_ASSIGNED, status, word.as_str(), &message),
        not_assigned_condition(),
    ]
}

fn not_assigned_condition() -> Condition {
    build_condition(
        conditions::CLUSTER_RUNNING,
        ConditionStatus::Unknown,
        Running::NotAssigned.as_str(),
        "no cluster is assigned yet",
    )
}

fn build_condition(type_: &str, status: ConditionStatus, reason: &str, message: &str) -> Condition {
    Condition { type_: type_.into(), status, reason: bounded(reason, 256), message: bounded(message, 1024) }
}
