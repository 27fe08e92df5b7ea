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
    bundle::{Bundle, BundleProgress, BundleReport},
    prerequisites::PrerequisiteRequestSpec,
};
use testplatform_runtime::time::{saturating_add, to_std_duration};

use super::{objects::Removed, request::PrerequisiteRequest};
pub use crate::manifests::requests::GRACE;
use crate::manifests::{
    apply::{ApplyError, ApplyErrorReason, ApplyProgress, PendingObject},
    requests::{GracePeriod, grace_period},
    wait::{
        check_ready_expression, poll_interval, report_applied, report_first_invalid, report_started,
        report_terminal, report_waiting,
    },
};

/// How often prerequisites are applied again, to stay as they are.
pub const KEEP: Duration = Duration::from_mins(10);
/// Requeue interval of a request that cannot succeed by itself.
pub const SLOW: Duration = Duration::from_mins(10);
/// Poll interval for the deletion of the cluster's object.
pub const POLL: Duration = Duration::from_secs(10);
/// How long it may take to delete what was made.
pub const GIVE_UP: SignedDuration = SignedDuration::from_mins(10);

/// The object of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterPresence {
    /// Not needed yet, so it was not read.
    Unasked,
    /// Clusters of this kind are not served in this namespace.
    Unknown,
    /// There is one of the name.
    There,
    /// There is none.
    Gone,
}

/// Next step of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum PrerequisitePlan {
    /// Nothing, until something happens.
    Rest,
    /// Nothing, until something happens or this time is over.
    Later(Duration),
    /// Applies these bundles, and then plans again.
    Apply(PrerequisiteSet),
    /// Deletes the created objects, and then plans again.
    Remove,
    /// Writes this to the ConfigMap, and then plans again after this time.
    Write(PrerequisiteUpdate, Duration),
    /// Removes the finalizer; nothing else follows.
    Release(PrerequisiteRelease),
}

/// Which bundles are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrerequisiteSet {
    /// All of them.
    Everything,
    /// Bundles that stay as they are.
    Prerequisites,
}

impl PrerequisiteSet {
    /// Those of an order, each with how it is called in a report.
    pub fn of(self, order: &PrerequisiteRequestSpec) -> impl DoubleEndedIterator<Item = (String, &Bundle)> {
        let before: &[Bundle] = match self {
            Self::Everything => &order.pre_create,
            Self::Prerequisites => &[],
        };
        let prerequisites =
            order.prerequisites.iter().map(|bundle| (format!("prerequisites/{}", bundle.name), bundle));
        prerequisites.chain(before.iter().map(|bundle| (format!("preCreate/{}", bundle.name), bundle)))
    }
}

/// Result of the previous step of this reconcile, on the same `map` and `presence`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// Bundles were applied.
    Applied(ApplyProgress),
    /// The created objects were deleted.
    Removed(Removed),
}

/// Changes to the ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrerequisiteUpdate {
    /// Report to write.
    pub report: BundleReport,
    /// Start of the deletion of the created objects; None removes the annotation.
    pub removing: Option<Timestamp>,
    /// Whether to add the finalizer; it is never removed this way.
    pub hold: bool,
}

/// Reason to release a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrerequisiteRelease {
    /// All created objects are deleted.
    Done,
    /// Something is left to the garbage collector; what, in a sentence.
    GivenUp(String),
}

/// Plans the next step of a request.
pub fn plan(
    map: &PrerequisiteRequest,
    presence: ClusterPresence,
    result: Option<&StepResult>,
    now: Timestamp,
) -> PrerequisitePlan {
    match (map.deleted, map.holds) {
        (Some(deleted), true) => plan_removal(map, presence, result, deleted, now),
        // Nothing is applied without the finalizer.
        (Some(_), false) => PrerequisitePlan::Rest,
        (None, _) => plan_apply(map, presence, result, now),
    }
}

