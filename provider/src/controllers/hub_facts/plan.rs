//! Plans the facts of the hub. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::hub::{BackendFacts, ClassFacts, Facts, Health};

use super::observed_state::{BackendState, HubState};

/// Minimum write interval.
pub const SOONEST: SignedDuration = SignedDuration::from_secs(10);
/// Maximum age before the facts are written again without a change: early enough for the reconcile after next to come within five minutes.
pub const AGE: SignedDuration = SignedDuration::from_mins(3);

/// Plan of one reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactsPlan {
    /// Written, because it differs from what is there or that is old.
    pub write: Option<Facts>,
    /// When to look again.
    pub requeue: Duration,
}

/// Plans the facts. `known` are the published facts, if there are any that can be read; `period` is the interval between reconciles.
pub fn plan(known: Option<&Facts>, observed: &HubState, period: Duration, now: Timestamp) -> FactsPlan {
    let facts = facts(known, observed, now);
    let age = known.and_then(|known| known.written_at).map(|at| now.duration_since(at));
    // A time in the future is from another clock, and tells nothing about the write.
    let age = age.filter(|age| !age.is_negative());
    let same = known.is_some_and(|known| Facts { written_at: known.written_at, ..facts.clone() } == *known);
    let write = match age {
        None => true,
        Some(age) if same => age >= AGE,
        Some(age) => age >= SOONEST,
    };
    let soon = age.filter(|_| !same && !write).map(|age| SOONEST - age);
    let soon = soon.and_then(|soon| Duration::try_from(soon).ok());
    FactsPlan { write: write.then_some(facts), requeue: soon.unwrap_or(period).min(period) }
}

fn facts(known: Option<&Facts>, observed: &HubState, now: Timestamp) -> Facts {
    let before = known.and_then(|known| known.health.as_ref());
    let ready = observed.trouble.is_none();
    let since = before.filter(|before| before.ready == ready).and_then(|before| before.since);
    Facts {
        written_at: Some(now),
        health: Some(Health { ready, since: since.or(Some(now)), message: observed.trouble.clone() }),
        backends: observed
            .backends
            .iter()
            .map(|(b, found)| (b.as_str().to_owned(), backend(found)))
            .collect(),
        classes: observed
            .classes
            .iter()
            .map(|(name, free)| (name.clone(), ClassFacts { free: *free }))
            .collect(),
        capi_version: observed.api_version.clone(),
    }
}

fn backend(found: &BackendState) -> BackendFacts {
    match found {
        BackendState::Counted { clusters, provisioning, versions, cluster_classes } => BackendFacts {
            clusters: Some(*clusters),
            provisioning: Some(*provisioning),
            versions: versions.clone(),
            cluster_classes: cluster_classes.clone(),
            problem: None,
        },
        // A backend that is not served has no clusters, and the counts of the others hold.
        BackendState::NotServed(what) => BackendFacts {
            clusters: Some(0),
            provisioning: Some(0),
            problem: Some(what.clone()),
            ..BackendFacts::default()
        },
        BackendState::Unknown => BackendFacts::default(),
    }
}
