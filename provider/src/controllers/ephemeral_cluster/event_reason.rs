//! Words of events that are the reason of no condition here. Those of all other events are.

/// Report to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventReason {
    /// The credentials are published.
    ClusterReady,
    /// The end has begun.
    Deprovisioning,
    /// A ProwJob of another controller was adopted.
    ProwJobAdopted,
    /// The status cannot be read, so nothing is made and nothing written over it.
    StatusUnreadable,
}

impl EventReason {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::ClusterReady, Self::Deprovisioning, Self::ProwJobAdopted, Self::StatusUnreadable];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClusterReady => "ClusterReady",
            Self::Deprovisioning => "Deprovisioning",
            Self::ProwJobAdopted => "ProwJobAdopted",
            Self::StatusUnreadable => "StatusUnreadable",
        }
    }
}
