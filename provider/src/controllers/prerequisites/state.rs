//! Last state of each bundle request, as the source of gauges.

use testplatform_apis::bundle::BundleProgress;

use super::request::PrerequisiteRequest;

/// State of a bundle request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PrerequisiteState {
    /// It is being applied, or waited for.
    Running,
    /// All of it was ready, and the cluster could be requested.
    Applied,
    /// A bundle was not ready in time, or never can be.
    Failed,
    /// It is deleted once the cluster's object is gone.
    Leaving,
}

impl PrerequisiteState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Running, Self::Applied, Self::Failed, Self::Leaving];

    /// The word that metrics have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Applied => "applied",
            Self::Failed => "failed",
            Self::Leaving => "leaving",
        }
    }

    /// State of a request with this reported state.
    pub fn of(map: &PrerequisiteRequest, reported: Option<BundleProgress>) -> Self {
        match reported {
            _ if map.deleted.is_some() => Self::Leaving,
            Some(BundleProgress::Applied) => Self::Applied,
            Some(BundleProgress::SetupFailed) => Self::Failed,
            Some(BundleProgress::Running | BundleProgress::BeforeDeletion) | None => Self::Running,
        }
    }
}

/// Everything that was last seen of orders.
pub type PrerequisiteGauge = testplatform_runtime::state_gauge::StateGauge<PrerequisiteState>;

/// Nothing yet, in so many namespaces, with a watch for each.
pub fn new_gauge(namespaces: usize) -> PrerequisiteGauge {
    PrerequisiteGauge::with_watches(std::iter::repeat_n("prerequisites", namespaces))
}
