//! Metrics of clusters of claims with `template`.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use testplatform_runtime::metrics::set_gauge;

use super::{controller::ClusterController, plan::progress};
use crate::metrics::{Metrics, kind};

/// Both are words of the program.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ClusterLabels {
    backend: String,
    state: &'static str,
}

/// The metrics of clusters.
#[derive(Default)]
pub(crate) struct ClusterMetrics {
    count: Family<ClusterLabels, Gauge>,
    /// Sources of the gauges: one for each kind that the hub serves.
    sources: Mutex<Vec<Weak<ClusterController>>>,
}

impl ClusterMetrics {
    /// Registers them.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "cluster_count",
            "Clusters of claims with template that are served here",
            self.count.clone(),
        );
    }

    #[cfg(test)]
    pub(crate) fn count_one(&self) {
        self.count.get_or_create(&ClusterLabels { backend: String::new(), state: "provisioning" }).inc();
    }
}

impl Metrics {
    /// From now on gauges of clusters of a kind are read from this controller.
    pub fn attach_clusters(&self, controller: &Arc<ClusterController>) {
        let mut sources = self.0.clusters.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.push(Arc::downgrade(controller));
    }

    pub(crate) fn refresh_clusters(&self) {
        let clusters = &self.0.clusters;
        let sources = clusters.sources.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sources: Vec<Arc<ClusterController>> = sources.iter().filter_map(Weak::upgrade).collect();
        if !sources.is_empty() {
            clusters.count.clear();
        }
        for controller in sources {
            let backend = controller.backend();
            let served = controller.served_clusters();
            for object in &served {
                let of = ClusterLabels { backend: backend.to_string(), state: progress(object) };
                clusters.count.get_or_create(&of).inc();
            }
            let bad = served.iter().filter(|object| !object.is_readable()).count();
            set_gauge(&self.0.undecodable, &kind { kind: backend.cluster_kind().kind.into() }, bad);
            self.refresh_loops(&controller.queues(), controller.health());
        }
    }
}
