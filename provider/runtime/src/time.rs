//! Times without overflow.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// A time plus a duration, at most the last time that there is.
pub fn saturating_add(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// A time to wait.
pub fn to_std_duration(time: SignedDuration) -> Duration {
    Duration::try_from(time).unwrap_or_default()
}

/// The second that a moment lies in.
pub fn truncate_to_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
