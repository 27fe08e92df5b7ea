//! Metrics of requests of any kind: their states and outcomes.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::set;
use crate::seen::StateGauge;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct At {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Came {
    outcome: &'static str,
}

/// The metrics of orders; `S` is how one stands.
pub(super) struct Orders<S> {
    count: Family<At, Gauge>,
    outcomes: Family<Came, Counter>,
    /// Source of the gauges.
    source: Mutex<Weak<StateGauge<S>>>,
}

impl<S> Default for Orders<S> {
    fn default() -> Self {
        Self { count: Family::default(), outcomes: Family::default(), source: Mutex::default() }
    }
}

impl<S: Copy + PartialEq> Orders<S> {
    /// Registers how many there are, by how they stand, and what became of them: each a name and what it tells.
    pub fn register(&self, registry: &mut Registry, count: [&str; 2], outcomes: [&str; 2]) {
        registry.register(count[0], count[1], self.count.clone());
        registry.register(outcomes[0], outcomes[1], self.outcomes.clone());
    }

    /// Reads the gauges from there. Counters start at zero, so that the first event shows as an increase.
    pub fn attach(&self, seen: &Arc<StateGauge<S>>, outcomes: impl IntoIterator<Item = &'static str>) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(seen);
        for outcome in outcomes {
            drop(self.outcomes.get_or_create(&Came { outcome }));
        }
    }

    /// One came to that.
    pub fn came_to(&self, outcome: &'static str) {
        self.outcomes.get_or_create(&Came { outcome }).inc();
    }

    /// Reads the gauges: of each way to stand that there is, with its word.
    pub fn refresh(&self, all: impl IntoIterator<Item = (S, &'static str)>) -> Option<Arc<StateGauge<S>>> {
        let seen = self.source.lock().unwrap_or_else(PoisonError::into_inner).upgrade()?;
        for (standing, state) in all {
            set(&self.count, &At { state }, seen.count_in(standing));
        }
        Some(seen)
    }
}
