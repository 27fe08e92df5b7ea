//! Last state of each bundle request, as the source of gauges.

use testplatform_apis::bundle::BundleProgress;

/// State of a bundle request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BundleState {
    /// The credentials of its cluster are not published yet.
    Waiting,
    /// It is being applied, or waited for.
    Running,
    /// All of it is there.
    Applied,
    /// A bundle was not ready in time.
    Failed,
    /// The cluster is to go, and what comes before that is being done.
    BeforeDeletion,
}

impl BundleState {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Waiting, Self::Running, Self::Applied, Self::Failed, Self::BeforeDeletion];

    /// The word that metrics have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Applied => "applied",
            Self::Failed => "failed",
            Self::BeforeDeletion => "before_deletion",
        }
    }
}

impl From<Option<BundleProgress>> for BundleState {
    fn from(state: Option<BundleProgress>) -> Self {
        match state {
            None => Self::Waiting,
            Some(BundleProgress::Running) => Self::Running,
            Some(BundleProgress::Applied) => Self::Applied,
            Some(BundleProgress::SetupFailed) => Self::Failed,
            Some(BundleProgress::BeforeDeletion) => Self::BeforeDeletion,
        }
    }
}

/// Everything that was last seen of orders.
pub type BundleGauge = testplatform_runtime::state_gauge::StateGauge<BundleState>;

/// Nothing yet, in so many namespaces: first the watch of what is published, then one of orders for each.
pub fn new_gauge(namespaces: usize) -> BundleGauge {
    BundleGauge::with_watches(
        std::iter::once("bundles-secrets").chain(std::iter::repeat_n("bundles", namespaces)),
    )
}
