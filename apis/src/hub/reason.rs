//! Reasons for the choice of a hub or its absence, in `status.hub.reason` and in the condition of a waiting claim.

/// Reason for the choice of a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selected {
    /// The claim names it.
    HubNamed,
    /// No other fits.
    OnlyHub,
    /// Others fit, and take nothing more for now.
    OnlyHubWithRoom,
    /// It has the most room for its weight among the matching hubs.
    MostRoom,
}

impl Selected {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::HubNamed, Self::OnlyHub, Self::OnlyHubWithRoom, Self::MostRoom];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HubNamed => "HubNamed",
            Self::OnlyHub => "OnlyHub",
            Self::OnlyHubWithRoom => "OnlyHubWithRoom",
            Self::MostRoom => "MostRoom",
        }
    }
}

/// Reason why no hub was chosen. An administrator or time can resolve each, so the claim waits. Ordered by how close a hub came to a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoHub {
    /// The hubs were not read yet.
    HubsNotRead,
    /// The hub that the claim names is not there.
    PinnedHubMissing,
    /// None has what the claim asks for.
    NoHubMatches,
    /// The matching hubs do not serve this tenant.
    TenantNotAllowed,
    /// The matching hubs do not support this version.
    VersionUnsupported,
    /// The matching hubs are full, closed or unhealthy.
    NoCapacity,
}

impl NoHub {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::HubsNotRead,
        Self::PinnedHubMissing,
        Self::NoHubMatches,
        Self::TenantNotAllowed,
        Self::VersionUnsupported,
        Self::NoCapacity,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HubsNotRead => "HubsNotRead",
            Self::PinnedHubMissing => "PinnedHubMissing",
            Self::NoHubMatches => "NoHubMatches",
            Self::TenantNotAllowed => "TenantNotAllowed",
            Self::VersionUnsupported => "VersionUnsupported",
            Self::NoCapacity => "NoCapacity",
        }
    }
}
