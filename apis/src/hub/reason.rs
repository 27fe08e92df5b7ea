//! Why a hub was chosen, and why none was: the words of `status.hub.reason` and of the condition that a claim waits with.

/// Why this hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selected {
    /// The claim names it.
    HubNamed,
    /// No other fits.
    OnlyHub,
    /// Others fit, and take nothing more for now.
    OnlyHubWithRoom,
    /// Of those that fit it has the most room for its weight.
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

/// Why no hub. Each is one that an administrator or time can lift, so the claim waits. In the order of how near a hub came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoHub {
    /// The hubs were not read yet.
    HubsNotRead,
    /// The hub that the claim names is not there.
    PinnedHubMissing,
    /// None has what the claim asks for.
    NoHubMatches,
    /// Those that have it are not for this tenant.
    TenantNotAllowed,
    /// Those that have it cannot make this version.
    VersionUnsupported,
    /// Those that have it are full, closed or not well.
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
