//! A cluster that goes from a claim to a TestCluster, as either side sees it.
//!
//! The giver's latch is the note [`HANDED_OVER`](ours::HANDED_OVER) beside the policies of its writer, written with them in one apply. The
//! taker is bound by the note [`TAKE_OVER`](ours::TAKE_OVER) from its first pass on, and by [`TAKEN_OVER`](ours::TAKEN_OVER) for good.
//! A writer that only watches what is still the giver's is kept from the planner, to which it would look like a cluster of its own.

use std::fmt;

use jiff::Timestamp;
use testplatform_apis::{
    foreign::meta::condition,
    names::{ObjectName, Uid, ours},
    phase::Phase,
    status::{HandedOverStatus, TakeOverStage, TestPlatformClusterStatus},
};

use super::{
    Composite, EPHEMERAL_CLUSTER, Flavour, Observed, PrimaryObject, SyncState, found_none,
    required::{RequirementNames, fetched_resources},
};
use crate::{proto::RunFunctionRequest, text::bounded};

/// The other side of a handover.
pub(crate) const COUNTERPART: RequirementNames = RequirementNames::new("handover", None);

/// Ends the giver's note once the cluster was seen to be taken.
const TAKEN_OVER_SUFFIX: &str = "/taken";

/// Whether the cluster of a composite goes to another, or comes from one.
#[derive(Debug, Default)]
pub enum Transfer {
    /// Neither.
    #[default]
    None,
    /// It is to go, or went.
    Source(Box<TransferSource>),
    /// It is to come, or came.
    Target(Box<TransferTarget>),
}

/// State of a cluster that leaves this composite.
#[derive(Debug)]
pub struct TransferSource {
    /// To which TestCluster; none: the annotation cannot be read.
    pub receiver: Option<Receiver>,
    /// Whether it was let go: the note says so, and nothing else is believed.
    pub released: bool,
    /// Whether it is seen that the writer only watches: then nothing of this composite can end the cluster any more.
    pub is_read_only: bool,
    /// Whether the cluster was seen to be taken.
    pub taken_over: bool,
    /// The object under the name of that TestCluster.
    pub target: Counterpart<Box<Composite>>,
}

/// State of a cluster that comes to this composite.
#[derive(Debug)]
pub struct TransferTarget {
    /// Name of the composite from which.
    pub source_name: String,
    /// That composite.
    pub source: Counterpart<Box<Composite>>,
    /// The writer that only watches, if there is one.
    pub watched: Option<WatchedRemote>,
    /// Whether a writer is there that is kept from the planner. It ends nothing by going.
    pub hides_primary: bool,
    /// Where the cluster is, once it is taken.
    pub taken_over: Option<ObjectRef>,
    /// Whether an earlier pass took it over: then the source is no longer fetched. Results of fetched resources must not decide what is
    /// fetched.
    pub was_taken_over: bool,
}

/// A writer that only watches what is another composite's.
#[derive(Debug)]
pub struct WatchedRemote {
    /// What it watches.
    pub object: ObjectRef,
    /// Recorded creator: name of the source composite, and uid of the TestCluster.
    pub note: String,
    /// Whether this very TestCluster created it. A TestCluster restored from a backup has another uid, and the cluster may have had another
    /// owner by the time of that backup.
    pub is_own: bool,
    /// Whether it sees it.
    pub is_observed: bool,
}

/// Something that was asked for by name.
#[derive(Debug)]
pub enum Counterpart<T> {
    /// Nobody looked.
    NotFetched,
    /// There is none.
    Missing,
    /// It is there.
    Found(T),
}

/// A TestCluster as an annotation names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid: one of the same name that comes later is another.
    pub uid: Uid,
}

