//! Messages about a ClusterClaim for its owner. They have no times, because a message changes only with the state.

use testplatform_apis::{
    condition::Assigned,
    hive_status::{DeprovisionFailure, ProvisionFailure, QueueReport, Supply},
    text::bounded,
};

use super::facts::ClaimFacts;

/// Current wait reason; empty if the claim waits for nothing.
pub(super) fn waiting_message(observed_remote: &ClaimFacts<'_>, pool: &str) -> String {
    if observed_remote.is_pool_deleted() {
        return format!("pool {pool} is being deleted and no longer provides clusters");
    }
    if !observed_remote.is_bound() {
        let place = observed_remote
            .report
            .queue
            .as_ref()
            .and_then(queue_text)
            .map(|q| format!(", {q}"))
            .unwrap_or_default();
        let supply =
            observed_remote.report.supply.map(|s| format!("; {}", supply_text(s))).unwrap_or_default();
        return format!("{}{place}{supply}{}", awaits_cluster_message(pool), pool_message(observed_remote));
    }
    if !observed_remote.is_claimed() {
        return format!("pool {pool} has chosen a cluster and is handing it over");
    }
    if !observed_remote.is_running() {
        return format!("a cluster of pool {pool} is assigned, {}", power_message(observed_remote));
    }
    "the cluster runs, waiting for its credentials".into()
}

/// The same in the quiet period: without its place in the queue and the pool's state, which change from second to second.
pub(super) fn awaits_cluster_message(pool: &str) -> String {
    format!("waiting for a cluster of pool {pool}")
}

fn queue_text(queue: &QueueReport) -> Option<String> {
    let position = queue.position.filter(|p| *p >= 1)?;
    Some(match queue.depth.filter(|d| *d >= position) {
        Some(depth) => format!("place {position} of {depth} in its queue"),
        None => format!("place {position} in its queue"),
    })
}

fn supply_text(supply: Supply) -> &'static str {
    match supply {
        Supply::Immediate => "one is running and about to be assigned",
        Supply::Resuming => "a hibernating one is being started",
        Supply::Installing => "one is being installed",
        Supply::CapacityBlocked => "all are taken and the pool may create no more",
        Supply::PoolMisconfigured => {
            "the pool cannot create one because its configuration is incomplete; ask the platform team"
        }
        Supply::InventoryExhausted => "the pool's inventory is used up",
    }
}

/// The pool's own words for what is wrong with it.
fn pool_message(observed_remote: &ClaimFacts<'_>) -> String {
    let message =
        observed_remote.report.pool.as_ref().and_then(|p| p.message.as_deref()).filter(|m| !m.is_empty());
    message.map(|m| format!("; the pool reports: {}", bounded(m, 256))).unwrap_or_default()
}

/// Why an assigned cluster cannot be used now.
pub(super) fn power_message(observed_remote: &ClaimFacts<'_>) -> String {
    match observed_remote.report.power_state.as_deref().filter(|s| is_word(s)) {
        None | Some("Running") => "it is not running".into(),
        Some(state) => format!("its power state is {state}"),
    }
}

/// A word of Hive's, fit to be a reason.
pub(super) fn is_word(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// The sentence of `ClusterAssigned`.
pub(super) fn assigned_message(word: Assigned, observed_remote: &ClaimFacts<'_>, pool: &str) -> String {
    match word {
        Assigned::Claimed => {
            format!("cluster {} of pool {pool}", observed_remote.remote.spec.value.namespace)
        }
        Assigned::OwnershipMismatch => "the cluster that the hub assigned belongs to another claim".into(),
        Assigned::PoolNotFound => format!("the hub has no pool {pool}"),
        Assigned::PoolDeleting => format!("pool {pool} is being deleted"),
        Assigned::AwaitingPool => format!("pool {pool} has not processed the claim yet"),
        Assigned::NoClusters
        | Assigned::Resuming
        | Assigned::Installing
        | Assigned::CapacityBlocked
        | Assigned::PoolMisconfigured
        | Assigned::InventoryExhausted
        | Assigned::AssignmentInProgress
        | Assigned::Returned
        | Assigned::QuotaExceeded => waiting_message(observed_remote, pool),
    }
}

/// A failed provision, for people to read.
pub(super) fn provision_failure_message(failure: &ProvisionFailure) -> String {
    let reason = join_parts(&[&failure.cluster_deployment, &failure.reason, &failure.message]);
    bounded(&format!("provision failed: {reason}"), 2048)
}

/// Why a cluster cannot be destroyed, for people to read.
pub(super) fn deprovision_failure_message(failure: &DeprovisionFailure) -> String {
    bounded(&join_parts(&[&failure.reason, &failure.message]), 512)
}

fn join_parts(parts: &[&str]) -> String {
    let non_empty: Vec<&str> = parts.iter().copied().filter(|p| !p.is_empty()).collect();
    non_empty.join(": ")
}
