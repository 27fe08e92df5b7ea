//! Stages of a refresh of a pool, and of a rotation of its credentials. Report and status share them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stage of a refresh.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RefreshPhase {
    /// Clusters are put to sleep, so that Hive removes the oldest first, or installations are waited for.
    #[default]
    Settling,
    /// Clusters are removed.
    Down,
    /// Their places are filled.
    Up,
    /// Every cluster was replaced, or claimed.
    Done,
    /// Removing clusters did not remove those that were meant; nothing more is done for this nonce.
    Stalled,
}

impl RefreshPhase {
    /// Whether nothing more happens.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Done | Self::Stalled => true,
            Self::Settling | Self::Down | Self::Up => false,
        }
    }
}

/// Progress of a credentials rotation.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RotationPhase {
    /// The first credentials that were seen: there are no older ones that are known of.
    #[default]
    First,
    /// Drain: the pool is being emptied; the old credentials are still in use.
    Draining,
    /// Drain: no cluster is left; the new credentials may be used.
    Switching,
    /// The new credentials are used, and clusters made with the old ones are there.
    Replacing,
    /// No cluster made with the old credentials is left.
    Done,
}
