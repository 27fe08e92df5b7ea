//! What the carrier last saw of each claim, for those who ask by metrics.

use crate::config::Carried;

/// How a claim that brings its own credentials stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Its hub is not known yet, or its namespace there is not made, or does not let the carrier in.
    Waiting,
    /// A Secret that it names is not there, may not be read, or is not what may be carried; and nothing counts as carried yet.
    Incomplete,
    /// All that it names is on the hub as it is here.
    Carried,
    /// What it names was carried, and is not here any more as it should be: the hub has it as it was.
    Outdated,
    /// Its cluster is gone, and its Secrets are from the hub.
    Removed,
    /// The last look failed.
    Failing,
}

impl Standing {
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
pub type Seen = crate::seen::Seen<Standing>;

/// Nothing yet, of claims of these flavours, with a watch of each.
pub fn seen(flavours: &[Carried]) -> Seen {
    Seen::by(flavours.iter().map(|flavour| match flavour {
        Carried::Claims => "carried-claims",
        Carried::TestClusters => "carried-testclusters",
    }))
}
