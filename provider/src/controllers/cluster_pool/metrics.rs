//! Metrics of pools in Git.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use testplatform_runtime::metrics::{ControllerMetrics, RuntimeMetrics, set_gauge};

use super::state::{PoolGauge, PoolState};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PoolStateLabel {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PoolOutcomeLabel {
    outcome: &'static str,
}

/// Reasons are words of the program.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PoolEventLabel {
    reason: String,
}

/// Pools are an administrator's, so there are few.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PoolLabel {
    pool: String,
}

/// The metrics of pools.
#[derive(Default)]
pub struct PoolMetrics {
    runtime: RuntimeMetrics,
    count: Family<PoolStateLabel, Gauge>,
    looks: Family<PoolOutcomeLabel, Counter>,
    events: Family<PoolEventLabel, Counter>,
    remaining: Family<PoolLabel, Gauge>,
    /// Source of the gauges.
    source: Mutex<Weak<PoolGauge>>,
}

impl ControllerMetrics for PoolMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        registry.register(
            "testplatform_clusterpools",
            "ClusterPools from Git, by what they are at",
            self.count.clone(),
        );
        registry.register(
            "testplatform_clusterpool_reconciles",
            "Looks at ClusterPools from Git",
            self.looks.clone(),
        );
        registry.register(
            "testplatform_clusterpool_events",
            "What was told of ClusterPools from Git",
            self.events.clone(),
        );
        registry.register(
            "testplatform_clusterpool_refresh_remaining_clusters",
            "Clusters that a refresh has still to replace; there while one is under way",
            self.remaining.clone(),
        );
    }

    fn refresh_gauges(&self) {
        let Some(gauge) = self.source() else { return };
        let pools = gauge.snapshot();
        for at in PoolState::ALL {
            let count = pools.iter().filter(|(_, looked)| looked.state == at).count();
            set_gauge(&self.count, &PoolStateLabel { state: at.as_str() }, count);
        }
        self.remaining.clear();
        for (pool, looked) in pools {
            if let Some(remaining) = looked.remaining {
                self.remaining.get_or_create(&PoolLabel { pool }).set(remaining);
            }
        }
        self.runtime.refresh_loops(&[], &gauge.health);
    }
}

impl PoolMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    fn source(&self) -> Option<Arc<PoolGauge>> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    /// From now on gauges of pools in Git are read from there.
    pub fn attach_pools(&self, gauge: &Arc<PoolGauge>) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(gauge);
    }

    /// Records a reconcile of a pool in Git, with this outcome.
    pub fn count_pool_reconcile(&self, outcome: &'static str) {
        self.looks.get_or_create(&PoolOutcomeLabel { outcome }).inc();
    }

    /// Records an event about a pool in Git, such as a refresh or a failed installation.
    pub fn count_pool_event(&self, reason: &str) {
        self.events.get_or_create(&PoolEventLabel { reason: reason.to_owned() }).inc();
    }
}
