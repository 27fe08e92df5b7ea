//! Source of the next cluster for a waiting claim, and problems of its pool: derived from the pool's status, because Hive reports nothing on
//! the claim.

use testplatform_apis::{
    foreign::meta::{ObservedCondition, find_condition},
    hive_status::{PoolReport, QueueReport, Supply},
};

use super::{
    object::{ClusterClaim, ClusterPool},
    observed_state::ClaimState,
    pool::conditions,
    redact::redact_text,
};

/// The longest sentence about a pool.
const LONGEST: usize = 512;

/// The pool that a claim names.
pub fn pool(observed: &ClaimState) -> PoolReport {
    let Some(pool) = &observed.pool else { return PoolReport::default() };
    PoolReport {
        found: true,
        deleting: pool.is_deleted(),
        message: pool_problem(pool).map(|c| redact_text(&c.message, LONGEST)),
    }
}

/// Known problem of a pool.
fn pool_problem(pool: &ClusterPool) -> Option<&ObservedCondition> {
    let missing = of(pool, conditions::MISSING_DEPENDENCIES).filter(|c| c.is_true());
    let invalid = || of(pool, conditions::INVENTORY_VALID).filter(|c| c.is_false());
    missing.or_else(invalid).filter(|c| !c.message.is_empty())
}

/// Position of the claim in its pool's queue. Hive serves by age, in whole seconds: the order within one second is unknown, so the worst
/// position is reported.
pub fn queue(claim: &ClusterClaim, observed: &ClaimState) -> Option<QueueReport> {
    if !claim.is_waiting() || observed.pool.is_none() {
        return None;
    }
    let own = claim.metadata.creation_timestamp.as_ref().map(|t| t.0);
    let position = observed.queue.iter().filter(|created| **created <= own).count().max(1);
    let count = |n: usize| Some(i64::try_from(n).unwrap_or(i64::MAX));
    Some(QueueReport { position: count(position), depth: count(observed.queue.len().max(position)) })
}

/// Whether a reported queue is still accurate enough: the position to less than a tenth, so that the first ten are exact, and the length to
/// less than a fifth. Otherwise each arrival and departure would rewrite all waiting claims, and the writes would grow with the square of the
/// queue.
pub fn is_near(reported: Option<&QueueReport>, now: Option<&QueueReport>) -> bool {
    let near = |reported: Option<i64>, now: Option<i64>, part: u64| match (reported, now) {
        (Some(reported), Some(now)) => {
            reported == now || reported.abs_diff(now).saturating_mul(part) < now.unsigned_abs()
        }
        (reported, now) => reported == now,
    };
    match (reported, now) {
        (Some(reported), Some(now)) => {
            near(reported.position, now.position, 10) && near(reported.depth, now.depth, 5)
        }
        (reported, now) => reported == now,
    }
}

/// Where the next cluster for a waiting claim comes from, by its place in the queue.
pub fn supply(claim: &ClusterClaim, observed: &ClaimState) -> Option<Supply> {
    let place = queue(claim, observed)?.position?;
    let pool = observed.pool.as_deref().filter(|pool| !pool.is_deleted())?;
    let status = &pool.status.value;
    if place <= status.ready {
        return Some(Supply::Immediate);
    }
    let installed = status.ready.saturating_add(status.standby);
    if place <= installed {
        return Some(Supply::Resuming);
    }
    // `size - standby - ready` would count broken ones too.
    let under_way = observed
        .unclaimed
        .iter()
        .filter(|d| !d.spec.value.installed && !d.is_broken() && !d.is_ending())
        .count();
    if place <= installed.saturating_add(i64::try_from(under_way).unwrap_or(i64::MAX)) {
        return Some(Supply::Installing);
    }
    let has_condition = |type_, is: fn(&ObservedCondition) -> bool| of(pool, type_).is_some_and(is);
    if has_condition(conditions::MISSING_DEPENDENCIES, ObservedCondition::is_true) {
        return Some(Supply::PoolMisconfigured);
    }
    let full = has_condition(conditions::CAPACITY_AVAILABLE, ObservedCondition::is_false);
    let entries = i64::try_from(pool.spec.value.inventory.len()).unwrap_or(i64::MAX);
    // Hive takes the inventory for the pool's greatest size where it is the smaller of the two.
    let by_inventory = entries > 0 && pool.spec.value.max_size.is_none_or(|most| entries < most);
    let broken = entries > 0 && has_condition(conditions::INVENTORY_VALID, ObservedCondition::is_false);
    if (full && by_inventory) || broken {
        return Some(Supply::InventoryExhausted);
    }
    Some(if full { Supply::CapacityBlocked } else { Supply::Installing })
}

fn of<'a>(pool: &'a ClusterPool, type_: &str) -> Option<&'a ObservedCondition> {
    find_condition(&pool.status.value.conditions, type_)
}
