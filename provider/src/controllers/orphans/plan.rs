//! Decides which remote objects are orphans, and which of them end. Pure.
//!
//! A marked remote object without an owner is *unowned*. An object that was unowned in two complete listings in a row, and for the grace
//! period, is an *orphan*. Every doubt favours the cluster: a missed orphan costs money and raises an alert, a deleted live cluster is lost.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    owners::{Owners, RemoteOwner},
    placements::Placements,
    remote::{RemoteObject, RemoteRef},
};
use crate::config::{OrphanHub, OrphanMode};

/// Complete listings in a row in which an orphan had no owner.
const LISTINGS: u32 = 2;
/// Teardowns that one reconcile begins. A wrong decision can be stopped after a few.
pub const MAX_TEARDOWNS: usize = 5;
/// Remote objects whose owner one reconcile records.
pub const MAX_RECORDED: usize = 200;

/// Settings that administrators choose.
#[derive(Clone, Debug)]
pub struct OrphanSettings {
    /// Whether orphans are ended.
    pub mode: OrphanMode,
    /// How long a remote object is unowned before it is an orphan.
    pub grace: SignedDuration,
    /// The largest percentage of unowned objects on a hub with which any is ended.
    pub max_unowned_percent: u8,
    /// Uids of orphans that an administrator has confirmed for teardown.
    pub confirmed: BTreeSet<String>,
    /// Listed kinds and namespaces of each hub.
    pub hubs: BTreeMap<String, OrphanHub>,
}

/// The Konflux cluster, as one complete listing found it.
#[derive(Clone, Debug, Default)]
pub struct KonfluxState {
    /// Its name, by which the function marks remote objects.
    pub name: String,
    /// Uid of its namespace `kube-system`.
    pub uid: String,
    /// Composites and Objects.
    pub owners: Owners,
    /// Where Objects keep their remote objects.
    pub placements: Placements,
}

/// A hub, as one listing found it.
#[derive(Clone, Debug)]
pub struct HubRemotes {
    /// Name of the ProviderConfig.
    pub hub: String,
    /// Every remote object, marked or not; or why the listing is incomplete.
    pub remotes: Result<Vec<RemoteObject>, String>,
}

/// A remote object that was unowned in the last complete listing of its hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnownedRecord {
    /// The object.
    pub remote: RemoteObject,
    /// The first listing without an owner.
    pub since: Timestamp,
    /// Complete listings in a row without an owner.
    pub listings: u32,
    /// Whether it was an orphan in the last reconcile. It stays one until it has an owner, also where a listing fails.
    pub is_orphan: bool,
    /// When its teardown was first requested.
    pub requested: Option<Timestamp>,
    /// Calls that were to end it and failed.
    pub failures: u32,
    /// An Object without a composite that points at it.
    pub object: Option<String>,
}

/// Every unowned remote object.
pub type UnownedRecords = BTreeMap<RemoteRef, UnownedRecord>;

/// Why an orphan is not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeardownRefusal {
    /// There is no composite at all, as after a restore that is not complete.
    NoComposite,
    /// An Object points at it, and would apply it again.
    ObjectRefers(String),
    /// A marked object was owned by another Konflux cluster of this name.
    AnotherCluster(String),
    /// Too many are unowned: so many of so many.
    Share(usize, usize),
    /// No composite of this Konflux cluster was found to own it while the component ran.
    Unverified,
}

/// State of an unowned remote object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrphanState {
    /// It may still get an owner.
    Pending,
    /// It is an orphan, and the configuration ends none.
    Reported,
    /// It is an orphan and is not ended.
    Refused(TeardownRefusal),
    /// It is being deleted already.
    Deleting,
    /// It is an orphan and is ended.
    Teardown,
}

/// Summary of one hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HubSummary {
    /// Name of the ProviderConfig.
    pub hub: String,
    /// Marked remote objects.
    pub marked: usize,
    /// Those of them without an owner.
    pub unowned: usize,
    /// Why its listing, or that of the Konflux cluster, is incomplete. Nothing was decided then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Outcome of one reconcile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrphanPlan {
    /// Unowned remote objects, for the next reconcile.
    pub records: UnownedRecords,
    /// State of each.
    pub states: BTreeMap<RemoteRef, OrphanState>,
    /// Each hub.
    pub hubs: Vec<HubSummary>,
    /// Owned remote objects that still need the annotation with the uid of this Konflux cluster.
    pub recorded: Vec<RemoteRef>,
    /// Orphans to end: those with the fewest failures first, then the longest unowned.
    pub teardowns: Vec<RemoteRef>,
}

