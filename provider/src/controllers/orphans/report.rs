//! The report: the ConfigMap from which people read, and from which the next process takes since when an object is unowned. Pure.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use testplatform_runtime::event::truncate_text;

use super::{
    plan::{HubSummary, OrphanPlan, OrphanState, TeardownRefusal, UnownedRecord, UnownedRecords},
    remote::RemoteObject,
};

/// Name of the ConfigMap.
pub const CONFIG_MAP: &str = "testplatform-orphans";
/// Its key.
pub const KEY: &str = "report.json";
/// The most rows: a ConfigMap holds a megabyte.
pub const MAX_ROWS: usize = 500;
/// The longest annotation in a row. A namespace or a uid is shorter; another writer on the hub may write anything.
const MAX_ANNOTATION: usize = 64;
/// The longest message.
const MAX_MESSAGE: usize = 500;
/// Maximum age of a report that the next process trusts. A restored backup is older.
const TRUSTED: SignedDuration = SignedDuration::from_mins(20);

/// The outcome of one reconcile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OrphanReport {
    /// When it was written.
    pub written_at: Option<Timestamp>,
    /// Name of the Konflux cluster, if it could be listed.
    pub konflux_cluster: Option<String>,
    /// Each hub.
    pub hubs: Vec<HubSummary>,
    /// Unowned remote objects, the longest unowned first.
    pub orphans: Vec<OrphanRow>,
    /// Further ones.
    pub omitted: usize,
}

/// One unowned remote object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrphanRow {
    /// The object.
    pub remote: RemoteObject,
    /// The first listing without an owner.
    pub unowned_since: Timestamp,
    /// When its teardown was first requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teardown_requested_at: Option<Timestamp>,
    /// Its state, as one word.
    pub state: String,
    /// Next step, or advice.
    pub message: String,
}

impl OrphanState {
    /// The word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Reported => "Orphaned",
            Self::Refused(_) => "Refused",
            Self::Deleting => "Deleting",
            Self::Teardown => "Teardown",
        }
    }

    /// Whether it is an orphan, and no longer one that may get an owner.
    pub const fn is_orphan(&self) -> bool {
        match self {
            Self::Pending => false,
            Self::Reported | Self::Refused(_) | Self::Deleting | Self::Teardown => true,
        }
    }

    /// Next step, or advice.
    pub fn message(&self) -> String {
        match self {
            Self::Pending => "no owner yet; it becomes an orphan after orphans.grace".into(),
            Self::Reported => "not ended: orphans.mode is report, or a listing was incomplete".into(),
            Self::Refused(refusal) => format!("not ended: {}", refusal.message()),
            Self::Deleting => "it is being deleted; its finalizers on the hub hold it".into(),
            Self::Teardown => "it is ended".into(),
        }
    }
}

impl TeardownRefusal {
    /// The word for it in metrics.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NoComposite => "no_composite",
            Self::ObjectRefers(_) => "object_refers",
            Self::AnotherCluster(_) => "another_cluster",
            Self::Share(..) => "share",
            Self::Unverified => "unverified",
        }
    }

    /// Why, and what to do.
    pub fn message(&self) -> String {
        match self {
            Self::NoComposite => "there is no composite on this Konflux cluster; complete the restore".into(),
            Self::ObjectRefers(object) => {
                format!("Object {object} without a composite points at it; delete that Object")
            }
            Self::AnotherCluster(uid) => format!(
                "objects with this name of a Konflux cluster belong to another one, {uid}; add the uid to orphans.confirmedUids"
            ),
            Self::Share(unowned, marked) => format!(
                "{unowned} of {marked} objects have no owner, more than orphans.maxUnownedPercent; add the uid to orphans.confirmedUids"
            ),
            Self::Unverified => {
                "no owner was ever recorded on it; add the uid to orphans.confirmedUids".into()
            }
        }
    }
}

