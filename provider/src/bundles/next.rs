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
//! What is decided here holds whatever is stale, lost or repeated around it: all that is remembered stands on the ConfigMap, and the finalizer
//! is written together with the first report, before anything is applied.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::bundle::{Bundle, Order, Report, State};

use super::{
    apply::{Looked, Refusal, Stop, Why},
    map::Map,
    wait::{
        applied, begins, begun, hopeless, impossible, later, limit, parses, positive, report, soon, waits,
    },
};
use crate::{account::admin::AdminKubeconfig, orders::SKEW};

/// The longest time that a bundle gets, whatever it says.
pub const LONGEST: SignedDuration = SignedDuration::from_hours(24);
/// How often a cluster is asked for whose credentials are not published yet: a net under the watch of what is published.
pub const NET: Duration = Duration::from_mins(2);
/// The cluster that an order is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Here {
    /// Clusters of this kind are not published in this namespace.
    Unknown,
    /// There is no object of this name.
    Gone,
    /// It is being deleted.
    Going,
    /// Its credentials are not published, or cannot be used; why, in a sentence.
    Closed(&'static str),
    /// The published credentials were made for the object that stands there now.
    Open {
        /// Uid of that object.
        uid: String,
        /// By what the cluster lets us in.
        admin: AdminKubeconfig,
    },
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing, until something happens.
    Rest,
    /// Nothing, until something happens or this time is over.
    Later(Duration),
    /// The cluster is looked at, and then it is asked again what is to be done.
    Apply(Work),
    /// This is written on the ConfigMap, if it does not stand there, and then it is asked again after this time.
    Write(Note, Duration),
    /// The finalizer is taken away, and nothing else is to be done ever.
    Release(Release),
}

/// What is to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Which bundles.
    pub list: List,
    /// From which one on, by its place.
    pub from: usize,
}

/// A list of bundles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// `postInstall`.
    PostInstall,
    /// `preDelete`.
    PreDelete,
}

impl List {
    /// Those of an order.
    pub fn of(self, order: &Order) -> &[Bundle] {
        match self {
            Self::PostInstall => &order.post_install,
            Self::PreDelete => &order.pre_delete,
        }
    }

    /// How a bundle of it is called in a report.
    fn path(self, bundle: &Bundle) -> String {
        let name = &bundle.name;
        match self {
            Self::PostInstall => format!("postInstall/{name}"),
            Self::PreDelete => format!("preDelete/{name}"),
        }
    }

    fn place(self, order: &Order, path: Option<&str>) -> Option<usize> {
        self.of(order).iter().position(|bundle| Some(self.path(bundle).as_str()) == path)
    }
}

/// What stands on the ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What is told.
    pub report: Report,
    /// Uid of the object in whose cluster it is done; None leaves alone what stands there.
    pub cluster: Option<String>,
    /// Whether the finalizer is put on it; it is never taken away so.
    pub hold: bool,
}

/// Why a ConfigMap is let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// All was done.
    Done,
    /// There is nothing to do, or nobody to do it for: the cluster is gone, or goes by itself.
    Needless,
    /// It was not done in time, or never can be.
    GivenUp,
}

/// What is to be done about an order now. `looked`: what the look came to that was asked for before, on the same `map` and `here`.
pub fn next(map: &Map, here: &Here, looked: Option<&Looked>, now: Timestamp) -> Step {
    match (map.deleted, map.holds) {
        (Some(deleted), true) => before_deletion(map, here, looked, deleted, now),
        (Some(_), false) => Step::Rest,
        (None, _) => after_installation(map, here, looked, now),
    }
}

fn after_installation(map: &Map, here: &Here, looked: Option<&Looked>, now: Timestamp) -> Step {
    let order = match &map.order {
        Ok(order) => order,
        Err(why) => return write(map, hopeless(Refusal::new(Why::InvalidOrder, why)), NET),
    };
    let begun = map.report.state.is_some();
    let stop = match here {
        Here::Unknown => {
            let message = "the provider publishes no credentials of clusters of this kind in this namespace";
            return write(map, hopeless(Refusal::new(Why::UnknownCluster, message)), NET);
        }
        // It ends, and with it the claim, which says so.
        Here::Gone | Here::Going => return Step::Later(NET),
        Here::Closed(_) if !begun => return Step::Later(NET),
        Here::Closed(why) => Some(Stop::of(Why::NotPublished, why)),
        Here::Open { uid, .. } if begun && replaced(map, uid) => {
            let message = "another object has come under the name of the cluster's";
            return write(map, hopeless(Refusal::new(Why::ClusterReplaced, message)), NET);
        }
        Here::Open { uid, .. } => {
            let hold = !order.pre_delete.is_empty();
            if !begun || map.cluster.is_none() || (hold && !map.holds) {
                let report = if begun { map.report.clone() } else { first(order, now) };
                let note = Note { report, cluster: Some(uid.clone()), hold };
                return Step::Write(note, Duration::ZERO);
            }
            None
        }
    };
    // Whoever wrote an order anew took the report away.
    if map.report.state == Some(State::Applied) || unparsed(order).is_some() {
        return Step::Rest;
    }
    match (looked, stop) {
        (None, None) => Step::Apply(Work { list: List::PostInstall, from: 0 }),
        (Some(Looked::All), None) => write(map, applied(now), Duration::ZERO),
        (Some(Looked::At(place, stop)), None) => waiting(map, order, *place, stop, now),
        (_, Some(stop)) => {
            let place = List::PostInstall.place(order, map.report.bundle.as_deref()).unwrap_or_default();
            waiting(map, order, place, &stop, now)
        }
    }
}