impl Receiver {
    /// `namespace/name/uid`. None: it is not that.
    pub fn parse(text: &str) -> Option<Self> {
        let [namespace, name, uid] = <[&str; 3]>::try_from(text.split('/').collect::<Vec<_>>()).ok()?;
        let legal = |text| ObjectName::try_from(text).ok().map(String::from);
        let uid = Some(uid).filter(|uid| !uid.is_empty() && uid.len() <= 64)?;
        Some(Self { namespace: legal(namespace)?, name: legal(name)?, uid: Uid(uid.to_owned()) })
    }

    /// As the giver tells it. None: something is missing.
    fn from_status(status: &HandedOverStatus) -> Option<Self> {
        let HandedOverStatus { namespace: Some(namespace), name: Some(name), uid: Some(uid) } = status else {
            return None;
        };
        Some(Self { namespace: namespace.clone(), name: name.clone(), uid: Uid(uid.clone()) })
    }

    /// Whether it is this composite.
    pub fn is_composite(&self, composite: &Composite) -> bool {
        let own = &composite.metadata;
        composite.flavour == Flavour::Namespaced(self.namespace.clone())
            && own.name == self.name
            && own.uid.as_ref() == Some(&self.uid)
    }
}

impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.namespace, self.name, self.uid)
    }
}

/// Where a remote object is, and which it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef {
    /// Name of the hub's ProviderConfig.
    pub hub: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: Uid,
}

impl ObjectRef {
    /// Where a cluster is, as status tells it.
    pub fn from_status(status: &TestPlatformClusterStatus) -> Option<Self> {
        let (backend, hub) = (status.backend.clone()?, status.hub.as_ref()?.name.clone()?);
        Some(Self { hub, namespace: backend.namespace?, name: backend.name?, uid: Uid(backend.uid?) })
    }

    fn parse(text: &str) -> Option<Self> {
        let parts = <[&str; 4]>::try_from(text.split('/').collect::<Vec<_>>()).ok()?;
        parts.iter().all(|part| !part.is_empty()).then(|| Self {
            hub: parts[0].to_owned(),
            namespace: parts[1].to_owned(),
            name: parts[2].to_owned(),
            uid: Uid(parts[3].to_owned()),
        })
    }

    /// Remote object of a primary Object.
    fn of_primary(primary: &PrimaryObject) -> Option<Self> {
        let metadata = &primary.manifest()["metadata"];
        let text = |field: &str| metadata[field].as_str().map(str::to_owned);
        let hub = primary.object.spec.provider_config_ref.name.clone();
        Some(Self { hub, namespace: text("namespace")?, name: text("name")?, uid: primary.remote_uid()? })
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.hub, self.namespace, self.name, self.uid)
    }
}

impl Transfer {
    /// Whether the cluster was let go, and is another composite's to end.
    pub fn is_released(&self) -> bool {
        matches!(self, Self::Source(source) if source.released)
    }

    /// Where the cluster is that was taken over.
    pub fn taken_over(&self) -> Option<&ObjectRef> {
        match self {
            Self::Target(target) => target.taken_over.as_ref(),
            Self::None | Self::Source(_) => None,
        }
    }

    /// Whether a writer is there that only watches what another composite may end, and is kept from the planner.
    pub fn hides_primary(&self) -> bool {
        matches!(self, Self::Target(target) if target.hides_primary)
    }
}

impl Observed {
    /// Sees whether the cluster goes or comes. After everything else: it may keep the writer from the planner.
    pub(super) fn observe_transfer(&mut self, request: &RunFunctionRequest) {
        self.transfer = match &self.composite.flavour {
            Flavour::Claimed => self.observe_source(request),
            Flavour::Namespaced(_) => self.observe_target(request),
            Flavour::Homeless => Transfer::None,
        };
    }

