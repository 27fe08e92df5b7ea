//! Metrics of the hub itself.

use std::sync::atomic::AtomicU64;

use jiff::Timestamp;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};
use testplatform_apis::hub::Facts;
use testplatform_runtime::metrics::{ControllerMetrics, RuntimeMetrics};

/// Backends are words of the program.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BackendLabel {
    backend: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct HubOutcomeLabel {
    outcome: &'static str,
}

/// No labels: the family exists once facts are published.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct HubNoLabels {}

/// The metrics of the self.
#[derive(Default)]
pub struct HubMetrics {
    runtime: RuntimeMetrics,
    clusters: Family<BackendLabel, Gauge>,
    provisioning: Family<BackendLabel, Gauge>,
    healthy: Family<HubNoLabels, Gauge>,
    written: Family<HubNoLabels, Gauge<f64, AtomicU64>>,
    looks: Family<HubOutcomeLabel, Counter>,
}

impl ControllerMetrics for HubMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        registry.register(
            "testplatform_hub_clusters",
            "Clusters on this hub, by backend",
            self.clusters.clone(),
        );
        registry.register(
            "testplatform_hub_clusters_provisioning",
            "Clusters on this hub that were never ready, by backend",
            self.provisioning.clone(),
        );
        registry.register(
            "testplatform_hub_healthy",
            "Whether this hub is reported healthy",
            self.healthy.clone(),
        );
        registry.register_with_unit(
            "testplatform_hub_facts_written_timestamp",
            "Time at which the facts of this hub were last written",
            Unit::Seconds,
            self.written.clone(),
        );
        registry.register(
            "testplatform_hub_facts_reconciles",
            "Reconciles of this hub's facts",
            self.looks.clone(),
        );
    }
}

impl HubMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    /// Records a reconcile of the hub's facts, with this outcome.
    pub fn count_hub_reconcile(&self, outcome: &'static str) {
        self.looks.get_or_create(&HubOutcomeLabel { outcome }).inc();
    }

    /// Records the published facts of the self.
    pub fn set_hub_facts(&self, facts: Option<&Facts>) {
        self.clusters.clear();
        self.provisioning.clear();
        let Some(facts) = facts else { return };
        for (name, backend) in &facts.backends {
            let of = BackendLabel { backend: name.clone() };
            if let Some(clusters) = backend.clusters {
                self.clusters.get_or_create(&of).set(clusters);
            }
            if let Some(provisioning) = backend.provisioning {
                self.provisioning.get_or_create(&of).set(provisioning);
            }
        }
        if let Some(health) = &facts.health {
            self.healthy.get_or_create(&HubNoLabels {}).set(health.ready.into());
        }
        if let Some(at) = facts.written_at {
            self.set_facts_written_at(at);
        }
    }

    /// Records when the published facts were written.
    pub fn set_facts_written_at(&self, at: Timestamp) {
        self.written.get_or_create(&HubNoLabels {}).set(at.as_duration().as_secs_f64());
    }
}
