//! Decides whether, and since when, nobody needs a cluster, and the consequences. Pure.

use jiff::Timestamp;
use testplatform_apis::{cleanup, duration::GoDuration, names::ObjectName};
use testplatform_runtime::event::Event;

/// The most runs of which one claim may make somebody read. A pipeline has one.
pub const MOST_RUNS: usize = 32;

/// A claim that wants to be cleaned up, or a composite in a tenant's namespace that does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Retention after the last run; None: it cannot be read, or more runs own the claim than [are read](MOST_RUNS).
    pub retention: Option<GoDuration>,
    /// Its namespace.
    pub namespace: String,
    /// The runs that own it.
    pub runs: Vec<Run>,
    /// `spec.tearDownCluster`.
    pub tear_down: Option<bool>,
    /// Since when it shows that it Failed, as far as that can be read; None: it did not.
    pub failed: Option<Option<Timestamp>>,
    /// Whether its cluster is being deleted or gone, or the claim itself is.
    pub ends: bool,
    /// Stored annotation: since when nobody needs the claim, and before that the unfinished runs.
    pub note: Option<String>,
}

/// A run of Tekton, by which a claim is owned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// Its kind.
    pub kind: RunKind,
    /// Its namespace, which is the claim's.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid: another one of its name is not it.
    pub uid: String,
}

impl Run {
    /// Whether there can be one of its name. An API server takes any text in an owner reference, and it goes into the address of a call.
    pub fn is_legal(&self) -> bool {
        ObjectName::try_from(self.name.as_str()).is_ok()
    }
}

/// A kind of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunKind {
    /// A whole pipeline.
    PipelineRun,
    /// One task.
    TaskRun,
}

impl RunKind {
    /// The kind's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PipelineRun => "PipelineRun",
            Self::TaskRun => "TaskRun",
        }
    }

    /// The kind's plural, as rights name it.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::PipelineRun => "pipelineruns",
            Self::TaskRun => "taskruns",
        }
    }

    /// The kind of a name.
    pub fn parse(kind: &str) -> Option<Self> {
        [Self::PipelineRun, Self::TaskRun].into_iter().find(|run| run.as_str() == kind)
    }
}

/// How a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Runs,
    /// It is over: completed, or about to be deleted. When, as far as that is known.
    Over(Option<Timestamp>),
    /// There is none any more.
    Gone,
    /// It may not be read.
    Forbidden,
}

/// Plan for a claim: first the annotation, then the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanupPlan {
    /// New value of the annotation; an inner None removes it. None leaves it unchanged.
    pub note: Option<Option<String>>,
    /// Whether the cluster is torn down.
    pub tear_down: bool,
    /// Remark for the claim's owner.
    pub remark: Option<Remark>,
    /// When it will be time.
    pub due: Option<Timestamp>,
    /// Whether the runs still matter; if not, they need not be watched.
    pub follow: bool,
}

/// Remark for the claim's owner, emitted once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Its runs may not be read.
    Forbidden,
    /// No run owns it.
    NoOwner,
    /// It would be torn down, and somebody said no.
    Held,
    /// The retention cannot be read, or there are too many runs.
    Unreadable,
    /// It is no longer needed, and will be torn down.
    Planned(Timestamp),
    /// The teardown was requested.
    TornDown,
}

impl Claim {
    /// Runs to read: first the owners of the claim, then its former owners. When a run is deleted and the claim has another owner, Kubernetes
    /// removes the reference at once; the annotation still names the run.
    pub fn runs_to_read(&self) -> Vec<Run> {
        let run = |text: &str| {
            let mut parts = text.split('/');
            let kind = RunKind::parse(parts.next()?)?;
            let mut word = || parts.next().filter(|part| !part.is_empty()).map(str::to_owned);
            let run = Run { kind, name: word()?, uid: word()?, namespace: self.namespace.clone() };
            run.is_legal().then_some(run)
        };
        // The note may be the tenant's own text.
        let before = self.note.iter().flat_map(|note| note.split(',')).filter_map(run).take(MOST_RUNS);
        self.runs.iter().cloned().chain(before.filter(|run| !self.runs.contains(run))).collect()
    }
}

/// Annotation of unfinished runs.
fn format_runs(runs: &[Run]) -> Option<String> {
    let texts: Vec<String> =
        runs.iter().map(|run| format!("{}/{}/{}", run.kind.as_str(), run.name, run.uid)).collect();
    (!texts.is_empty()).then(|| texts.join(","))
}

/// Prefix of a time in an annotation of runs: the claim was unneeded at that time, and later runs may be unknown.
const BEFORE: &str = "since/";

/// Time in an annotation of runs.
fn parse_since(note: &str) -> Option<Timestamp> {
    note.split(',').find_map(|item| cleanup::parse_since(item.strip_prefix(BEFORE)?))
}

