//! One order.
//!
//! ```text
//!   (new) ──Write: finalizer──▶ Running ──Apply: all ready──▶ Applied ──every 10m──▶ prerequisites are applied again
//!                                 │  ▲                          │
//!                       time over │  │ ready after all          │
//!                                 ▼  │                          │
//!                              SetupFailed                      │
//!                                 └─────────── deleted ─────────┘
//!                                                ▼
//!                 wait for the cluster's object to be gone ──▶ Write: since ──▶ Remove ──nothing left, or time over──▶ Release
//! ```
//!
//! Decisions hold whatever is stale, lost or repeated around them: all state is on the ConfigMap.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    bundle::{Bundle, Report, State},
    prerequisites::Order,
};

use super::{map::Map, own::Removed};
pub use crate::orders::GRACE;
use crate::{
    bundles::{
        apply::{ApplyError, ApplyErrorReason, ApplyProgress, PendingObject},
        wait::{
            check_ready_expression, poll_interval, report_applied, report_first_invalid, report_started,
            report_terminal, report_waiting, saturating_add, to_std_duration,
        },
    },
    orders::{GracePeriod, grace_period},
};

/// How often prerequisites are applied again, to stay as they are.
pub const KEEP: Duration = Duration::from_mins(10);
/// How often an order is looked at that cannot be done by itself.
pub const SLOW: Duration = Duration::from_mins(10);
/// How often it is asked whether the cluster's object is gone.
pub const POLL: Duration = Duration::from_secs(10);
/// How long it may take to delete what was made.
pub const GIVE_UP: SignedDuration = SignedDuration::from_mins(10);

/// The object of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    /// It does not matter yet, so nobody was asked.
    Unasked,
    /// Clusters of this kind are not served in this namespace.
    Unknown,
    /// There is one of the name.
    There,
    /// There is none.
    Gone,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing, until something happens.
    Rest,
    /// Nothing, until something happens or this time is over.
    Later(Duration),
    /// These are applied, and then it is asked again what is to be done.
    Apply(Work),
    /// Deletes the created objects, and then plans again.
    Remove,
    /// This is written on the ConfigMap, and then it is asked again after this time.
    Write(Note, Duration),
    /// The finalizer is taken away, and nothing else is to be done ever.
    Release(Release),
}

/// Which bundles are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// All of them.
    Everything,
    /// Bundles that stay as they are.
    Prerequisites,
}

impl Work {
    /// Those of an order, each with how it is called in a report.
    pub fn of(self, order: &Order) -> impl DoubleEndedIterator<Item = (String, &Bundle)> {
        let before: &[Bundle] = match self {
            Self::Everything => &order.pre_create,
            Self::Prerequisites => &[],
        };
        let prerequisites =
            order.prerequisites.iter().map(|bundle| (format!("prerequisites/{}", bundle.name), bundle));
        prerequisites.chain(before.iter().map(|bundle| (format!("preCreate/{}", bundle.name), bundle)))
    }
}

/// Result of the previous step of this reconcile, on the same `map` and `here`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// Bundles were applied.
    Applied(ApplyProgress),
    /// The created objects were deleted.
    Removed(Removed),
}

/// Changes to the ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What is told.
    pub report: Report,
    /// Since when what was made is being deleted; None takes away what stands there.
    pub removing: Option<Timestamp>,
    /// Whether the finalizer is put on it; it is never taken away so.
    pub hold: bool,
}

/// Why a ConfigMap is let go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Release {
    /// All that was made is gone.
    Done,
    /// Something is left to the garbage collector; what, in a sentence.
    GivenUp(String),
}

/// Plans the next step of a request.
pub fn next(map: &Map, here: Here, came: Option<&Came>, now: Timestamp) -> Step {
    match (map.deleted, map.holds) {
        (Some(deleted), true) => ending(map, here, came, deleted, now),
        // Nothing is applied without the finalizer.
        (Some(_), false) => Step::Rest,
        (None, _) => living(map, here, came, now),
    }
}

