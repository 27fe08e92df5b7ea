//! ConfigMaps with requests: parsing, event filtering, writing, and events.

mod events;
mod execute;
mod watch;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use serde::de::DeserializeOwned;
use testplatform_apis::{bundle::BundleReport, redact::redact_text};
use testplatform_runtime::time::{saturating_add, to_std_duration};

pub(crate) use events::EventPublisher;
pub(crate) use watch::RequestWatch;

/// Delay between the start of the deletion and the release: the cluster's object may still be in creation, requested by somebody who did not
/// know.
pub const GRACE: SignedDuration = SignedDuration::from_secs(30);

/// Maximum length of a parse error, in characters.
const MAX_PARSE_ERROR_CHARS: usize = 256;

/// Label, annotation and data keys of one kind of request ConfigMap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestKeys {
    /// Label: `true`.
    pub label: &'static str,
    /// Key of the order, JSON.
    pub order: &'static str,
    /// Annotation: the [`BundleReport`], JSON.
    pub report: &'static str,
    /// Our finalizer.
    pub finalizer: &'static str,
}

impl RequestKeys {
    /// Parses the request.
    ///
    /// # Errors
    /// If that cannot be read: why, in a sentence.
    pub fn parse_request<T: DeserializeOwned>(&self, map: &ConfigMap) -> Result<T, String> {
        let text = map.data.as_ref().and_then(|data| data.get(self.order));
        let text = text.ok_or_else(|| format!("the ConfigMap has no key {}", self.order))?;
        serde_json::from_str(text).map_err(|error| {
            redact_text(
                &format!("the ConfigMap's key {} is not a request: {error}", self.order),
                MAX_PARSE_ERROR_CHARS,
            )
        })
    }

    /// Last report; empty if it cannot be read.
    pub fn parse_report(&self, map: &ConfigMap) -> BundleReport {
        annotation(map, self.report).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Whether our finalizer is present.
    pub fn has_finalizer(&self, map: &ConfigMap) -> bool {
        map.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == self.finalizer)
    }
}

/// An annotation.
pub(crate) fn annotation<'a>(map: &'a ConfigMap, key: &str) -> Option<&'a String> {
    map.metadata.annotations.as_ref().and_then(|notes| notes.get(key))
}

/// How far our clock may be ahead of the API server's.
pub const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// How far [`GRACE`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GracePeriod {
    /// It starts now, and the start is recorded: the API server may have another clock.
    Starting,
    /// So much of it is left.
    Remaining(Duration),
    /// It is over.
    Elapsed,
}

/// How far it is now. `deleted` is of the API server's clock, and counts only where it is long ago by any; else what we have written down ourselves does, as
/// `removing`.
pub(crate) fn grace_period(deleted: Timestamp, removing: Option<Timestamp>, now: Timestamp) -> GracePeriod {
    if saturating_add(deleted, GRACE + SKEW) <= now {
        return GracePeriod::Elapsed;
    }
    let Some(removing) = removing else { return GracePeriod::Starting };
    let rest = saturating_add(removing, GRACE).duration_since(now).min(GRACE);
    if rest > SignedDuration::ZERO {
        GracePeriod::Remaining(to_std_duration(rest))
    } else {
        GracePeriod::Elapsed
    }
}

/// Since when it is being deleted, by the API server's clock.
pub(crate) fn deletion_timestamp(map: &ConfigMap) -> Option<Timestamp> {
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
            assert_eq!(grace_period(deleted, None, at(skew)), GracePeriod::Starting, "{skew}");
            let left = grace_period(deleted, Some(at(skew)), at(skew + 10));
            assert_eq!(left, GracePeriod::Remaining(Duration::from_secs(20)), "{skew}");
            assert_eq!(grace_period(deleted, Some(at(skew)), at(skew + 30)), GracePeriod::Elapsed, "{skew}");
        }
        assert_eq!(grace_period(deleted, None, at(90)), GracePeriod::Elapsed);
        // A timestamp from a clock far ahead delays nothing for long.
        assert_eq!(
            grace_period(deleted, Some(at(3600)), at(0)),
            GracePeriod::Remaining(to_std_duration(GRACE))
        );
        assert_eq!(grace_period(deleted, Some(at(3600)), at(90)), GracePeriod::Elapsed);
    }
}
