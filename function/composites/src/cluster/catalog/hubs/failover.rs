//! Failover of a claim to another hub. It is possible only if nothing can exist on the first hub.
//!
//! **Invariant:** a hub on which provider-kubernetes may have tried is never given up, however long it is silent: a second cluster costs as
//! much as the first.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    foreign::{
        meta::{ObservedCondition, find_condition},
        object::Object,
    },
    names::crossplane,
};

use crate::objects::{SyncState, began_to_create};

/// The most hubs that are given up for one claim.
pub const MAX_EXCLUDED: usize = 3;
/// For how long a hub must not have been reached, from the making of the writer on.
pub const FAILOVER_DELAY: SignedDuration = SignedDuration::from_mins(5);

/// Whether the hub of an observed writer may be given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failover {
    /// Yes: leave the writer out once, remember the hub as excluded, and choose again.
    Allowed,
    /// There is no need.
    NotNow,
    /// From then on, if nothing changes until then.
    At(Timestamp),
    /// Never: why, as a part of a sentence.
    Never(&'static str),
}

/// Judges an observed writer. `pinned`: the claim names its hub; `excluded`: the hubs that were given up before.
pub fn decide_failover<R>(
    primary: &Object<R>,
    sync: &SyncState,
    pinned: bool,
    excluded: &BTreeSet<String>,
    now: Timestamp,
) -> Failover {
    if let Some(trace) = creation_trace(primary) {
        return Failover::Never(trace);
    }
    if pinned {
        return Failover::Never("the claim names its hub");
    }
    if excluded.len() >= MAX_EXCLUDED {
        return Failover::Never("the maximum number of hubs was already given up");
    }
    let unreachable = match sync {
        SyncState::Unavailable(_) => true,
        SyncState::Unknown
        | SyncState::InSync
        | SyncState::Deleted
        | SyncState::Replaced
        | SyncState::UnknownField(_)
        | SyncState::Refused(_)
        | SyncState::Paused => false,
    };
    let fails = find_condition(&primary.status.conditions, "Synced").is_some_and(ObservedCondition::is_false);
    // Without a trace it was never reached since the writer was made. Synced does not say since when: its time moves with every word
    // of its message, which quotes the port of each connection that was reset.
    let since = primary.metadata.creation_timestamp.filter(|_| fails && unreachable);
    match since.and_then(|since| since.checked_add(FAILOVER_DELAY).ok()) {
        Some(at) if at <= now => Failover::Allowed,
        Some(at) => Failover::At(at),
        None => Failover::NotNow,
    }
}

/// Evidence that something may have been created. provider-kubernetes sets its finalizer first, then records the creation, then creates.
fn creation_trace<R>(primary: &Object<R>) -> Option<&'static str> {
    let metadata = &primary.metadata;
    if began_to_create(metadata) {
        return Some("provider-kubernetes started to create something there");
    }
    if metadata.finalizers.iter().any(|f| f == crossplane::FINALIZER) {
        return Some("provider-kubernetes was about to create something there");
    }
    if primary.status.at_provider.manifest.is_some() {
        return Some("something was seen there");
    }
    if primary.spec.for_provider.manifest["metadata"]["uid"].is_string() {
        return Some("its cluster was seen there");
    }
    metadata.deletion_timestamp.is_some().then_some("its primary Object is being deleted")
}

/// That note; none, where no hub was given up.
pub fn excluded_annotation(excluded: &BTreeSet<String>) -> Option<String> {
    (!excluded.is_empty()).then(|| excluded.iter().map(String::as_str).collect::<Vec<_>>().join(","))
}
