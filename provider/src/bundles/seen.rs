//! What the loop over orders last saw of each, for those who ask by metrics.

use testplatform_apis::bundle::State;

/// How an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
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

impl Standing {
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

impl From<Option<State>> for Standing {
    fn from(state: Option<State>) -> Self {
        match state {
            None => Self::Waiting,
            Some(State::Running) => Self::Running,
            Some(State::Applied) => Self::Applied,
            Some(State::SetupFailed) => Self::Failed,
            Some(State::BeforeDeletion) => Self::BeforeDeletion,
        }
    }
}

/// Everything that was last seen of orders.
pub type Seen = crate::seen::Seen<Standing>;

/// Nothing yet, in so many namespaces: first the watch of what is published, then one of orders for each.
pub fn seen(namespaces: usize) -> Seen {
    Seen::by(std::iter::once("bundles-secrets").chain(std::iter::repeat_n("bundles", namespaces)))
}