/// Compares both sides. `before`: the records of the last reconcile.
pub fn plan(
    before: &UnownedRecords,
    konflux: &Result<KonfluxState, String>,
    hubs: &[HubRemotes],
    settings: &OrphanSettings,
    now: Timestamp,
) -> OrphanPlan {
    let mut plan = OrphanPlan::default();
    for hub in hubs {
        match (konflux, &hub.remotes) {
            (Ok(konflux), Ok(remotes)) => plan.compare(before, konflux, hub, remotes, settings, now),
            (Err(error), _) | (_, Err(error)) => plan.defer(before, hub, error),
        }
    }
    let another = konflux.as_ref().ok().and_then(|konflux| another_cluster(konflux, hubs));
    let mut begun = 0;
    let mut in_order: Vec<&UnownedRecord> = plan.records.values().collect();
    // A few that cannot be ended must not keep all others running.
    in_order.sort_by_key(|record| (record.failures, record.since));
    for record in in_order {
        let identity = &record.remote.identity;
        let summary = plan.hubs.iter().find(|summary| summary.hub == identity.hub);
        let state = match (konflux, summary) {
            (Ok(konflux), Some(summary)) if summary.error.is_none() => {
                decide(record, konflux, summary, another.as_deref(), settings, now)
            }
            // Without a complete listing it stays an orphan, and nothing happens to it.
            _ if record.is_orphan || is_overdue(record, settings, now) => OrphanState::Reported,
            _ => OrphanState::Pending,
        };
        if state == OrphanState::Teardown {
            let new = record.requested.is_none();
            if !new || begun < MAX_TEARDOWNS {
                begun += usize::from(new);
                plan.teardowns.push(identity.clone());
            }
        }
        plan.states.insert(identity.clone(), state);
    }
    for (identity, record) in &mut plan.records {
        record.is_orphan = plan.states.get(identity).is_some_and(OrphanState::is_orphan);
    }
    plan
}

impl OrphanPlan {
    /// Orphans that were none in the last reconcile.
    pub fn new_orphans(&self, before: &UnownedRecords) -> impl Iterator<Item = &RemoteRef> {
        let was_orphan = |identity: &RemoteRef| before.get(identity).is_some_and(|record| record.is_orphan);
        let orphans = self.states.iter().filter(|(_, state)| state.is_orphan());
        orphans.map(|(identity, _)| identity).filter(move |identity| !was_orphan(identity))
    }

    /// A listing is incomplete: records stay, and two complete listings are needed again.
    fn defer(&mut self, before: &UnownedRecords, hub: &HubRemotes, error: &str) {
        let of_hub = before.iter().filter(|(identity, _)| identity.hub == hub.hub);
        self.records.extend(
            of_hub.map(|(identity, record)| {
                (identity.clone(), UnownedRecord { listings: 0, ..record.clone() })
            }),
        );
        let summary =
            HubSummary { hub: hub.hub.clone(), error: Some(error.to_owned()), ..HubSummary::default() };
        self.hubs.push(summary);
    }

