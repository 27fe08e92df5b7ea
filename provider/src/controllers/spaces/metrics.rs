//! Metrics of spaces.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use testplatform_runtime::metrics::{ControllerMetrics, RuntimeMetrics, set_gauge};

use super::state::{SpaceGauge, SpaceState};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SpaceStateLabel {
    state: &'static str,
}

/// The metrics of spaces.
#[derive(Default)]
pub struct SpaceMetrics {
    runtime: RuntimeMetrics,
    count: Family<SpaceStateLabel, Gauge>,
    tokens: Counter,
    /// Source of the gauges.
    source: Mutex<Weak<SpaceGauge>>,
}

impl ControllerMetrics for SpaceMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        registry.register("testplatform_spaces", "Spaces, by state of their credentials", self.count.clone());
        registry.register(
            "testplatform_space_tokens",
            "Tokens that were issued for spaces",
            self.tokens.clone(),
        );
    }

    fn refresh_gauges(&self) {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let Some(gauge) = source else { return };
        for at in SpaceState::ALL {
            set_gauge(&self.count, &SpaceStateLabel { state: at.as_str() }, gauge.count_in(at));
        }
        self.runtime.refresh_loops(&[], &gauge.health);
    }
}

impl SpaceMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    /// From now on gauges of spaces are read from there.
    pub fn attach_spaces(&self, gauge: &Arc<SpaceGauge>) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(gauge);
    }

    /// A token was made for a space.
    pub fn issued_token(&self) {
        self.tokens.inc();
    }
}
