//! `PoolEvaluation` → the conditions of a pool. Every pass returns all of them, because an omitted condition would keep its last value.

pub(super) mod messages;
mod renewal;

use testplatform_apis::{
    condition::{
        Condition, ConditionStatus, Drained, NameUnique, PoolConditionType as Type, PoolCurrency, PoolHealth,
        PoolRequested, Refreshing, Remote,
    },
    foreign::{cluster_pool::conditions as hive, meta::ObservedCondition},
    pool_status::PoolPhase,
    text::bounded,
};

use self::renewal::{recommended_condition, refreshing_condition, releasable_condition};
use super::{PoolEvaluation, observed::PoolState, validate::PoolAdmissionIssue};
use crate::{objects::SyncState, sdk::composite::FieldProblem};

use ConditionStatus::{False, True, Unknown};

/// The conditions, in their order.
pub(super) fn build_conditions(evaluation: &PoolEvaluation) -> Vec<Condition> {
    if evaluation.phase == PoolPhase::Draining && evaluation.observed.pool.is_none() {
        // Core does not show the pool in this pass. The other conditions still hold, and omitted ones keep their value.
        return vec![drained_condition(evaluation)];
    }
    vec![
        accepted_condition(evaluation),
        consistent_condition(evaluation),
        healthy_condition(evaluation),
        mirror_condition(evaluation, Type::CapacityAvailable, hive::CAPACITY_AVAILABLE),
        mirror_condition(evaluation, Type::PoolCurrent, hive::ALL_CLUSTERS_CURRENT),
        unique_condition(evaluation),
        refreshing_condition(evaluation),
        recommended_condition(evaluation),
        releasable_condition(evaluation),
        drained_condition(evaluation),
    ]
}

fn build_condition(
    type_: Type,
    status: ConditionStatus,
    reason: impl AsRef<str>,
    message: &str,
) -> Condition {
    Condition::of_pool(type_, status, bounded(reason.as_ref(), 256), bounded(message, 2048))
}