impl OrphanReport {
    /// Reports a plan.
    pub fn new(plan: &OrphanPlan, konflux_cluster: Option<&str>, now: Timestamp) -> Self {
        let mut records: Vec<&UnownedRecord> = plan.records.values().collect();
        records.sort_by_key(|record| record.since);
        let row = |record: &&UnownedRecord| {
            let state = plan.states.get(&record.remote.identity).unwrap_or(&OrphanState::Pending);
            let mut remote = record.remote.clone();
            for annotation in [&mut remote.tenant, &mut remote.konflux_cluster_uid].into_iter().flatten() {
                *annotation = truncate_text(annotation, MAX_ANNOTATION);
            }
            OrphanRow {
                remote,
                unowned_since: record.since,
                teardown_requested_at: record.requested,
                state: state.as_str().to_owned(),
                message: truncate_text(&state.message(), MAX_MESSAGE),
            }
        };
        let summary = |summary: &HubSummary| HubSummary {
            error: summary.error.as_ref().map(|error| truncate_text(error, MAX_MESSAGE)),
            ..summary.clone()
        };
        Self {
            written_at: Some(now),
            konflux_cluster: konflux_cluster.map(str::to_owned),
            hubs: plan.hubs.iter().map(summary).collect(),
            orphans: records.iter().take(MAX_ROWS).map(row).collect(),
            omitted: records.len().saturating_sub(MAX_ROWS),
        }
    }

    /// Reads a report; None if it cannot be read.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Records for the next reconcile. Two complete listings are needed again; an old report is not trusted.
    pub fn into_records(self, now: Timestamp) -> UnownedRecords {
        let is_trusted = |at: Timestamp| (SignedDuration::ZERO..=TRUSTED).contains(&now.duration_since(at));
        if !self.written_at.is_some_and(is_trusted) {
            return UnownedRecords::new();
        }
        let record = |row: OrphanRow| UnownedRecord {
            is_orphan: row.state != OrphanState::Pending.as_str(),
            remote: row.remote,
            since: row.unowned_since,
            listings: 0,
            requested: row.teardown_requested_at,
            failures: 0,
            object: None,
        };
        self.orphans.into_iter().map(|row| (row.remote.identity.clone(), record(row))).collect()
    }

    /// A table for people.
    pub fn render_table(&self, now: Timestamp) -> String {
        let age = |since: Timestamp| format_age(now.duration_since(since));
        let mut rows = vec![
            ["HUB", "KIND", "NAMESPACE/NAME", "TENANT", "AGE", "UNOWNED", "STATE", "UID", "MESSAGE"]
                .map(str::to_owned),
        ];
        rows.extend(self.orphans.iter().map(|row| {
            let identity = &row.remote.identity;
            [
                identity.hub.clone(),
                identity.kind.as_str().to_owned(),
                format!("{}/{}", identity.namespace, identity.name),
                row.remote.tenant.clone().unwrap_or_else(|| "-".into()),
                row.remote.created.map_or_else(|| "-".into(), age),
                age(row.unowned_since),
                row.state.clone(),
                identity.uid.clone(),
                row.message.clone(),
            ]
        }));
        let mut text = if self.orphans.is_empty() { "No orphans.\n".to_owned() } else { align(&rows) };
        if self.omitted > 0 {
            let _ = writeln!(text, "{} more are not listed.", self.omitted);
        }
        for hub in &self.hubs {
            let _ = match &hub.error {
                None => writeln!(text, "{}: {} marked, {} unowned.", hub.hub, hub.marked, hub.unowned),
                Some(error) => writeln!(text, "{}: nothing was decided: {error}.", hub.hub),
            };
        }
        let cluster = self.konflux_cluster.as_deref().unwrap_or("unknown");
        let written = self.written_at.map_or_else(|| "never".to_owned(), |at| format!("{} ago", age(at)));
        let _ = writeln!(text, "Konflux cluster {cluster}, written {written}.");
        text
    }
}

/// Columns side by side; the last is not padded.
fn align<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// An age as kubectl prints it.
fn format_age(age: SignedDuration) -> String {
    let minutes = age.as_mins().max(0);
    match minutes {
        0..120 => format!("{minutes}m"),
        120..2880 => format!("{}h", minutes / 60),
        _ => format!("{}d", minutes / 1440),
    }
}
