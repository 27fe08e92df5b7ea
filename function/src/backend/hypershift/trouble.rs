//! What is wrong with a HostedCluster or its NodePools: what will not pass unless somebody changes something, and what may.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    foreign::{hypershift::conditions, meta::ObservedCondition},
    redact::redacted,
};

use super::facts::Facts;
use crate::text::bounded;

/// How long something has to be wrong for good, by its own transition time, before it is believed.
pub(super) const GRACE: SignedDuration = SignedDuration::from_mins(3);
/// How long something of a cluster that was ready has to be wrong before it counts.
pub(super) const DEGRADED: SignedDuration = SignedDuration::from_mins(2);

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    /// As one word: the type of the condition.
    pub reason: String,
    /// In the hub's words, without what may be a secret.
    pub message: String,
    pub since: Option<Timestamp>,
    /// Whether it can only pass if somebody changes something.
    pub terminal: bool,
}

impl Trouble {
    fn of(condition: &ObservedCondition, of_pool: Option<&str>, terminal: bool) -> Self {
        let whose = of_pool.map(|pool| format!("node group {pool}: ")).unwrap_or_default();
        let said = if condition.message.is_empty() { &condition.reason } else { &condition.message };
        // The first line: what follows is for developers of HyperShift.
        let line = said.lines().next().unwrap_or_default();
        Self {
            reason: bounded(&condition.type_, 63),
            message: bounded(&redacted(&format!("{whose}{line}"), 768), 768),
            since: condition.last_transition_time,
            terminal,
        }
    }

    /// Word and sentence.
    pub fn said(&self) -> String {
        if self.message.is_empty() {
            self.reason.clone()
        } else {
            format!("{}: {}", self.reason, self.message)
        }
    }

    /// Whether it has lasted so long. What does not say since when is not believed.
    pub fn has_lasted(&self, span: SignedDuration, now: Timestamp) -> bool {
        self.until(span).is_some_and(|until| until <= now)
    }

    /// When it will have lasted so long.
    pub fn until(&self, span: SignedDuration) -> Option<Timestamp> {
        self.since?.checked_add(span).ok()
    }
}

/// What will not pass by itself.
pub(super) fn terminal(facts: &Facts<'_>) -> Vec<Trouble> {
    let mut found = Vec::new();
    let conflict = facts.condition(conditions::CLUSTER_NETWORK_CIDR_CONFLICT).filter(|c| c.is_true());
    let image = facts
        .lacks(conditions::VALID_RELEASE_IMAGE)
        .filter(|c| c.reason == conditions::INVALID_IMAGE && !of_the_network(&c.message));
    let own = conditions::TERMINAL.iter().filter_map(|type_| facts.lacks(type_));
    found.extend(own.chain(image).chain(conflict).map(|c| Trouble::of(c, None, true)));
    for pool in &facts.pools {
        let own = conditions::POOL_TERMINAL.iter().filter_map(|type_| pool.condition(type_));
        let scaling = pool.condition(conditions::AUTOSCALING_ENABLED);
        let scaling = scaling.filter(|c| c.reason == conditions::VALIDATION_FAILED);
        let wrong = own.chain(scaling).filter(|c| c.is_false() && !of_the_network(&c.message));
        found.extend(wrong.map(|c| Trouble::of(c, Some(&pool.name), true)));
    }
    found
}

/// What may pass: the weightiest first.
pub(super) fn passing(facts: &Facts<'_>) -> Vec<Trouble> {
    let degraded = facts.condition(conditions::DEGRADED).filter(|c| c.is_true());
    let blocked = facts.lacks(conditions::PROGRESSING).filter(|c| c.reason == conditions::BLOCKED);
    let succeeding = |type_: &str| {
        // It never settles where there are no nodes.
        type_ != conditions::CLUSTER_VERSION_SUCCEEDING || facts.nodes_asked()
    };
    let soft =
        conditions::SOFT.iter().filter(|type_| succeeding(type_)).filter_map(|type_| facts.lacks(type_));
    let mut found: Vec<Trouble> =
        degraded.into_iter().chain(blocked).chain(soft).map(|c| Trouble::of(c, None, false)).collect();
    for pool in &facts.pools {
        let unhealthy = pool.condition(conditions::ALL_NODES_HEALTHY).filter(|c| c.is_false());
        found.extend(unhealthy.map(|c| Trouble::of(c, Some(&pool.name), false)));
    }
    found
}

/// What keeps a cluster that was ready from being so.
pub(super) fn degrading(facts: &Facts<'_>) -> Vec<Trouble> {
    let down = facts.lacks(conditions::AVAILABLE);
    let degraded = facts.condition(conditions::DEGRADED).filter(|c| c.is_true());
    let version = facts.lacks(conditions::CLUSTER_VERSION_SUCCEEDING).filter(|_| facts.nodes_asked());
    let mut found: Vec<Trouble> =
        [down, degraded, version].into_iter().flatten().map(|c| Trouble::of(c, None, false)).collect();
    for pool in facts.pools.iter().filter(|pool| !pool.is_served()) {
        let ready = pool.condition(conditions::READY).filter(|c| c.is_false());
        found.extend(ready.map(|c| Trouble::of(c, Some(&pool.name), false)));
    }
    found
}

/// Whether a sentence about an image is one about the way to its registry, which heals.
fn of_the_network(message: &str) -> bool {
    let symptoms = [
        "timeout",
        "timed out",
        "refused",
        "429",
        "500",
        "502",
        "503",
        "504",
        "tls",
        "x509",
        "no such host",
        "connection reset",
        "eof",
        "deadline exceeded",
    ];
    let message = message.to_ascii_lowercase();
    symptoms.iter().any(|symptom| message.contains(symptom))
}
