//! What is told of bundles that are waited for, and when they are looked at again. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::bundle::{Bundle, Manifest, Report, State};

use super::{
    apply::{Refusal, Stop, Why, name_of},
    next::LONGEST,
    ready,
};

/// How often a bundle is looked at that is not ready in time yet.
const PACE: (SignedDuration, SignedDuration) = (SignedDuration::from_secs(2), SignedDuration::from_secs(15));
/// The same, when its time is over.
const LATE_PACE: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(15), SignedDuration::from_mins(10));

/// A bundle is not ready: what is told of it under that path, and when to look again. `before`: what was told, if it is about this one, or about
/// one that comes after it and was begun already.
pub(crate) fn waits(
    before: Option<&Report>,
    bundle: &Bundle,
    path: String,
    stop: &Stop,
    now: Timestamp,
) -> (Report, Duration) {
    // One that was ready and is not any more gets no time of its own, or it might go on for ever.
    let since = before.map_or(now, |before| begun(before, now));
    let over = later(since, limit(bundle));
    let failed = stop.why.hopeless || over <= now;
    let (state, after) = if failed {
        (State::SetupFailed, pace(LATE_PACE, since, now, 4))
    } else {
        (State::Running, soon(since, now).min(over.duration_since(now)))
    };
    (report(state, Some(path), stop, Some(since)), positive(after))
}

/// What is told of bundles of which it is known before anything is done by them that nothing will come of them: their author learns it whenever it
/// would matter. `sound`: what there is to know of a manifest.
pub(crate) fn impossible<'a>(
    bundles: impl IntoIterator<Item = (String, &'a Bundle)>,
    sound: impl Fn(&Manifest) -> Result<(), Refusal>,
) -> Option<Report> {
    for (path, bundle) in bundles {
        for manifest in &bundle.manifests {
            if let Err(why) = sound(manifest) {
                let stop = Stop { object: Some(name_of(&manifest.object)), why };
                return Some(report(State::SetupFailed, Some(path), &stop, None));
            }
        }
    }
    None
}

/// Whether the expression of a manifest is one.
pub(crate) fn parses(manifest: &Manifest) -> Result<(), Refusal> {
    let Some(expression) = manifest.ready.as_deref() else { return Ok(()) };
    ready::validate_expression(expression).map_err(|message| Refusal::new(Why::InvalidExpression, message))
}

/// All is there and ready.
pub(crate) fn applied(now: Timestamp) -> Report {
    Report { state: Some(State::Applied), since: Some(now), ..Report::default() }
}

/// A bundle is begun.
pub(crate) fn begins(state: State, path: String, now: Timestamp) -> Report {
    Report { state: Some(state), bundle: Some(path), since: Some(now), ..Report::default() }
}

/// It will never be done.
pub(crate) fn hopeless(why: Refusal) -> Report {
    report(State::SetupFailed, None, &Stop { object: None, why }, None)
}

pub(crate) fn report(state: State, bundle: Option<String>, stop: &Stop, since: Option<Timestamp>) -> Report {
    Report {
        state: Some(state),
        bundle,
        object: stop.object.clone(),
        reason: Some(stop.why.reason.clone()),
        message: Some(stop.why.message.clone()),
        since,
    }
}

/// Since when the bundle is being looked at. Of a time to come nothing is known but that its clock is another one.
pub(crate) fn begun(report: &Report, now: Timestamp) -> Timestamp {
    report.since.filter(|since| *since <= now).unwrap_or(now)
}

/// How long a bundle may take.
pub(crate) fn limit(bundle: &Bundle) -> SignedDuration {
    bundle.timeout.get().clamp(SignedDuration::ZERO, LONGEST)
}

pub(crate) fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// When to look again at something that began then and is not over yet.
pub(crate) fn soon(since: Timestamp, now: Timestamp) -> SignedDuration {
    pace(PACE, since, now, 10)
}

/// A part of the time that has passed, within limits.
fn pace(
    (least, most): (SignedDuration, SignedDuration),
    since: Timestamp,
    now: Timestamp,
    part: i32,
) -> SignedDuration {
    (now.duration_since(since) / part).clamp(least, most)
}

/// A time to wait.
pub(crate) fn positive(time: SignedDuration) -> Duration {
    Duration::try_from(time).unwrap_or_default()
}
