//! Metrics of requests of any kind: their states and outcomes.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::set_gauge;
use crate::state_gauge::StateGauge;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestStateLabel {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestOutcomeLabel {
    outcome: &'static str,
}

/// Metrics of requests; `S` is their state.
pub struct RequestMetrics<S> {
    count: Family<RequestStateLabel, Gauge>,
    outcomes: Family<RequestOutcomeLabel, Counter>,
    /// Source of the gauges.
    source: Mutex<Weak<StateGauge<S>>>,
}

impl<S> Default for RequestMetrics<S> {
    fn default() -> Self {
        Self { count: Family::default(), outcomes: Family::default(), source: Mutex::default() }
    }
}

impl<S: Copy + PartialEq> RequestMetrics<S> {
    /// Registers the gauge of states and the counter of outcomes: a name and a help text each.
    pub fn register(&self, registry: &mut Registry, count: [&str; 2], outcomes: [&str; 2]) {
        registry.register(count[0], count[1], self.count.clone());
        registry.register(outcomes[0], outcomes[1], self.outcomes.clone());
    }

    /// Reads the gauges from there. Counters start at zero, so that the first event shows as an increase.
    pub fn attach(&self, gauge: &Arc<StateGauge<S>>, outcomes: impl IntoIterator<Item = &'static str>) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(gauge);
        for outcome in outcomes {
            drop(self.outcomes.get_or_create(&RequestOutcomeLabel { outcome }));
        }
    }

    /// One came to that.
    pub fn came_to(&self, outcome: &'static str) {
        self.outcomes.get_or_create(&RequestOutcomeLabel { outcome }).inc();
    }

    /// Sets the gauge for each state, with its label value.
    pub fn refresh(&self, all: impl IntoIterator<Item = (S, &'static str)>) -> Option<Arc<StateGauge<S>>> {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner).upgrade()?;
        for (standing, state) in all {
            set_gauge(&self.count, &RequestStateLabel { state }, source.count_in(standing));
        }
        Some(source)
    }
}
