//! Metrics of clusters of claims with `template`.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use testplatform_runtime::metrics::{ControllerMetrics, RuntimeMetrics};

use super::{caches::ClusterCaches, plan::progress};

/// Both are words of the program.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ClusterLabels {
    backend: String,
    state: &'static str,
}

/// The metrics of self.
#[derive(Default)]
pub struct ClusterMetrics {
    runtime: RuntimeMetrics,
    count: Family<ClusterLabels, Gauge>,
    /// Sources of the gauges: one for each kind that the hub serves.
    sources: Mutex<Vec<Weak<ClusterCaches>>>,
}

impl ControllerMetrics for ClusterMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        registry.register(
            "testplatform_template_clusters",
            "Clusters of claims with template that are served here",
            self.count.clone(),
        );
    }

    fn refresh_gauges(&self) {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sources: Vec<Arc<ClusterCaches>> = sources.iter().filter_map(Weak::upgrade).collect();
        if !sources.is_empty() {
            self.count.clear();
        }
        for caches in sources {
            let backend = caches.backend();
            let served = caches.served_clusters();
            for object in &served {
                let of = ClusterLabels { backend: backend.to_string(), state: progress(object) };
                self.count.get_or_create(&of).inc();
            }
            let bad = served.iter().filter(|object| !object.is_readable()).count();
            self.runtime.set_undecodable(backend.cluster_kind().kind, bad);
            self.runtime.refresh_loops(&[caches.queue.age(), caches.secrets.queue.age()], &caches.health);
        }
    }
}

impl ClusterMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    #[cfg(test)]
    pub(crate) fn count_one(&self) {
        self.count.get_or_create(&ClusterLabels { backend: String::new(), state: "provisioning" }).inc();
    }

    /// From now on gauges of clusters of a kind are read from these caches.
    pub fn attach_clusters(&self, caches: &Arc<ClusterCaches>) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.push(Arc::downgrade(caches));
    }
}
