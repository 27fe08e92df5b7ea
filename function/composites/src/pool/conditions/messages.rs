//! Messages about a pool. They have no times, because a message changes only with the state.

use testplatform_apis::{pool_report::RotationReport, text::bounded};

use super::super::{PoolEvaluation, observed::ObservedPool};
use crate::objects::SyncState;

/// How the pool goes.
pub(in super::super) fn draining_message(evaluation: &PoolEvaluation) -> String {
    let requested = evaluation.plan.as_ref().is_ok_and(|w| w.drain);
    let why = if requested {
        "the pool is being deleted as requested"
    } else {
        "somebody deleted the pool on the hub; it is created again after that deletion"
    };
    let pool = evaluation.observed.pool.as_ref();
    let refused = match pool.map(|pool| &pool.sync) {
        Some(SyncState::Refused(message)) => Some(bounded(message, 512)),
        Some(SyncState::UnknownField(path)) => Some(format!("it does not know the field {path}")),
        Some(
            SyncState::Unknown
            | SyncState::InSync
            | SyncState::Deleted
            | SyncState::Replaced
            | SyncState::Unavailable(_)
            | SyncState::Paused,
        )
        | None => None,
    };
    if let Some(message) = refused.filter(|_| requested) {
        return format!("{why}; the hub refuses its last change, which is taken back first: {message}");
    }
    let holding = pool.map(ObservedPool::holding_clusters).unwrap_or_default();
    match holding.len() {
        0 => format!("{why}; its clusters are being destroyed"),
        count => format!(
            "{why}; {count} clusters hold it until they are given back: {}",
            bounded(&holding.join(", "), 512)
        ),
    }
}

/// How many clusters there are.
pub(in super::super) fn counts_message(evaluation: &PoolEvaluation) -> String {
    let Some(remote) = evaluation.observed.remote() else {
        return "the hub has not reported the pool yet".into();
    };
    let status = &remote.status.value;
    let installing = (status.size - status.standby - status.ready).max(0);
    let wanted = evaluation.plan.as_ref().ok();
    let window = wanted
        .and_then(|w| w.schedule.window.as_ref())
        .map(|w| format!(" in window {w}"))
        .unwrap_or_default();
    // Where somebody else scales, what is wanted is what stands on the hub.
    let size = remote.spec["size"].as_i64().unwrap_or(status.size);
    format!(
        "{} of {size} clusters{window}: {} running, {} hibernating, {installing} being installed",
        status.size, status.ready, status.standby
    )
}

/// Clusters that still need the old credentials.
pub(super) fn old_credentials_text(rotation: &RotationReport) -> String {
    match rotation.on_old {
        ..=0 => String::new(),
        count => format!(
            ": {count} clusters, {} of them claimed: {}{}",
            rotation.claimed_on_old,
            bounded(&rotation.clusters_on_old.join(", "), 512),
            if usize::try_from(count).is_ok_and(|c| c > rotation.clusters_on_old.len()) {
                " and more"
            } else {
                ""
            },
        ),
    }
}
