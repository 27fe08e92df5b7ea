//! One order.
//!
//! ```text
//!   (published) ──Write──▶ Running ──Apply: all ready──▶ Applied
//!        │                   │  ▲                          │
//!        │          time over│  │ready after all           │
//!        │                   ▼  │                          │
//!        │               SetupFailed                       │
//!        └──────────────────┬────────── deleted ───────────┘
//!                           ▼
//!                     BeforeDeletion ──Apply: all ready, time over, cluster gone──▶ Release
//! ```
//!
//! Decisions hold whatever is stale, lost or repeated around them: all state is on the ConfigMap, and the finalizer is written together with
//! the first report, before anything is applied.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::bundle::{Bundle, BundleProgress, BundleReport, BundleRequestSpec};
use testplatform_runtime::time::{saturating_add, to_std_duration};

use super::request::BundleRequest;
use crate::{
    credentials::account::admin::AdminKubeconfig,
    manifests::{
        apply::{ApplyError, ApplyErrorReason, ApplyProgress, PendingObject},
        requests::SKEW,
        wait::{
            bundle_timeout, check_ready_expression, poll_interval, report_applied, report_first_invalid,
            report_pending_object, report_started, report_terminal, report_waiting, started_at,
        },
    },
};

/// Poll interval for a cluster whose credentials are not published yet, in addition to the watch of published Secrets.
pub const RESYNC_PERIOD: Duration = Duration::from_mins(2);

/// The cluster that an order is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterAccess {
    /// Clusters of this kind are not published in this namespace.
    Unknown,
    /// There is no object of this name.
    Gone,
    /// It is being deleted.
    Deleting,
    /// Its credentials are not published, or cannot be used; why, in a sentence.
    Unreachable(&'static str),
    /// The published credentials belong to the current object.
    Reachable {
        /// Uid of that object.
        uid: String,
        /// By what the cluster lets us in.
        admin: AdminKubeconfig,
    },
}

/// Next step of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum BundlePlan {
    /// Nothing, until something happens.
    AwaitChange,
    /// Nothing, until something happens or this time is over.
    RequeueAfter(Duration),
    /// Applies these bundles, and then plans again.
    Apply(BundleRange),
    /// Writes this to the ConfigMap, unless it is there already, and plans again after this time.
    WriteStatus(StatusUpdate, Duration),
    /// Removes the finalizer; nothing else follows.
    Release(BundleRelease),
}

/// Bundles to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleRange {
    /// Which bundles.
    pub list: BundlePhase,
    /// From which one on, by its place.
    pub from: usize,
}

/// A list of bundles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundlePhase {
    /// `postInstall`.
    PostInstall,
    /// `preDelete`.
    PreDelete,
}

impl BundlePhase {
    /// Those of an order.
    pub fn bundles_of(self, order: &BundleRequestSpec) -> &[Bundle] {
        match self {
            Self::PostInstall => &order.post_install,
            Self::PreDelete => &order.pre_delete,
        }
    }

    /// How a bundle of it is called in a report.
    fn bundle_path(self, bundle: &Bundle) -> String {
        let name = &bundle.name;
        match self {
            Self::PostInstall => format!("postInstall/{name}"),
            Self::PreDelete => format!("preDelete/{name}"),
        }
    }

    fn bundle_index(self, order: &BundleRequestSpec, path: Option<&str>) -> Option<usize> {
        self.bundles_of(order).iter().position(|bundle| Some(self.bundle_path(bundle).as_str()) == path)
    }
}

/// Changes to the ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusUpdate {
    /// Report to write.
    pub report: BundleReport,
    /// Uid of the cluster's object; None leaves the annotation unchanged.
    pub cluster: Option<String>,
    /// Whether to add the finalizer; it is never removed this way.
    pub add_finalizer: bool,
}

/// Reason to release a ConfigMap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleRelease {
    /// All was done.
    Done,
    /// No bundle, or no cluster: it is deleted, or being deleted.
    NotNeeded,
    /// It was not done in time, or never can be.
    GivenUp,
}

/// Plans the next step of a request. `progress` is the progress of the apply that was planned before, on the same `map` and `access`.
pub fn plan(
    map: &BundleRequest,
    access: &ClusterAccess,
    progress: Option<&ApplyProgress>,
    now: Timestamp,
) -> BundlePlan {
    match (map.deleted, map.has_finalizer) {
        (Some(deleted), true) => plan_pre_delete(map, access, progress, deleted, now),
        (Some(_), false) => BundlePlan::AwaitChange,
        (None, _) => plan_post_install(map, access, progress, now),
    }
}

