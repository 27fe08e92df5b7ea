//! What the loop over orders last saw of each, for those who ask by metrics.

use testplatform_apis::bundle::State;

use super::map::Map;

/// How an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It is being applied, or waited for.
    Running,
    /// All of it was there, and the cluster could be asked for.
    Applied,
    /// A bundle was not ready in time, or never can be.
    Failed,
    /// It is to go, once the cluster's object is gone.
    Leaving,
}

impl Standing {
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

    /// That of a ConfigMap of which this is told.
    pub fn of(map: &Map, told: Option<State>) -> Self {
        match told {
            _ if map.deleted.is_some() => Self::Leaving,
            Some(State::Applied) => Self::Applied,
            Some(State::SetupFailed) => Self::Failed,
            Some(State::Running | State::BeforeDeletion) | None => Self::Running,
        }
    }
}

/// Everything that was last seen of orders.
pub type Seen = crate::seen::Seen<Standing>;

/// Nothing yet, in so many namespaces, with a watch for each.
pub fn seen(namespaces: usize) -> Seen {
    Seen::by(std::iter::repeat_n("prerequisites", namespaces))
}