fn plan_apply(
    map: &PrerequisiteRequest,
    presence: ClusterPresence,
    result: Option<&StepResult>,
    now: Timestamp,
) -> PrerequisitePlan {
    let reported = map.report.state;
    // The function has requested the cluster after this report.
    let is_applied = reported == Some(BundleProgress::Applied);
    let never = |report: BundleReport| {
        if is_applied { PrerequisitePlan::Later(SLOW) } else { write(map, report, SLOW) }
    };
    let order = match &map.order {
        Ok(order) => order,
        Err(why) => return never(report_terminal(ApplyError::new(ApplyErrorReason::InvalidOrder, why))),
    };
    if presence == ClusterPresence::Unknown {
        let message = "the provider serves no clusters of this kind in this namespace";
        return never(report_terminal(ApplyError::new(ApplyErrorReason::UnknownCluster, message)));
    }
    let sound = |manifest: &_| {
        check_ready_expression(manifest).and_then(|()| map.owner.check_manifest(&manifest.object))
    };
    if let Some(report) = report_first_invalid(PrerequisiteSet::Everything.of(order), sound) {
        return never(report);
    }
    let first = PrerequisiteSet::Everything.of(order).next();
    let begun = is_applied
        || (map.holds && matches!(reported, Some(BundleProgress::Running | BundleProgress::SetupFailed)));
    if !begun || (first.is_some() && !map.holds) {
        let hold = first.is_some();
        let report = match first {
            _ if is_applied => map.report.clone(),
            Some((path, _)) => report_started(BundleProgress::Running, path, now),
            None => report_applied(now),
        };
        return PrerequisitePlan::Write(PrerequisiteUpdate { report, removing: None, hold }, Duration::ZERO);
    }
    match result {
        None if !is_applied => PrerequisitePlan::Apply(PrerequisiteSet::Everything),
        None if order.prerequisites.is_empty() => PrerequisitePlan::Rest,
        None => PrerequisitePlan::Apply(PrerequisiteSet::Prerequisites),
        Some(_) if is_applied => PrerequisitePlan::Later(KEEP),
        Some(StepResult::Applied(ApplyProgress::All)) => write(map, report_applied(now), KEEP),
        Some(StepResult::Applied(ApplyProgress::At(place, stop))) => {
            report_pending(map, order, *place, stop, now)
        }
        // Only planned while the ConfigMap is being deleted.
        Some(StepResult::Removed(_)) => PrerequisitePlan::Later(SLOW),
    }
}

/// A bundle is not ready.
fn report_pending(
    map: &PrerequisiteRequest,
    order: &PrerequisiteRequestSpec,
    place: usize,
    stop: &PendingObject,
    now: Timestamp,
) -> PrerequisitePlan {
    let Some((path, bundle)) = PrerequisiteSet::Everything.of(order).nth(place) else {
        return PrerequisitePlan::Rest;
    };
    let reported = map.report.bundle.as_deref();
    let before = PrerequisiteSet::Everything.of(order).position(|(path, _)| Some(&*path) == reported);
    let before = before.filter(|before| place <= *before).map(|_| &map.report);
    let (report, after) = report_waiting(before, bundle, path, stop, now);
    write(map, report, after)
}

fn plan_removal(
    map: &PrerequisiteRequest,
    presence: ClusterPresence,
    result: Option<&StepResult>,
    deleted: Timestamp,
    now: Timestamp,
) -> PrerequisitePlan {
    match presence {
        ClusterPresence::Gone => {}
        ClusterPresence::Unasked => return PrerequisitePlan::Later(POLL),
        // Its deletion cannot be confirmed, and its prerequisites cannot be restored.
        ClusterPresence::Unknown => return PrerequisitePlan::Later(SLOW),
        ClusterPresence::There if map.removing.is_none() => return PrerequisitePlan::Later(POLL),
        // The grace period starts again once it is deleted.
        ClusterPresence::There => return write_removing(map, None, POLL),
    }
    match grace_period(deleted, map.removing, now) {
        GracePeriod::Starting => return write_removing(map, Some(now), to_std_duration(GRACE)),
        GracePeriod::Remaining(rest) => return PrerequisitePlan::Later(rest),
        GracePeriod::Elapsed => {}
    }
    if let Err(why) = &map.order {
        return PrerequisitePlan::Release(PrerequisiteRelease::GivenUp(why.clone()));
    }
    let Some(since) = map.removing else { return write_removing(map, Some(now), Duration::ZERO) };
    match result {
        None | Some(StepResult::Applied(_)) => PrerequisitePlan::Remove,
        Some(StepResult::Removed(Removed::All)) => PrerequisitePlan::Release(PrerequisiteRelease::Done),
        Some(StepResult::Removed(Removed::Left(stop))) => {
            // It may be the time of another clock.
            let since = since.min(now);
            let over = saturating_add(since, GIVE_UP).duration_since(now);
            if over > SignedDuration::ZERO {
                return PrerequisitePlan::Later(to_std_duration(poll_interval(since, now).min(over)));
            }
            let object = stop.object.as_deref().unwrap_or_default();
            PrerequisitePlan::Release(PrerequisiteRelease::GivenUp(format!("{object}: {}", stop.why.message)))
        }
    }
}

fn write_removing(
    map: &PrerequisiteRequest,
    removing: Option<Timestamp>,
    after: Duration,
) -> PrerequisitePlan {
    PrerequisitePlan::Write(PrerequisiteUpdate { report: map.report.clone(), removing, hold: false }, after)
}

/// Writes a report, unless it is the stored one.
fn write(map: &PrerequisiteRequest, report: BundleReport, after: Duration) -> PrerequisitePlan {
    if map.report == report {
        return PrerequisitePlan::Later(after);
    }
    PrerequisitePlan::Write(PrerequisiteUpdate { report, removing: None, hold: false }, after)
}