fn plan_post_install(
    map: &BundleRequest,
    access: &ClusterAccess,
    progress: Option<&ApplyProgress>,
    now: Timestamp,
) -> BundlePlan {
    let order = match &map.order {
        Ok(order) => order,
        Err(why) => {
            return write_report(
                map,
                report_terminal(ApplyError::new(ApplyErrorReason::InvalidOrder, why)),
                RESYNC_PERIOD,
            );
        }
    };
    let begun = map.report.state.is_some();
    let stop = match access {
        ClusterAccess::Unknown => {
            let message = "the provider publishes no credentials of clusters of this kind in this namespace";
            return write_report(
                map,
                report_terminal(ApplyError::new(ApplyErrorReason::UnknownCluster, message)),
                RESYNC_PERIOD,
            );
        }
        // The cluster ends, and with it the claim, which reports it.
        ClusterAccess::Gone | ClusterAccess::Deleting => return BundlePlan::RequeueAfter(RESYNC_PERIOD),
        ClusterAccess::Unreachable(_) if !begun => return BundlePlan::RequeueAfter(RESYNC_PERIOD),
        ClusterAccess::Unreachable(why) => Some(PendingObject::of(ApplyErrorReason::NotPublished, why)),
        ClusterAccess::Reachable { uid, .. } if begun && is_replaced(map, uid) => {
            let message = "another object now has the name of the cluster's object";
            return write_report(
                map,
                report_terminal(ApplyError::new(ApplyErrorReason::ClusterReplaced, message)),
                RESYNC_PERIOD,
            );
        }
        ClusterAccess::Reachable { uid, .. } => {
            let hold = !order.pre_delete.is_empty();
            if !begun || map.cluster.is_none() || (hold && !map.has_finalizer) {
                let report = if begun { map.report.clone() } else { first_report(order, now) };
                let note = StatusUpdate { report, cluster: Some(uid.clone()), add_finalizer: hold };
                return BundlePlan::WriteStatus(note, Duration::ZERO);
            }
            None
        }
    };
    // A rewritten request has no report.
    if map.report.state == Some(BundleProgress::Applied) || report_invalid_expression(order).is_some() {
        return BundlePlan::AwaitChange;
    }
    match (progress, stop) {
        (None, None) => BundlePlan::Apply(BundleRange { list: BundlePhase::PostInstall, from: 0 }),
        (Some(ApplyProgress::All), None) => write_report(map, report_applied(now), Duration::ZERO),
        (Some(ApplyProgress::At(place, stop)), None) => report_pending(map, order, *place, stop, now),
        (_, Some(stop)) => {
            let place = BundlePhase::PostInstall
                .bundle_index(order, map.report.bundle.as_deref())
                .unwrap_or_default();
            report_pending(map, order, place, &stop, now)
        }
    }
}

/// The first report of an order.
fn first_report(order: &BundleRequestSpec, now: Timestamp) -> BundleReport {
    if let Some(report) = report_invalid_expression(order) {
        return report;
    }
    match order.post_install.first() {
        None => report_applied(now),
        Some(bundle) => {
            report_started(BundleProgress::Running, BundlePhase::PostInstall.bundle_path(bundle), now)
        }
    }
}

/// Report about a request with an invalid expression.
fn report_invalid_expression(order: &BundleRequestSpec) -> Option<BundleReport> {
    let lists = [BundlePhase::PostInstall, BundlePhase::PreDelete].into_iter();
    let all = lists
        .flat_map(|list| list.bundles_of(order).iter().map(move |bundle| (list.bundle_path(bundle), bundle)));
    report_first_invalid(all, check_ready_expression)
}

/// A bundle after the installation is not ready.
fn report_pending(
    map: &BundleRequest,
    order: &BundleRequestSpec,
    place: usize,
    stop: &PendingObject,
    now: Timestamp,
) -> BundlePlan {
    let list = BundlePhase::PostInstall;
    let Some(bundle) = list.bundles_of(order).get(place) else { return BundlePlan::AwaitChange };
    let before = list.bundle_index(order, map.report.bundle.as_deref()).filter(|before| place <= *before);
    let before = before.map(|_| &map.report);
    let (report, after) = report_waiting(before, bundle, list.bundle_path(bundle), stop, now);
    write_report(map, report, after)
}

