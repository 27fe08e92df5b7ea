//! What is counted of prerequisites.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::{Metrics, set};
use crate::prerequisites::seen::{Seen, Standing};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct At {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Came {
    outcome: &'static str,
}

/// What becomes of the prerequisites of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of them are there and ready, and the cluster can be asked for.
    Applied,
    /// One was not ready in time, or never can be.
    Failed,
    /// The cluster's object is gone, and they are gone after it.
    Released,
    /// The cluster's object is gone, and they are not; nobody waits for that any longer.
    GivenUp,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Applied, Self::Failed, Self::Released, Self::GivenUp];

    /// The reason that its event has.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "PrerequisitesApplied",
            Self::Failed => "PrerequisitesFailed",
            Self::Released => "PrerequisitesReleased",
            Self::GivenUp => "PrerequisitesGivenUp",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Failed => "failed",
            Self::Released => "released",
            Self::GivenUp => "given_up",
        }
    }

    /// Whether somebody should worry.
    pub const fn is_warning(self) -> bool {
        match self {
            Self::Applied | Self::Released => false,
            Self::Failed | Self::GivenUp => true,
        }
    }
}

/// The metrics of prerequisites.
#[derive(Default)]
pub(super) struct Prerequisites {
    count: Family<At, Gauge>,
    outcomes: Family<Came, Counter>,
    /// What gauges are read from when somebody asks.
    source: Mutex<Weak<Seen>>,
}

impl Prerequisites {
    /// Registers them.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "prerequisites_count",
            "Clusters with prerequisites, by how those stand",
            self.count.clone(),
        );
        registry.register(
            "prerequisites_outcomes",
            "Clusters whose prerequisites came to something, by what",
            self.outcomes.clone(),
        );
    }
}

impl Metrics {
    /// From now on gauges are read from there. What is counted begins with zero, so that the first of its kind shows as one more.
    pub fn attach_prerequisites(&self, seen: &Arc<Seen>) {
        let metrics = &self.0.prerequisites;
        *metrics.source.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(seen);
        for outcome in Outcome::ALL {
            drop(metrics.outcomes.get_or_create(&Came { outcome: outcome.word() }));
        }
    }

    /// The prerequisites of a cluster came to that.
    pub fn prerequisites_came_to(&self, outcome: Outcome) {
        self.0.prerequisites.outcomes.get_or_create(&Came { outcome: outcome.word() }).inc();
    }

    pub(super) fn refresh_prerequisites(&self) {
        let metrics = &self.0.prerequisites;
        let source = metrics.source.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let Some(seen) = source else { return };
        for at in Standing::ALL {
            set(&metrics.count, &At { state: at.as_str() }, seen.count(at));
        }
        self.refresh_loops(&[], &seen.health);
    }
}
