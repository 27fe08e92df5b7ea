//! Reports about bundles that are not ready, and their poll intervals. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::bundle::{Bundle, BundleProgress, BundleReport, Manifest};
use testplatform_runtime::time::{saturating_add, to_std_duration};

use super::{
    apply::{ApplyError, ApplyErrorReason, PendingObject, describe_object},
    ready,
};

/// Maximum timeout of a bundle.
pub const MAX_TIMEOUT: SignedDuration = SignedDuration::from_hours(24);
/// Shortest and longest poll interval of a bundle that is not ready yet and in time.
const POLL_INTERVAL: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(2), SignedDuration::from_secs(15));
/// The same, when its time is over.
const OVERDUE_POLL_INTERVAL: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(15), SignedDuration::from_mins(10));

/// Report about a bundle that is not ready, under that path, and the poll interval. `before` is the previous report, if it concerns this
/// bundle, or a later one that was started already.
pub(crate) fn report_waiting(
    before: Option<&BundleReport>,
    bundle: &Bundle,
    path: String,
    stop: &PendingObject,
    now: Timestamp,
) -> (BundleReport, Duration) {
    // A bundle that was ready before gets no time of its own, or the wait might never end.
    let since = before.map_or(now, |before| started_at(before, now));
    let over = saturating_add(since, bundle_timeout(bundle));
    let failed = stop.why.hopeless || over <= now;
    let (state, after) = if failed {
        (BundleProgress::SetupFailed, scaled_interval(OVERDUE_POLL_INTERVAL, since, now, 4))
    } else {
        (BundleProgress::Running, poll_interval(since, now).min(over.duration_since(now)))
    };
    (report_pending_object(state, Some(path), stop, Some(since)), to_std_duration(after))
}

/// Report about the first bundle that can never be applied, known before anything is applied: its author learns it each time it matters.
/// `sound` checks a manifest.
pub(crate) fn report_first_invalid<'a>(
    bundles: impl IntoIterator<Item = (String, &'a Bundle)>,
    sound: impl Fn(&Manifest) -> Result<(), ApplyError>,
) -> Option<BundleReport> {
    for (path, bundle) in bundles {
        for manifest in &bundle.manifests {
            if let Err(why) = sound(manifest) {
                let stop = PendingObject { object: Some(describe_object(&manifest.object)), why };
                return Some(report_pending_object(BundleProgress::SetupFailed, Some(path), &stop, None));
            }
        }
    }
    None
}

/// Whether the expression of a manifest is one.
pub(crate) fn check_ready_expression(manifest: &Manifest) -> Result<(), ApplyError> {
    let Some(expression) = manifest.ready.as_deref() else { return Ok(()) };
    ready::validate_expression(expression)
        .map_err(|message| ApplyError::new(ApplyErrorReason::InvalidExpression, message))
}

/// All is there and ready.
pub(crate) fn report_applied(now: Timestamp) -> BundleReport {
    BundleReport { state: Some(BundleProgress::Applied), since: Some(now), ..BundleReport::default() }
}

/// A bundle is begun.
pub(crate) fn report_started(state: BundleProgress, path: String, now: Timestamp) -> BundleReport {
    BundleReport { state: Some(state), bundle: Some(path), since: Some(now), ..BundleReport::default() }
}

/// It will never be done.
pub(crate) fn report_terminal(why: ApplyError) -> BundleReport {
    report_pending_object(BundleProgress::SetupFailed, None, &PendingObject { object: None, why }, None)
}

pub(crate) fn report_pending_object(
    state: BundleProgress,
    bundle: Option<String>,
    stop: &PendingObject,
    since: Option<Timestamp>,
) -> BundleReport {
    BundleReport {
        state: Some(state),
        bundle,
        object: stop.object.clone(),
        reason: Some(stop.why.reason.clone()),
        message: Some(stop.why.message.clone()),
        since,
    }
}

/// Start of the wait for the bundle. A time in the future only means that another clock wrote it.
pub(crate) fn started_at(report: &BundleReport, now: Timestamp) -> Timestamp {
    report.since.filter(|since| *since <= now).unwrap_or(now)
}

/// How long a bundle may take.
pub(crate) fn bundle_timeout(bundle: &Bundle) -> SignedDuration {
    bundle.timeout.as_signed().clamp(SignedDuration::ZERO, MAX_TIMEOUT)
}

/// When to look again at something that began then and is not over yet.
pub(crate) fn poll_interval(since: Timestamp, now: Timestamp) -> SignedDuration {
    scaled_interval(POLL_INTERVAL, since, now, 10)
}

/// A part of the time that has passed, within limits.
fn scaled_interval(
    (least, most): (SignedDuration, SignedDuration),
    since: Timestamp,
    now: Timestamp,
    part: i32,
) -> SignedDuration {
    (now.duration_since(since) / part).clamp(least, most)
}
