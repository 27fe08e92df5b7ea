//! What is counted of credentials of clouds.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use testplatform_apis::cloud::State;

use super::{Metrics, set};
use crate::cloud::seen::Seen;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct At {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Came {
    outcome: &'static str,
}

/// What becomes of the credentials of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The first one is published.
    Made,
    /// Another one is published in its place.
    Rotated,
    /// One that works stays, because no other could be made.
    RotationFailed,
    /// None works, and none could be made.
    OwnerInvalid,
    /// One was deleted.
    Removed,
    /// One is left at the identity service: nobody who is known may delete it.
    LeftBehind,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Made,
        Self::Rotated,
        Self::RotationFailed,
        Self::OwnerInvalid,
        Self::Removed,
        Self::LeftBehind,
    ];

    /// The reason that its event has.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Made => "CloudCredentialMade",
            Self::Rotated => "CloudCredentialRotated",
            Self::RotationFailed => "CloudCredentialRotationFailed",
            Self::OwnerInvalid => "CloudCredentialOwnerInvalid",
            Self::Removed => "CloudCredentialRemoved",
            Self::LeftBehind => "CloudCredentialLeftBehind",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Rotated => "rotated",
            Self::RotationFailed => "rotation_failed",
            Self::OwnerInvalid => "owner_invalid",
            Self::Removed => "removed",
            Self::LeftBehind => "left_behind",
        }
    }

    /// Whether somebody should worry.
    pub const fn is_warning(self) -> bool {
        match self {
            Self::Made | Self::Rotated | Self::Removed => false,
            Self::RotationFailed | Self::OwnerInvalid | Self::LeftBehind => true,
        }
    }
}

/// The words that metrics have for how a credential stands.
pub const STATES: [&str; 6] = [
    word(State::Valid),
    word(State::RotationFailed),
    word(State::OwnerInvalid),
    word(State::Unreachable),
    word(State::Blocked),
    word(State::Leaving),
];

const fn word(state: State) -> &'static str {
    match state {
        State::Valid => "valid",
        State::RotationFailed => "rotation_failed",
        State::OwnerInvalid => "owner_invalid",
        State::Unreachable => "unreachable",
        State::Blocked => "blocked",
        State::Leaving => "leaving",
    }
}

/// The metrics of credentials of clouds.
#[derive(Default)]
pub(super) struct CloudCredentials {
    count: Family<At, Gauge>,
    outcomes: Family<Came, Counter>,
    /// What gauges are read from when somebody asks.
    source: Mutex<Weak<Seen>>,
}

impl CloudCredentials {
    /// Registers them.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "cloud_credentials_count",
            "Clusters with a credential of a cloud of their own, by how it stands",
            self.count.clone(),
        );
        registry.register(
            "cloud_credentials_outcomes",
            "What became of credentials of clouds",
            self.outcomes.clone(),
        );
    }
}

impl Metrics {
    /// From now on gauges are read from there. What is counted begins with zero, so that the first of its kind shows as one more.
    pub fn attach_cloud(&self, seen: &Arc<Seen>) {
        let metrics = &self.0.cloud;
        *metrics.source.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(seen);
        for outcome in Outcome::ALL {
            drop(metrics.outcomes.get_or_create(&Came { outcome: outcome.word() }));
        }
    }

    /// The credential of a cluster came to that.
    pub fn cloud_came_to(&self, outcome: Outcome) {
        self.0.cloud.outcomes.get_or_create(&Came { outcome: outcome.word() }).inc();
    }

    pub(super) fn refresh_cloud(&self) {
        let metrics = &self.0.cloud;
        let source = metrics.source.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let Some(seen) = source else { return };
        for state in State::ALL {
            set(&metrics.count, &At { state: word(state) }, seen.count(state));
        }
        self.refresh_loops(&[], &seen.health);
    }
}
