//! ConfigMaps with orders of bundles: how one is read, which of what happens to it is news, how it is written, and how it is told about.

mod execute;
mod tell;
mod watch;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use serde::de::DeserializeOwned;
use testplatform_apis::{bundle::Report, redact::redacted};

pub(crate) use tell::Teller;
pub(crate) use watch::Orders;

use crate::bundles::wait::{later, positive};

/// How long after the beginning of the deletion nothing is let go of: the cluster's object may be on its way, asked for by somebody who was not told.
pub const GRACE: SignedDuration = SignedDuration::from_secs(30);

/// The most that is said of why an order cannot be read, in characters.
const MOST: usize = 256;

/// What orders of a kind have on their ConfigMaps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// Label: `true`.
    pub label: &'static str,
    /// Key of the order, JSON.
    pub order: &'static str,
    /// Annotation: the [`Report`], JSON.
    pub report: &'static str,
    /// Our finalizer.
    pub finalizer: &'static str,
}

impl Marks {
    /// What is to be done.
    ///
    /// # Errors
    /// If that cannot be read: why, in a sentence.
    pub fn order<T: DeserializeOwned>(&self, map: &ConfigMap) -> Result<T, String> {
        let text = map.data.as_ref().and_then(|data| data.get(self.order));
        let text = text.ok_or_else(|| format!("the ConfigMap has no key {}", self.order))?;
        serde_json::from_str(text).map_err(|error| {
            redacted(&format!("what the ConfigMap has as {} is no order: {error}", self.order), MOST)
        })
    }

    /// What was told last; nothing of it, if that cannot be read.
    pub fn report(&self, map: &ConfigMap) -> Report {
        note(map, self.report).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Whether our finalizer stands on it.
    pub fn holds(&self, map: &ConfigMap) -> bool {
        map.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == self.finalizer)
    }
}

/// An annotation.
pub(crate) fn note<'a>(map: &'a ConfigMap, key: &str) -> Option<&'a String> {
    map.metadata.annotations.as_ref().and_then(|notes| notes.get(key))
}

/// How far our clock may be ahead of the API server's.
pub const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// How far [`GRACE`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arriving {
    /// It begins now, which is to be written down: the API server's clock may be another one.
    Begins,
    /// So much of it is left.
    Left(Duration),
    /// It is over.
    Over,
}

/// How far it is now. `deleted` is of the API server's clock, and counts only where it is long ago by any; else what we have written down ourselves does, as
/// `removing`.
pub(crate) fn arriving(deleted: Timestamp, removing: Option<Timestamp>, now: Timestamp) -> Arriving {
    if later(deleted, GRACE + SKEW) <= now {
        return Arriving::Over;
    }
    let Some(removing) = removing else { return Arriving::Begins };
    let rest = later(removing, GRACE).duration_since(now).min(GRACE);
    if rest > SignedDuration::ZERO { Arriving::Left(positive(rest)) } else { Arriving::Over }
}

/// Since when it is being deleted, by the API server's clock.
pub(crate) fn deleted(map: &ConfigMap) -> Option<Timestamp> {
    map.metadata.deletion_timestamp.as_ref().map(|at| at.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the API server's clock only that it was long ago counts.
    #[test]
    fn the_grace_is_one_of_our_own_clock() {
        let deleted: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let at = |seconds: i64| deleted + SignedDuration::from_secs(seconds);
        // However far ours is ahead or behind, it is written down when it begins, and lasts.
        for skew in [-3600, -60, -20, 0, 20, 60] {
            assert_eq!(arriving(deleted, None, at(skew)), Arriving::Begins, "{skew}");
            let left = arriving(deleted, Some(at(skew)), at(skew + 10));
            assert_eq!(left, Arriving::Left(Duration::from_secs(20)), "{skew}");
            assert_eq!(arriving(deleted, Some(at(skew)), at(skew + 30)), Arriving::Over, "{skew}");
        }
        assert_eq!(arriving(deleted, None, at(90)), Arriving::Over);
        // One that was written down by a clock far ahead holds up nothing for long.
        assert_eq!(arriving(deleted, Some(at(3600)), at(0)), Arriving::Left(positive(GRACE)));
        assert_eq!(arriving(deleted, Some(at(3600)), at(90)), Arriving::Over);
    }
}