    fn compare(
        &mut self,
        before: &UnownedRecords,
        konflux: &KonfluxState,
        hub: &HubRemotes,
        remotes: &[RemoteObject],
        settings: &OrphanSettings,
        now: Timestamp,
    ) {
        let misnamed = count_misnamed(konflux, remotes);
        if misnamed > 0 {
            let name = &konflux.name;
            let error = format!(
                "no object names this Konflux cluster, {name}, but {misnamed} objects of its composites name another; set \
                 orphans.environmentConfig to that of the function"
            );
            return self.defer(before, hub, &error);
        }
        let unlisted =
            settings.hubs.get(&hub.hub).and_then(|of| konflux.placements.find_unlisted(&hub.hub, of));
        if let Some(error) = unlisted {
            return self.defer(before, hub, &error);
        }
        let mut summary = HubSummary { hub: hub.hub.clone(), ..HubSummary::default() };
        for remote in remotes.iter().filter(|remote| remote.is_of(&konflux.name)) {
            let is_live = remote.deleted.is_none();
            summary.marked += usize::from(is_live);
            let object = match konflux.owners.owner(remote) {
                Some(RemoteOwner::Composite) => {
                    let records = settings.mode == OrphanMode::Teardown && self.recorded.len() < MAX_RECORDED;
                    // After a move to another Konflux cluster it bears the uid of the one before, whose search must not end it.
                    let is_recorded = remote.konflux_cluster_uid.as_ref() == Some(&konflux.uid);
                    if records && is_live && !is_recorded {
                        self.recorded.push(remote.identity.clone());
                    }
                    continue;
                }
                Some(RemoteOwner::Object(object)) => Some(object),
                None => None,
            };
            summary.unowned += usize::from(is_live);
            let known = before.get(&remote.identity);
            let record = UnownedRecord {
                remote: remote.clone(),
                // A clock that was set back must not make the grace period longer.
                since: known.map_or(now, |known| known.since.min(now)),
                listings: known.map_or(0, |known| known.listings).saturating_add(1),
                is_orphan: known.is_some_and(|known| known.is_orphan),
                requested: known.and_then(|known| known.requested),
                failures: known.map_or(0, |known| known.failures),
                object,
            };
            self.records.insert(remote.identity.clone(), record);
        }
        self.hubs.push(summary);
    }
}

/// Objects of our composites that name another Konflux cluster, where none names ours: the name is not the one that the function writes.
fn count_misnamed(konflux: &KonfluxState, remotes: &[RemoteObject]) -> usize {
    if remotes.iter().any(|remote| remote.is_of(&konflux.name)) {
        return 0;
    }
    let others = remotes.iter().filter(|remote| !remote.dependent && remote.konflux_cluster.is_some());
    others.filter(|remote| konflux.owners.has_composite(&remote.identity.name)).count()
}

/// Another Konflux cluster of our name, if a marked object bears its uid. Its objects have no owner here, and may be live.
fn another_cluster(konflux: &KonfluxState, hubs: &[HubRemotes]) -> Option<String> {
    let remotes = hubs.iter().filter_map(|hub| hub.remotes.as_ref().ok()).flatten();
    let mut uids = remotes
        .filter(|remote| remote.is_of(&konflux.name))
        .filter_map(|remote| remote.konflux_cluster_uid.clone());
    uids.find(|uid| *uid != konflux.uid)
}

fn is_overdue(record: &UnownedRecord, settings: &OrphanSettings, now: Timestamp) -> bool {
    now.duration_since(record.since) >= settings.grace
}

fn decide(
    record: &UnownedRecord,
    konflux: &KonfluxState,
    summary: &HubSummary,
    another: Option<&str>,
    settings: &OrphanSettings,
    now: Timestamp,
) -> OrphanState {
    let is_due = is_overdue(record, settings, now) && record.listings >= LISTINGS;
    if !is_due && !record.is_orphan {
        return OrphanState::Pending;
    }
    if record.remote.deleted.is_some() {
        return OrphanState::Deleting;
    }
    if !is_due {
        return OrphanState::Reported;
    }
    match settings.mode {
        OrphanMode::Off | OrphanMode::Report => OrphanState::Reported,
        OrphanMode::Teardown => refusal(record, konflux, summary, another, settings)
            .map_or(OrphanState::Teardown, OrphanState::Refused),
    }
}

/// Why it is not ended. A confirmation lifts doubts about the owner, and neither of the first two.
fn refusal(
    record: &UnownedRecord,
    konflux: &KonfluxState,
    summary: &HubSummary,
    another: Option<&str>,
    settings: &OrphanSettings,
) -> Option<TeardownRefusal> {
    if konflux.owners.composites() == 0 {
        return Some(TeardownRefusal::NoComposite);
    }
    if let Some(object) = &record.object {
        return Some(TeardownRefusal::ObjectRefers(object.clone()));
    }
    if settings.confirmed.contains(&record.remote.identity.uid) {
        return None;
    }
    if let Some(uid) = another {
        return Some(TeardownRefusal::AnotherCluster(uid.to_owned()));
    }
    if summary.unowned * 100 > summary.marked * usize::from(settings.max_unowned_percent) {
        return Some(TeardownRefusal::Share(summary.unowned, summary.marked));
    }
    let is_verified = record.remote.konflux_cluster_uid.as_deref() == Some(konflux.uid.as_str());
    (!is_verified).then_some(TeardownRefusal::Unverified)
}
