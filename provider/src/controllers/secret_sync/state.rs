//! Last state of each claim, as the source of gauges.

use crate::config::Carried;

/// State of a claim that brings its own credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretSyncState {
    /// Its hub is not known yet, or its namespace there is not made, or does not let the carrier in.
    Waiting,
    /// A Secret that it names is not there, may not be read, or is not what may be carried; and nothing counts as carried yet.
    Incomplete,
    /// All that it names is on the hub as it is here.
    Carried,
    /// The Secrets were copied and are now missing or invalid here: the hub keeps the last copy.
    Outdated,
    /// Its cluster is deleted, and its Secrets are removed from the hub.
    Removed,
    /// The last look failed.
    Failing,
}

impl SecretSyncState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Waiting, Self::Incomplete, Self::Carried, Self::Outdated, Self::Removed, Self::Failing];

    /// The word that metrics have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Incomplete => "incomplete",
            Self::Carried => "carried",
            Self::Outdated => "outdated",
            Self::Removed => "removed",
            Self::Failing => "failing",
        }
    }
}

/// Everything that was last seen of claims.
pub type SecretSyncGauge = testplatform_runtime::state_gauge::StateGauge<SecretSyncState>;

/// Nothing yet, of claims of these flavours, with a watch of each.
pub fn new_gauge(flavours: &[Carried]) -> SecretSyncGauge {
    SecretSyncGauge::with_watches(flavours.iter().map(|flavour| match flavour {
        Carried::Claims => "carried-claims",
        Carried::TestClusters => "carried-testclusters",
    }))
}