fn living(map: &Map, here: Here, came: Option<&Came>, now: Timestamp) -> Step {
    let told = map.report.state;
    // The function has requested the cluster after this report.
    let kept = told == Some(State::Applied);
    let never = |report: Report| if kept { Step::Later(SLOW) } else { write(map, report, SLOW) };
    let order = match &map.order {
        Ok(order) => order,
        Err(why) => return never(report_terminal(ApplyError::new(ApplyErrorReason::InvalidOrder, why))),
    };
    if here == Here::Unknown {
        let message = "the provider serves no clusters of this kind in this namespace";
        return never(report_terminal(ApplyError::new(ApplyErrorReason::UnknownCluster, message)));
    }
    let sound =
        |manifest: &_| check_ready_expression(manifest).and_then(|()| map.owner.takes(&manifest.object));
    if let Some(report) = report_first_invalid(Work::Everything.of(order), sound) {
        return never(report);
    }
    let first = Work::Everything.of(order).next();
    let begun = kept || (map.holds && matches!(told, Some(State::Running | State::SetupFailed)));
    if !begun || (first.is_some() && !map.holds) {
        let hold = first.is_some();
        let report = match first {
            _ if kept => map.report.clone(),
            Some((path, _)) => report_started(State::Running, path, now),
            None => report_applied(now),
        };
        return Step::Write(Note { report, removing: None, hold }, Duration::ZERO);
    }
    match came {
        None if !kept => Step::Apply(Work::Everything),
        None if order.prerequisites.is_empty() => Step::Rest,
        None => Step::Apply(Work::Prerequisites),
        Some(_) if kept => Step::Later(KEEP),
        Some(Came::Applied(ApplyProgress::All)) => write(map, report_applied(now), KEEP),
        Some(Came::Applied(ApplyProgress::At(place, stop))) => waiting(map, order, *place, stop, now),
        // It is asked for only where the ConfigMap is being deleted.
        Some(Came::Removed(_)) => Step::Later(SLOW),
    }
}

/// A bundle is not ready.
fn waiting(map: &Map, order: &Order, place: usize, stop: &PendingObject, now: Timestamp) -> Step {
    let Some((path, bundle)) = Work::Everything.of(order).nth(place) else { return Step::Rest };
    let said = map.report.bundle.as_deref();
    let before = Work::Everything.of(order).position(|(path, _)| Some(&*path) == said);
    let before = before.filter(|before| place <= *before).map(|_| &map.report);
    let (report, after) = report_waiting(before, bundle, path, stop, now);
    write(map, report, after)
}

fn ending(map: &Map, here: Here, came: Option<&Came>, deleted: Timestamp, now: Timestamp) -> Step {
    match here {
        Here::Gone => {}
        Here::Unasked => return Step::Later(POLL),
        // Nobody can say whether it is gone, and what it needs cannot be brought back.
        Here::Unknown => return Step::Later(SLOW),
        Here::There if map.removing.is_none() => return Step::Later(POLL),
        // Its time begins anew, once it is gone.
        Here::There => return note(map, None, POLL),
    }
    match grace_period(deleted, map.removing, now) {
        GracePeriod::Starting => return note(map, Some(now), to_std_duration(GRACE)),
        GracePeriod::Remaining(rest) => return Step::Later(rest),
        GracePeriod::Elapsed => {}
    }
    if let Err(why) = &map.order {
        return Step::Release(Release::GivenUp(why.clone()));
    }
    let Some(since) = map.removing else { return note(map, Some(now), Duration::ZERO) };
    match came {
        None | Some(Came::Applied(_)) => Step::Remove,
        Some(Came::Removed(Removed::All)) => Step::Release(Release::Done),
        Some(Came::Removed(Removed::Left(stop))) => {
            // It may be the time of another clock.
            let since = since.min(now);
            let over = saturating_add(since, GIVE_UP).duration_since(now);
            if over > SignedDuration::ZERO {
                return Step::Later(to_std_duration(poll_interval(since, now).min(over)));
            }
            let object = stop.object.as_deref().unwrap_or_default();
            Step::Release(Release::GivenUp(format!("{object}: {}", stop.why.message)))
        }
    }
}

fn note(map: &Map, removing: Option<Timestamp>, after: Duration) -> Step {
    Step::Write(Note { report: map.report.clone(), removing, hold: false }, after)
}

/// Tells that, if it is not told yet.
fn write(map: &Map, report: Report, after: Duration) -> Step {
    if map.report == report {
        return Step::Later(after);
    }
    Step::Write(Note { report, removing: None, hold: false }, after)
}