/// Every problem by field, the first ten in full.
pub(super) fn join_problems(problems: &[FieldProblem]) -> String {
    let shown: Vec<_> = problems.iter().take(10).map(|p| format!("{}: {}", p.field, p.sentence)).collect();
    let more = problems.len().saturating_sub(shown.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", shown.join("; "))
}

fn accepted_condition(evaluation: &PoolEvaluation) -> Condition {
    let make = |status, reason: PoolRequested, message: &str| {
        build_condition(Type::RequestAccepted, status, reason.as_str(), message)
    };
    let wanted = match &evaluation.plan {
        Ok(wanted) => wanted,
        Err(problems) => {
            let suffix = if evaluation.observed.pool.is_some() {
                "; what is on the hub stays as it was last requested"
            } else {
                ""
            };
            return make(False, PoolRequested::InvalidPool, &format!("{}{suffix}", join_problems(problems)));
        }
    };
    match evaluation.observed.pool.as_ref().map(|p| &p.sync) {
        Some(SyncState::UnknownField(path)) => {
            return make(
                False,
                PoolRequested::UnknownField,
                &format!("the hub does not know the field {path}"),
            );
        }
        Some(SyncState::Refused(words)) => {
            return make(False, PoolRequested::HubRefused, &format!("the hub refuses the pool: {words}"));
        }
        _ => {}
    }
    if let Some(PoolAdmissionIssue { reason, message }) = &wanted.blocked_by {
        return make(False, *reason, message);
    }
    let refused = |r: &&PoolAdmissionIssue| {
        matches!(r.reason, PoolRequested::WindowsOverlap | PoolRequested::ScheduleInvalid)
    };
    if let Some(PoolAdmissionIssue { reason, message }) = wanted.issues.iter().find(refused) {
        return make(False, *reason, message);
    }
    match wanted.issues.as_slice() {
        [] => make(True, PoolRequested::Accepted, "the pool is accepted"),
        [first, ..] => {
            let all: Vec<_> = wanted.issues.iter().map(|r| r.message.as_str()).collect();
            make(True, first.reason, &all.join("; "))
        }
    }
}

fn consistent_condition(evaluation: &PoolEvaluation) -> Condition {
    let make = |status, reason: Remote, message: &str| {
        build_condition(Type::RemoteConsistent, status, reason.as_str(), message)
    };
    let Some(pool) = &evaluation.observed.pool else {
        return match evaluation.phase {
            PoolPhase::Drained => make(True, Remote::InSync, "nothing is left on the hub"),
            PoolPhase::Pending | PoolPhase::Ready | PoolPhase::Degraded | PoolPhase::Draining => {
                make(Unknown, Remote::NotObserved, "no request has been sent to the hub yet")
            }
        };
    };
    if let Some(why) = &pool.unreadable {
        return make(
            False,
            Remote::Unreadable,
            &format!("what the hub reports cannot be read: {}", bounded(why, 512)),
        );
    }
    match &pool.sync {
        SyncState::InSync => make(True, Remote::InSync, "the hub's object matches the request"),
        SyncState::Unknown => make(Unknown, Remote::NotObserved, "requested; waiting for the hub to answer"),
        // A pool is not pinned, so these are never said; should they be, they say what they mean.
        SyncState::Deleted => make(False, Remote::RemoteDeleted, "the pool is gone and is created again"),
        SyncState::Replaced => make(False, Remote::RemoteReplaced, "another pool has its name"),
        SyncState::UnknownField(path) => {
            make(False, Remote::UnknownField, &format!("the hub does not know the field {path}"))
        }
        SyncState::Refused(words) => make(False, Remote::HubRefused, &format!("the hub refuses: {words}")),
        SyncState::Unavailable(outage) => make(False, outage.reason(), &outage.to_string()),
        SyncState::Paused => {
            make(False, Remote::Paused, "an administrator paused the Object; nothing reaches the hub")
        }
    }
}

/// Failure that keeps the pool from its work.
pub(super) fn find_failure(observed: &PoolState) -> Option<(PoolHealth, String)> {
    let pool = observed.pool.as_ref()?;
    let condition_of = |type_: &str| pool.condition(type_);
    if let Some(missing) = condition_of(hive::MISSING_DEPENDENCIES).filter(|c| c.is_true()) {
        let message = format!(
            "the pool lacks something that it needs to install clusters: {}",
            bounded(&missing.message, 768)
        );
        return Some((PoolHealth::MissingDependencies, message));
    }
    if let Some(broken) = condition_of(hive::INVENTORY_VALID).filter(|c| c.is_false()) {
        let message =
            format!("entries of the inventory are missing or broken: {}", bounded(&broken.message, 768));
        return Some((PoolHealth::InventoryInvalid, message));
    }
    let counts = &pool.remote()?.status.value;
    let report = observed.report()?;
    // A pool of which every cluster was just claimed is empty too.
    let overcome = report.provision_failure_overcome == Some(true);
    let failure = report.last_provision_failure.as_ref().filter(|_| !overcome)?;
    (counts.standby + counts.ready == 0 && counts.size > 0).then(|| {
        let message = format!(
            "no cluster could be installed; the last try, {}, failed: {}: {}",
            bounded(&failure.cluster_deployment, 128),
            bounded(&failure.reason, 128),
            bounded(&failure.message, 512)
        );
        (PoolHealth::InstallationsFail, message)
    })
}

fn healthy_condition(evaluation: &PoolEvaluation) -> Condition {
    let make = |status, reason: PoolHealth, message: &str| {
        build_condition(Type::PoolHealthy, status, reason.as_str(), message)
    };
    match find_failure(&evaluation.observed) {
        Some((reason, message)) => make(False, reason, &message),
        None if evaluation.observed.remote().is_none() => {
            make(Unknown, PoolHealth::NotObserved, "the hub has not reported the pool yet")
        }
        None => make(True, PoolHealth::Healthy, "no problem of the pool is known"),
    }
}

/// A condition of Hive's in its own words.
fn mirror_condition(evaluation: &PoolEvaluation, type_: Type, theirs: &str) -> Condition {
    match evaluation.observed.pool.as_ref().and_then(|p| p.condition(theirs)) {
        Some(said) => {
            let status = if said.is_true() {
                True
            } else if said.is_false() {
                False
            } else {
                Unknown
            };
            let reason = Some(said.reason.as_str())
                .filter(|r| is_word(r))
                .unwrap_or(PoolCurrency::NotReported.as_str());
            build_condition(type_, status, reason, &bounded(&said.message, 1024))
        }
        None => {
            build_condition(type_, Unknown, PoolCurrency::NotReported.as_str(), "Hive has not reported it")
        }
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(|c| c.is_ascii_alphanumeric())
}

fn unique_condition(evaluation: &PoolEvaluation) -> Condition {
    let duplicate_name = evaluation
        .plan
        .as_ref()
        .ok()
        .and_then(|w| w.blocked_by.as_ref())
        .filter(|h| h.reason == PoolRequested::NameTaken);
    if let Some(taken) = duplicate_name {
        return build_condition(Type::PoolNameUnique, False, NameUnique::NameTaken.as_str(), &taken.message);
    }
    let namesakes = evaluation.observed.report().map(|r| r.namesakes.as_slice()).unwrap_or_default();
    if namesakes.is_empty() {
        return build_condition(
            Type::PoolNameUnique,
            True,
            NameUnique::Unique.as_str(),
            "no other pool of this name is known",
        );
    }
    let message = format!(
        "the hub has another pool of this name, in namespace {}; Hive lets the administrators of either into the clusters of both",
        bounded(&namesakes.join(", "), 512)
    );
    build_condition(Type::PoolNameUnique, False, NameUnique::NameTaken.as_str(), &message)
}

fn drained_condition(evaluation: &PoolEvaluation) -> Condition {
    let make = |status, reason: Drained, message: &str| {
        build_condition(Type::Drained, status, reason.as_str(), message)
    };
    match (evaluation.phase, &evaluation.observed.pool) {
        (PoolPhase::Drained, None) => make(True, Drained::Gone, "the pool was deleted as requested"),
        // Until its Object is removed too, it could delete a pool of the same name.
        (PoolPhase::Drained, Some(_)) => make(
            False,
            Drained::Draining,
            "nothing is left on the hub; the Object of the pool is being removed",
        ),
        (PoolPhase::Draining, pool) => {
            let has_claims = pool.as_ref().is_some_and(|pool| !pool.holding_clusters().is_empty());
            let reason = match (evaluation.plan.as_ref().is_ok_and(|w| w.drain), has_claims) {
                (false, _) => Drained::DeletedOnTheHub,
                (true, false) => Drained::Draining,
                (true, true) => Drained::ClaimsHoldIt,
            };
            make(False, reason, &messages::draining_message(evaluation))
        }
        _ => make(False, Drained::NotAsked, "the pool is wanted"),
    }
}

/// Whether a status is the good one; the events of the others are warnings.
pub(super) fn is_good(type_: Type, status: &str, reason: &str) -> bool {
    match type_ {
        Type::RequestAccepted | Type::RemoteConsistent | Type::PoolHealthy | Type::PoolNameUnique => {
            status != "False"
        }
        Type::RefreshRecommended => status != "True",
        Type::Refreshing => reason != Refreshing::Stalled.as_str(),
        Type::CapacityAvailable | Type::PoolCurrent | Type::OldCredentialsReleasable | Type::Drained => true,
    }
}

/// Whether a condition that is shown is still what it will be, as far as its reason goes.
pub(super) fn is_same(shown: &ObservedCondition, new: &Condition) -> bool {
    shown.status == new.status.as_str() && shown.reason == new.reason
}
