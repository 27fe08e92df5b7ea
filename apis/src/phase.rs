//! The phase of a claim: one word for where its cluster stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Phase of a cluster, the same vocabulary for every backend. The incumbent's words are derived from it (`_EphemeralClusterPhase`).
///
/// The order of the variants is the order in which a cluster usually passes through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Accepted or waiting for something that an administrator or a queue can still change. Nothing is being built.
    Pending,
    /// A cluster is being built for this claim.
    Provisioning,
    /// The cluster is up and its credentials are in the claim's Secret.
    Ready,
    /// The cluster was ready once and is not healthy at the moment. The credentials stay.
    Degraded,
    /// The cluster is being taken down, because its owner asked for it or its lifetime ended.
    Deprovisioning,
    /// The cluster is gone, as it should be. The credentials are withdrawn.
    Deprovisioned,
    /// The request cannot succeed any more. Never left.
    Failed,
}

impl Phase {
    /// Every phase, in the order of a cluster's life.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Provisioning,
        Self::Ready,
        Self::Degraded,
        Self::Deprovisioning,
        Self::Deprovisioned,
        Self::Failed,
    ];

    /// The word that stands in `status.phase`; equal to the variant's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Provisioning => "Provisioning",
            Self::Ready => "Ready",
            Self::Degraded => "Degraded",
            Self::Deprovisioning => "Deprovisioning",
            Self::Deprovisioned => "Deprovisioned",
            Self::Failed => "Failed",
        }
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
