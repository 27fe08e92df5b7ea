//! Metrics of prerequisites.

use std::sync::Arc;

use prometheus_client::registry::Registry;
use testplatform_runtime::metrics::{ControllerMetrics, RuntimeMetrics, requests::RequestMetrics};

use super::state::{PrerequisiteGauge, PrerequisiteState};

/// Outcome of a cluster's prerequisites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrerequisiteOutcome {
    /// All of them are present and ready, and the cluster can be requested.
    Applied,
    /// One was not ready in time, or never can be.
    Failed,
    /// The cluster's object is deleted, and they are deleted too.
    Released,
    /// The cluster's object is deleted, and they are not; the controller stops waiting.
    GivenUp,
}

impl PrerequisiteOutcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Applied, Self::Failed, Self::Released, Self::GivenUp];

    /// The reason that its event has.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "PrerequisitesApplied",
            Self::Failed => "PrerequisitesFailed",
            Self::Released => "PrerequisitesReleased",
            Self::GivenUp => "PrerequisitesGivenUp",
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

/// The metrics of prerequisites.
#[derive(Default)]
pub struct PrerequisiteMetrics {
    runtime: RuntimeMetrics,
    requests: RequestMetrics<PrerequisiteState>,
}

impl ControllerMetrics for PrerequisiteMetrics {
    fn new(runtime: RuntimeMetrics) -> Self {
        Self { runtime, ..Self::default() }
    }

    fn register_metrics(&self, registry: &mut Registry) {
        self.requests.register(
            registry,
            ["testplatform_prerequisites", "Clusters with prerequisites, by state of the prerequisites"],
            ["testplatform_prerequisite_outcomes", "Results of clusters' prerequisites, by result"],
        );
    }

    fn refresh_gauges(&self) {
        let all = PrerequisiteState::ALL.map(|at| (at, at.as_str()));
        if let Some(gauge) = self.requests.refresh(all) {
            self.runtime.refresh_loops(&[], &gauge.health);
        }
    }
}

impl PrerequisiteMetrics {
    /// Metrics that every controller shares.
    pub fn runtime_metrics(&self) -> &RuntimeMetrics {
        &self.runtime
    }

    /// From now on gauges are read from there.
    pub fn attach_prerequisites(&self, gauge: &Arc<PrerequisiteGauge>) {
        self.requests.attach(gauge, PrerequisiteOutcome::ALL.map(PrerequisiteOutcome::word));
    }

    /// The prerequisites of a cluster came to that.
    pub fn prerequisites_came_to(&self, outcome: PrerequisiteOutcome) {
        self.requests.came_to(outcome.word());
    }
}
