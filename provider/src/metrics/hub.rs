//! Metrics of the hub itself.

use std::sync::atomic::AtomicU64;

use jiff::Timestamp;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};
use testplatform_apis::hub::Facts;

use super::Metrics;

/// Backends are words of the program.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Of {
    backend: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Look {
    outcome: &'static str,
}

/// A family without labels: it is there once something was told.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Nothing {}

/// The metrics of the hub.
#[derive(Default)]
pub(super) struct Hub {
    clusters: Family<Of, Gauge>,
    provisioning: Family<Of, Gauge>,
    healthy: Family<Nothing, Gauge>,
    written: Family<Nothing, Gauge<f64, AtomicU64>>,
    looks: Family<Look, Counter>,
}

impl Hub {
    /// Registers them.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("hub_clusters", "Clusters on this hub, by backend", self.clusters.clone());
        registry.register(
            "hub_clusters_provisioning",
            "Clusters on this hub that never were ready, by backend",
            self.provisioning.clone(),
        );
        registry.register("hub_healthy", "Whether this hub is told to be well", self.healthy.clone());
        registry.register_with_unit(
            "hub_facts_written_timestamp",
            "When the facts of this hub were last written",
            Unit::Seconds,
            self.written.clone(),
        );
        registry.register("hub_looks", "Looks at this hub for its facts", self.looks.clone());
    }
}

impl Metrics {
    /// The hub was looked at, with this outcome.
    pub fn looked_at_hub(&self, outcome: &'static str) {
        self.0.hub.looks.get_or_create(&Look { outcome }).inc();
    }

    /// Records the published facts of the hub.
    pub fn told_of_hub(&self, facts: Option<&Facts>) {
        let hub = &self.0.hub;
        hub.clusters.clear();
        hub.provisioning.clear();
        let Some(facts) = facts else { return };
        for (name, backend) in &facts.backends {
            let of = Of { backend: name.clone() };
            if let Some(clusters) = backend.clusters {
                hub.clusters.get_or_create(&of).set(clusters);
            }
            if let Some(provisioning) = backend.provisioning {
                hub.provisioning.get_or_create(&of).set(provisioning);
            }
        }
        if let Some(health) = &facts.health {
            hub.healthy.get_or_create(&Nothing {}).set(health.ready.into());
        }
        if let Some(at) = facts.written_at {
            self.told_of_hub_at(at);
        }
    }

    /// When what is told was written.
    pub fn told_of_hub_at(&self, at: Timestamp) {
        self.0.hub.written.get_or_create(&Nothing {}).set(at.as_duration().as_secs_f64());
    }
}