/// Plans the cleanup. `fates` are those of the runs that [concern](Claim::runs_to_read) the claim, in their order.
pub fn plan(claim: &Claim, fates: &[Fate], now: Timestamp) -> CleanupPlan {
    // Somebody has ended it, or it ends by itself: there is nothing more to decide.
    if claim.ends || claim.tear_down == Some(true) {
        return CleanupPlan::default();
    }
    let watching = CleanupPlan { follow: true, ..CleanupPlan::default() };
    let change = |wanted: Option<String>| (claim.note != wanted).then_some(wanted);
    // Another process may have written it, and a while ago. No honest writer records a time in the future.
    let read = |of: fn(&str) -> Option<Timestamp>| claim.note.as_deref().and_then(of).filter(|at| *at <= now);
    let (recorded, before) = (read(cleanup::parse_since), read(parse_since));
    // With cleanup switched off, no annotation may announce an end. The recorded time stays: its run may be gone, and the reference too.
    let off = || {
        let Some(runs) = format_runs(&claim.runs_to_read()) else { return change(claim.note.clone()) };
        let since = recorded.or(before).map(|at| format!(",{BEFORE}{}", cleanup::format_since(at)));
        change(Some(runs + &since.unwrap_or_default()))
    };
    let Some(retention) = claim.retention else {
        return CleanupPlan { note: off(), remark: Some(Remark::Unreadable), ..CleanupPlan::default() };
    };
    if fates.contains(&Fate::Forbidden) {
        return CleanupPlan { note: off(), remark: Some(Remark::Forbidden), ..watching };
    }
    let failed = claim.failed.map(|shown| shown.filter(|at| *at <= now).or(recorded).unwrap_or(now));
    let Some(since) = unneeded_since(claim, fates, [recorded, before], now).into_iter().chain(failed).min()
    else {
        let remark = claim.runs.is_empty().then_some(Remark::NoOwner);
        return CleanupPlan { note: change(format_runs(&claim.runs)), remark, ..watching };
    };
    let since = Timestamp::from_second(since.as_second()).unwrap_or(since);
    let note = change(Some(cleanup::format_since(since)));
    // A time beyond the maximum never comes.
    let Ok(due) = since.checked_add(retention.as_signed()) else { return CleanupPlan { note, ..watching } };
    if now < due {
        return CleanupPlan { note, remark: Some(Remark::Planned(due)), due: Some(due), ..watching };
    }
    let opted_out = claim.tear_down == Some(false);
    let remark = if opted_out { Remark::Held } else { Remark::TornDown };
    CleanupPlan { note, tear_down: !opted_out, remark: Some(remark), due: None, follow: true }
}

/// Since when all runs are over. None: one goes on, or there is none. `remembered`: since when they were, and when they once were.
fn unneeded_since(
    claim: &Claim,
    fates: &[Fate],
    remembered: [Option<Timestamp>; 2],
    now: Timestamp,
) -> Option<Timestamp> {
    let [recorded, _] = remembered;
    let (own, former) = fates.split_at(claim.runs.len().min(fates.len()));
    let own = own.iter().map(|fate| match fate {
        Fate::Over(at) => Some(at.or(recorded).unwrap_or(now)),
        Fate::Gone => Some(recorded.unwrap_or(now)),
        Fate::Runs | Fate::Forbidden => None,
    });
    // Former runs count only if they are gone: somebody removed the reference to the others, and needs the cluster.
    let removed_now = former.contains(&Fate::Gone).then_some(now);
    // The recorded time may belong to a run that left no other trace.
    own.collect::<Option<Vec<_>>>()?
        .into_iter()
        .chain(removed_now)
        .chain(remembered.into_iter().flatten())
        .max()
}

impl Remark {
    /// Event about it.
    pub fn event(self) -> Event {
        match self {
            Self::Forbidden => warning(
                "CleanupForbidden",
                "spec.cleanup has no effect: the provider may not read the PipelineRun or TaskRun that owns this; an administrator must \
                grant that \
                 right (component cleanup)",
            ),
            Self::NoOwner => warning(
                "CleanupWithoutOwner",
                "no PipelineRun or TaskRun is in metadata.ownerReferences, so spec.cleanup tears it down only if it Failed",
            ),
            Self::Held => warning(
                "CleanupHeld",
                "the cluster is no longer needed, but spec.tearDownCluster is set to false and is left unchanged; remove the field, or \
                set it to true",
            ),
            Self::Unreadable => warning(
                "CleanupIgnored",
                "spec.cleanup has no effect: keepForDebug is not a duration such as 30m, or more than 32 PipelineRuns and TaskRuns own \
                this",
            ),
            Self::Planned(at) => normal(
                "CleanupPlanned",
                &format!(
                    "the cluster is no longer needed, so it is torn down at {at}; spec.cleanup.keepForDebug keeps it longer"
                ),
            ),
            Self::TornDown => {
                normal("CleanedUp", "the cluster is no longer needed: spec.tearDownCluster was set to true")
            }
        }
    }
}

fn warning(reason: &str, note: &str) -> Event {
    Event { warning: true, ..normal(reason, note) }
}

fn normal(reason: &str, note: &str) -> Event {
    Event { warning: false, reason: reason.to_owned(), note: note.to_owned() }
}