    fn observe_source(&mut self, request: &RunFunctionRequest) -> Transfer {
        let reported =
            || Some(Receiver::from_status(self.composite.status.handed_over.as_ref()?)?.to_string());
        let recorded = self.annotation(ours::HANDED_OVER).map(str::to_owned).or_else(reported);
        let requested = self.composite.metadata.annotation(ours::HAND_OVER).filter(|text| !text.is_empty());
        let released = recorded.is_some();
        let Some(text) = recorded.or_else(|| requested.map(str::to_owned)) else { return Transfer::None };
        let recorded_transfer = text.strip_suffix(TAKEN_OVER_SUFFIX);
        let to = Receiver::parse(recorded_transfer.unwrap_or(&text));
        let is_read_only =
            self.primary.as_ref().is_some_and(|primary| is_observe_only(primary) && !primary.is_deleting());
        if released && let Some(primary) = &mut self.primary {
            // An observer reports a deletion this way; an Object that may write reports it by its pin.
            let synced = condition(&primary.object.status.conditions, "Synced");
            if synced.is_some_and(found_none) && primary.remote_uid().is_some() {
                primary.sync = SyncState::Deleted;
            }
        }
        let named = decode_counterpart(request);
        let own = self.composite.metadata.name.as_str();
        // Also one that was restored from a backup, and has another uid since, goes on with what it took.
        let taken_over = (released && recorded_transfer.is_some())
            || matches!(&named, Counterpart::Found(t) if transfer_stage(t, own) == Some(TakeOverStage::Taken));
        Transfer::Source(Box::new(TransferSource {
            receiver: to,
            released,
            is_read_only,
            taken_over,
            target: named,
        }))
    }

    fn observe_target(&mut self, request: &RunFunctionRequest) -> Transfer {
        let note = self.annotation(ours::TAKE_OVER).map(str::to_owned);
        let before = self.composite.status.take_over.as_ref().and_then(|t| t.from.clone());
        // Only from its first pass on: one that came to make a cluster of its own goes on with that.
        let newborn =
            self.composite.status.phase.is_none() && self.primary.is_none() && self.credentials.is_none();
        let requested = self.composite.metadata.annotation(ours::TAKE_OVER).filter(|_| newborn);
        // An invalid name is waited for in vain: the owner requested no cluster of their own either.
        let name = |text: &str| bounded(text.split('/').next().unwrap_or_default(), ObjectName::MAX);
        let Some(from) = note.as_deref().map(name).or(before).or_else(|| requested.map(name)) else {
            return Transfer::None;
        };
        let annotated = self.annotation(ours::TAKEN_OVER).and_then(ObjectRef::parse);
        // Its policies tell too: what may write was taken.
        let written = annotated
            .or_else(|| ObjectRef::of_primary(self.primary.as_ref().filter(|w| !is_observe_only(w))?));
        let shown =
            || Some(&self.composite).filter(|c| transfer_stage(c, &from) == Some(TakeOverStage::Taken));
        let taken_over = written.or_else(|| ObjectRef::from_status(&shown()?.status));
        // An Object that may write and whose object is unknown is no cluster of another composite.
        let quiet = |w: &PrimaryObject| w.name == EPHEMERAL_CLUSTER && is_observe_only(w);
        if taken_over.is_none() && !self.primary.as_ref().is_none_or(quiet) {
            return Transfer::None;
        }
        let giver = decode_counterpart(request);
        let was_taken_over = taken_over.is_some();
        let mut target = TransferTarget {
            source_name: from,
            source: giver,
            watched: None,
            hides_primary: false,
            taken_over,
            was_taken_over,
        };
        if target.taken_over.is_none() {
            target.watched = self.primary.as_ref().and_then(|primary| self.observe_watched(primary));
            if self.may_take_over(&target) {
                target.taken_over = target.watched.take().map(|watching| watching.object);
            } else {
                target.hides_primary = self.primary.take().is_some();
            }
        }
        Transfer::Target(Box::new(target))
    }

    /// Since when the tenant has had the kubeconfig of the cluster that is taken over: as the giver tells it, and later as it is noted.
    pub(crate) fn in_use_since(&self) -> Option<Timestamp> {
        let Transfer::Target(target) = &self.transfer else { return None };
        let recorded = self.annotations(ours::IN_USE_SINCE).find_map(|at| at.parse().ok());
        recorded.or(match &target.source {
            Counterpart::Found(giver) => giver.status.ready_at,
            Counterpart::NotFetched | Counterpart::Missing => None,
        })
    }