fn plan_pre_delete(
    map: &BundleRequest,
    access: &ClusterAccess,
    progress: Option<&ApplyProgress>,
    deleted: Timestamp,
    now: Timestamp,
) -> BundlePlan {
    let list = BundlePhase::PreDelete;
    let Ok(order) = &map.order else { return BundlePlan::Release(BundleRelease::GivenUp) };
    let Some(first) = order.pre_delete.first() else { return BundlePlan::Release(BundleRelease::NotNeeded) };
    let closed = match access {
        ClusterAccess::Unknown => return BundlePlan::Release(BundleRelease::GivenUp),
        ClusterAccess::Gone | ClusterAccess::Deleting => {
            return BundlePlan::Release(BundleRelease::NotNeeded);
        }
        ClusterAccess::Unreachable(why) => Some(PendingObject::of(ApplyErrorReason::NotPublished, why)),
        ClusterAccess::Reachable { uid, .. } if is_replaced(map, uid) => {
            return BundlePlan::Release(BundleRelease::NotNeeded);
        }
        ClusterAccess::Reachable { .. } => None,
    };
    let before = list.bundle_index(order, map.report.bundle.as_deref());
    let Some(before) = before.filter(|_| map.report.state == Some(BundleProgress::BeforeDeletion)) else {
        return write_report(
            map,
            report_started(BundleProgress::BeforeDeletion, list.bundle_path(first), now),
            Duration::ZERO,
        );
    };
    let (place, stop) = match (progress, closed) {
        (_, Some(stop)) => (before, stop),
        (None, None) => return BundlePlan::Apply(BundleRange { list, from: before }),
        (Some(ApplyProgress::All), None) => return BundlePlan::Release(BundleRelease::Done),
        (Some(ApplyProgress::At(place, stop)), None) => (*place, stop.clone()),
    };
    let end = deletion_deadline(order, deleted, now);
    let Some(bundle) = order.pre_delete.get(place).filter(|_| end > now) else {
        return BundlePlan::Release(BundleRelease::GivenUp);
    };
    let since = if place == before { started_at(&map.report, now) } else { now };
    let over = saturating_add(since, bundle_timeout(bundle));
    if over > now && !stop.why.hopeless {
        let after = poll_interval(since, now).min(over.duration_since(now)).min(end.duration_since(now));
        let report = report_pending_object(
            BundleProgress::BeforeDeletion,
            Some(list.bundle_path(bundle)),
            &stop,
            Some(since),
        );
        return write_report(map, report, to_std_duration(after));
    }
    // The next one may do without it; the cluster goes anyway.
    match order.pre_delete.get(place + 1) {
        None => BundlePlan::Release(BundleRelease::GivenUp),
        Some(bundle) => write_report(
            map,
            report_started(BundleProgress::BeforeDeletion, list.bundle_path(bundle), now),
            Duration::ZERO,
        ),
    }
}

/// When what comes before a deletion has had all of its time.
fn deletion_deadline(order: &BundleRequestSpec, deleted: Timestamp, now: Timestamp) -> Timestamp {
    let all: SignedDuration = order
        .pre_delete
        .iter()
        .map(bundle_timeout)
        .fold(SignedDuration::ZERO, SignedDuration::saturating_add);
    // One of these clocks may be ahead. Each bundle has its own time by ours.
    saturating_add(deleted.min(now), all.saturating_add(SKEW))
}

/// Whether what comes before a deletion has had all of its time: from then on not even what cannot be seen of the cluster holds it.
pub fn is_overdue(map: &BundleRequest, now: Timestamp) -> bool {
    let (Some(deleted), true, Ok(order)) = (map.deleted, map.has_finalizer, &map.order) else { return false };
    deletion_deadline(order, deleted, now) <= now
}

/// Whether it was begun in the cluster of another object.
fn is_replaced(map: &BundleRequest, uid: &str) -> bool {
    map.cluster.as_deref().is_some_and(|begun| begun != uid)
}

/// Writes a report, unless it is the stored one.
fn write_report(map: &BundleRequest, report: BundleReport, after: Duration) -> BundlePlan {
    if map.report == report {
        return BundlePlan::RequeueAfter(after);
    }
    BundlePlan::WriteStatus(StatusUpdate { report, cluster: None, add_finalizer: false }, after)
}
