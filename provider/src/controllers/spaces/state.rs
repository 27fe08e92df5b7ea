//! Last state of each space, as the source of gauges.

/// State of a space's credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpaceState {
    /// Published, and not to be replaced yet.
    Published,
    /// Not published yet.
    Waiting,
    /// They were to be published or replaced, and could not be.
    Failing,
    /// Somebody else's Secret has their name.
    Blocked,
}

impl SpaceState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Published, Self::Waiting, Self::Failing, Self::Blocked];

    /// The word that metrics have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Waiting => "waiting",
            Self::Failing => "failing",
            Self::Blocked => "blocked",
        }
    }
}

/// Everything that was last seen of spaces.
pub type SpaceGauge = testplatform_runtime::state_gauge::StateGauge<SpaceState>;

/// A gauge without objects.
pub fn new_gauge() -> SpaceGauge {
    SpaceGauge::with_watches(["spaces", "space-secrets"])
}
