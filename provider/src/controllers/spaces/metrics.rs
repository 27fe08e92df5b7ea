//! Metrics of spaces.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use testplatform_runtime::metrics::set_gauge;

use super::state::{SpaceGauge, SpaceState};
use crate::metrics::Metrics;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SpaceStateLabel {
    state: &'static str,
}

/// The metrics of spaces.
#[derive(Default)]
pub(crate) struct SpaceMetrics {
    count: Family<SpaceStateLabel, Gauge>,
    tokens: Counter,
    /// Source of the gauges.
    source: Mutex<Weak<SpaceGauge>>,
}

impl SpaceMetrics {
    /// Registers them.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("space_count", "Spaces, by how their credentials stand", self.count.clone());
        registry.register("space_tokens", "Tokens that were made for spaces", self.tokens.clone());
    }
}

impl Metrics {
    /// From now on gauges of spaces are read from there.
    pub fn attach_spaces(&self, gauge: &Arc<SpaceGauge>) {
        *self.0.spaces.source.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(gauge);
    }

    /// A token was made for a space.
    pub fn issued_token(&self) {
        self.0.spaces.tokens.inc();
    }

    pub(crate) fn refresh_spaces(&self) {
        let metrics = &self.0.spaces;
        let source = metrics.source.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let Some(gauge) = source else { return };
        for at in SpaceState::ALL {
            set_gauge(&metrics.count, &SpaceStateLabel { state: at.as_str() }, gauge.count_in(at));
        }
        self.refresh_loops(&[], &gauge.health);
    }
}
