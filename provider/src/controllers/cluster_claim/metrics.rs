//! Metrics of ClusterClaims.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use testplatform_apis::names::ours;
use testplatform_runtime::metrics::{
    ControllerMetrics, RuntimeMetrics,
    bounded::{MOST, most_frequent},
};

use super::{caches::ClaimCaches, object::ClusterClaim};

/// Labels of the gauge of ClusterClaims. Pools are an administrator's, so there are few.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Claimed {
    pool: String,
    state: &'static str,
}

/// The metrics of ClusterClaims.
#[derive(Default)]
pub struct ClaimMetrics {
    runtime: RuntimeMetrics,
    count: Family<Claimed, Gauge>,
    /// Source of the gauges.
    source: Mutex<Weak<ClaimCaches>>,
}

impl ControllerMetrics for ClaimMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        registry.register(
            "testplatform_clusterclaims",
            "ClusterClaims that are served here",
            self.count.clone(),
        );
    }

    fn refresh_gauges(&self) {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let Some(caches) = source else { return };
        let claims = caches.claims.state();
        let claims: Vec<_> = claims.iter().filter(|claim| claim.is_marked()).collect();
        let pools: Vec<[String; 1]> =
            claims.iter().map(|claim| [format!("{}/{}", claim.namespace(), claim.pool())]).collect();
        self.count.clear();
        for (claim, [pool]) in claims.iter().zip(most_frequent(pools, MOST)) {
            self.count.get_or_create(&Claimed { pool, state: progress(claim) }).inc();
        }
        let bad = claims.iter().filter(|o| o.spec.error.is_some() || o.status.error.is_some()).count();
        self.runtime.set_undecodable("ClusterClaim", bad);
        self.runtime.refresh_loops(&[caches.queue.age(), caches.secrets.queue.age()], &caches.health);
    }
}

impl ClaimMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    #[cfg(test)]
    pub(crate) fn count_one(&self) {
        self.count.get_or_create(&Claimed { pool: String::new(), state: "queued" }).inc();
    }

    /// From now on gauges of ClusterClaims are read from these caches.
    pub fn attach_claims(&self, caches: &Arc<ClaimCaches>) {
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(caches);
    }
}

/// How far a ClusterClaim is.
fn progress(claim: &ClusterClaim) -> &'static str {
    let published = claim.annotation(ours::CREDENTIALS_REVISION).is_some();
    match (claim.is_deleted(), claim.assigned().is_some(), published) {
        (true, _, _) => "releasing",
        (false, false, _) => "queued",
        (false, true, false) => "assigned",
        (false, true, true) => "published",
    }
}
