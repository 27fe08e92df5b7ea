//! Metrics of bundles.

use std::sync::Arc;

use jiff::SignedDuration;
use prometheus_client::{
    metrics::histogram::Histogram,
    registry::{Registry, Unit},
};
use testplatform_runtime::metrics::{ControllerMetrics, RuntimeMetrics, requests::RequestMetrics};

use super::state::{BundleGauge, BundleState};

/// From what is applied and done to what a template may ask for.
const SECONDS: [f64; 9] = [1.0, 5.0, 15.0, 60.0, 180.0, 600.0, 1800.0, 3600.0, 7200.0];

/// Outcome of a cluster's bundles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleOutcome {
    /// All after the installation is there and ready.
    Applied,
    /// One after the installation was not ready in time.
    Failed,
    /// All before the deletion was done, or had not to be.
    Released,
    /// One before the deletion was not ready in time, and is waited for no longer.
    GivenUp,
}

impl BundleOutcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Applied, Self::Failed, Self::Released, Self::GivenUp];

    /// The reason that its event has.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "BundlesApplied",
            Self::Failed => "BundlesFailed",
            Self::Released => "BundlesReleased",
            Self::GivenUp => "BundlesGivenUp",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Failed => "failed",
            Self::Released => "released",
            Self::GivenUp => "given_up",
        }
    }

    /// Whether somebody should worry.
    pub const fn is_warning(self) -> bool {
        match self {
            Self::Applied | Self::Released => false,
            Self::Failed | Self::GivenUp => true,
        }
    }
}

/// The metrics of bundles.
pub struct BundleMetrics {
    runtime: RuntimeMetrics,
    requests: RequestMetrics<BundleState>,
    durations: Histogram,
}

impl Default for BundleMetrics {
    fn default() -> Self {
        Self {
            runtime: RuntimeMetrics::default(),
            requests: RequestMetrics::default(),
            durations: Histogram::new(SECONDS),
        }
    }
}

impl ControllerMetrics for BundleMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        self.requests.register(
            registry,
            ["testplatform_bundles", "Clusters with bundles, by state of the bundles"],
            ["testplatform_bundle_outcomes", "Results of clusters' bundles, by result"],
        );
        registry.register_with_unit(
            "testplatform_bundle_duration",
            "Time from the start of a bundle after the installation until it was ready",
            Unit::Seconds,
            self.durations.clone(),
        );
    }

    fn refresh_gauges(&self) {
        let all = BundleState::ALL.map(|at| (at, at.as_str()));
        if let Some(gauge) = self.requests.refresh(all) {
            self.runtime.refresh_loops(&[], &gauge.health);
        }
    }
}

impl BundleMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    /// From now on gauges are read from there.
    pub fn attach_bundles(&self, gauge: &Arc<BundleGauge>) {
        self.requests.attach(gauge, BundleOutcome::ALL.map(BundleOutcome::word));
    }

    /// The bundles of a cluster came to that.
    pub fn bundles_came_to(&self, outcome: BundleOutcome) {
        self.requests.came_to(outcome.word());
    }

    /// A bundle was ready after that time.
    pub fn bundle_took(&self, time: SignedDuration) {
        self.durations.observe(time.as_secs_f64().max(0.0));
    }
}