/// The first report of an order.
fn first(order: &Order, now: Timestamp) -> Report {
    if let Some(report) = unparsed(order) {
        return report;
    }
    match order.post_install.first() {
        None => applied(now),
        Some(bundle) => begins(State::Running, List::PostInstall.path(bundle), now),
    }
}

/// What is told of an order with an expression that is none.
fn unparsed(order: &Order) -> Option<Report> {
    let lists = [List::PostInstall, List::PreDelete].into_iter();
    let all = lists.flat_map(|list| list.of(order).iter().map(move |bundle| (list.path(bundle), bundle)));
    impossible(all, parses)
}

/// A bundle after the installation is not ready.
fn waiting(map: &Map, order: &Order, place: usize, stop: &Stop, now: Timestamp) -> Step {
    let list = List::PostInstall;
    let Some(bundle) = list.of(order).get(place) else { return Step::Rest };
    let before = list.place(order, map.report.bundle.as_deref()).filter(|before| place <= *before);
    let before = before.map(|_| &map.report);
    let (report, after) = waits(before, bundle, list.path(bundle), stop, now);
    write(map, report, after)
}

fn before_deletion(
    map: &Map,
    here: &Here,
    looked: Option<&Looked>,
    deleted: Timestamp,
    now: Timestamp,
) -> Step {
    let list = List::PreDelete;
    let Ok(order) = &map.order else { return Step::Release(Release::GivenUp) };
    let Some(first) = order.pre_delete.first() else { return Step::Release(Release::Needless) };
    let closed = match here {
        Here::Unknown => return Step::Release(Release::GivenUp),
        Here::Gone | Here::Going => return Step::Release(Release::Needless),
        Here::Closed(why) => Some(Stop::of(Why::NotPublished, why)),
        Here::Open { uid, .. } if replaced(map, uid) => return Step::Release(Release::Needless),
        Here::Open { .. } => None,
    };
    let before = list.place(order, map.report.bundle.as_deref());
    let Some(before) = before.filter(|_| map.report.state == Some(State::BeforeDeletion)) else {
        return write(map, begins(State::BeforeDeletion, list.path(first), now), Duration::ZERO);
    };
    let (place, stop) = match (looked, closed) {
        (_, Some(stop)) => (before, stop),
        (None, None) => return Step::Apply(Work { list, from: before }),
        (Some(Looked::All), None) => return Step::Release(Release::Done),
        (Some(Looked::At(place, stop)), None) => (*place, stop.clone()),
    };
    let end = end(order, deleted, now);
    let Some(bundle) = order.pre_delete.get(place).filter(|_| end > now) else {
        return Step::Release(Release::GivenUp);
    };
    let since = if place == before { begun(&map.report, now) } else { now };
    let over = later(since, limit(bundle));
    if over > now && !stop.why.hopeless {
        let after = soon(since, now).min(over.duration_since(now)).min(end.duration_since(now));
        let report = report(State::BeforeDeletion, Some(list.path(bundle)), &stop, Some(since));
        return write(map, report, positive(after));
    }
    // The next one may do without it; the cluster goes anyway.
    match order.pre_delete.get(place + 1) {
        None => Step::Release(Release::GivenUp),
        Some(bundle) => write(map, begins(State::BeforeDeletion, list.path(bundle), now), Duration::ZERO),
    }
}

/// When what comes before a deletion has had all of its time.
fn end(order: &Order, deleted: Timestamp, now: Timestamp) -> Timestamp {
    let all: SignedDuration =
        order.pre_delete.iter().map(limit).fold(SignedDuration::ZERO, SignedDuration::saturating_add);
    // One of these clocks may be ahead. Each bundle has its own time by ours.
    later(deleted.min(now), all.saturating_add(SKEW))
}

/// Whether what comes before a deletion has had all of its time: from then on not even what cannot be seen of the cluster holds it.
pub fn is_overdue(map: &Map, now: Timestamp) -> bool {
    let (Some(deleted), true, Ok(order)) = (map.deleted, map.holds, &map.order) else { return false };
    end(order, deleted, now) <= now
}

/// Whether it was begun in the cluster of another object.
fn replaced(map: &Map, uid: &str) -> bool {
    map.cluster.as_deref().is_some_and(|begun| begun != uid)
}

/// Tells that, if it is not told yet.
fn write(map: &Map, report: Report, after: Duration) -> Step {
    if map.report == report {
        return Step::Later(after);
    }
    Step::Write(Note { report, cluster: None, hold: false }, after)
}