    /// Whether the kubeconfig of a cluster that was taken over is delivered in this pass at the earliest: then its lifetime does not end yet.
    pub(crate) fn is_delivered_now(&self) -> bool {
        let was_reported =
            self.composite.status.ready_at.is_some() || self.annotation(ours::READY_AT).is_some();
        self.transfer.taken_over().is_some() && !was_reported
    }

    fn observe_watched(&self, primary: &PrimaryObject) -> Option<WatchedRemote> {
        let place = ObjectRef::of_primary(primary)?;
        let note = primary.object.metadata.annotation(ours::TAKE_OVER)?;
        let own = self.composite.metadata.uid.as_ref().map(Uid::as_str);
        let is_own = own.is_some() && note.split('/').nth(1) == own;
        // Another uid is another object's, and the link would not be in sync.
        let is_observed = primary.sync == SyncState::InSync
            && primary.remote().is_some_and(|remote| remote.metadata().uid.as_ref() == Some(&place.uid))
            && !primary.is_deleting();
        Some(WatchedRemote { object: place, note: note.to_owned(), is_own, is_observed })
    }

    /// Whether nobody else can end the cluster any more: the source shows that it cannot, or is gone with everything it had. A target that
    /// has ended takes nothing, because the source reclaims its cluster then.
    fn may_take_over(&self, target: &TransferTarget) -> bool {
        let sees = target.watched.as_ref().is_some_and(|watching| watching.is_own && watching.is_observed);
        let free = match &target.source {
            Counterpart::NotFetched => false,
            Counterpart::Missing => true,
            Counterpart::Found(giver) => giver.status.handed_over.as_ref().is_some_and(|to| {
                Receiver::from_status(to).is_some_and(|to| to.is_composite(&self.composite))
            }),
        };
        sees && free && !self.is_final()
    }
}

impl TransferSource {
    /// Whether the TestCluster will never take the cluster: it is gone, or has come to its end before it took it. Neither is ever undone.
    pub fn cannot_complete(&self, own: &str) -> bool {
        let Counterpart::Found(taker) = &self.target else {
            return !self.taken_over && matches!(self.target, Counterpart::Missing);
        };
        let same = self.receiver.as_ref().is_some_and(|to| to.is_composite(taker));
        let over = matches!(taker.status.phase, Some(Phase::Deprovisioned | Phase::Failed));
        // Another of its name may be the same one, restored: it says first whether it had taken the cluster by then.
        let answered = taker.status.phase.is_some();
        !self.taken_over
            && transfer_stage(taker, own) != Some(TakeOverStage::Taken)
            && if same { over } else { answered }
    }

    /// Value of the annotation that records it.
    pub fn annotation_value(&self, to: &Receiver) -> String {
        format!("{to}{}", if self.taken_over { TAKEN_OVER_SUFFIX } else { "" })
    }
}

/// How far a TestCluster is with taking over the cluster of `giver`.
fn transfer_stage(taker: &Composite, giver: &str) -> Option<TakeOverStage> {
    taker.status.take_over.as_ref().filter(|t| t.from.as_deref() == Some(giver))?.stage
}

/// Whether it can only watch: not even its own end ends what it carries.
fn is_observe_only(primary: &PrimaryObject) -> bool {
    primary.object.spec.management_policies == ["Observe"]
}

fn decode_counterpart(request: &RunFunctionRequest) -> Counterpart<Box<Composite>> {
    let Some(found) = fetched_resources(request, &COUNTERPART) else { return Counterpart::NotFetched };
    let Some(item) = found.items.first() else { return Counterpart::Missing };
    // An unreadable composite still exists.
    Composite::decode(&item.resource)
        .map_or(Counterpart::NotFetched, |composite| Counterpart::Found(Box::new(composite)))
}
