//! Transfer of a cluster from a claim to a TestCluster, as either side observes it.
//!
//! The source's latch is the annotation [`HANDED_OVER`](ours::HANDED_OVER) next to the policies of its primary Object, written with them in
//! one apply. The target is bound by the annotation [`TAKE_OVER`](ours::TAKE_OVER) from its first pass on, and by
//! [`TRANSFERRED_FROM`](ours::TRANSFERRED_FROM) for good. A primary Object that only observes the source's cluster is hidden from the planner, which
//! would take it for a cluster of its own.

use std::fmt;

use jiff::Timestamp;
use testplatform_apis::{
    foreign::meta::find_condition,
    names::{ObjectName, Uid, ours},
    phase::Phase,
    status::{HandedOverStatus, TakeOverStage, TestPlatformClusterStatus},
    text::bounded,
};

use super::{EPHEMERAL_CLUSTER, Observed, PrimaryObject};
use crate::{
    objects::{SyncState, found_none},
    sdk::{
        composite::{Composite, Flavour},
        proto::RunFunctionRequest,
        requirements::{RequirementNames, fetched_resources},
    },
};

/// The other side of a handover.
pub(crate) const COUNTERPART: RequirementNames = RequirementNames::new("handover", None);

/// Suffix of the source's annotation once the cluster was taken over.
const ADOPTED_SUFFIX: &str = "/taken";

/// Transfer of a composite's cluster to another composite, or from one.
#[derive(Debug, Default)]
pub enum Transfer {
    /// No transfer.
    #[default]
    None,
    /// The cluster leaves, or left.
    Source(Box<TransferSource>),
    /// The cluster comes, or came.
    Target(Box<TransferTarget>),
}

/// State of a cluster that leaves this composite.
#[derive(Debug)]
pub struct TransferSource {
    /// Receiving TestCluster; none: the annotation cannot be read.
    pub receiver: Option<Receiver>,
    /// Whether the cluster was released. Only the annotation counts.
    pub released: bool,
    /// Whether the primary Object is observed as read-only: then this composite cannot end the cluster any more.
    pub is_read_only: bool,
    /// Whether the cluster was taken over.
    pub is_adopted: bool,
    /// The object under the name of that TestCluster.
    pub target: Counterpart<Box<Composite>>,
}

/// State of a cluster that comes to this composite.
#[derive(Debug)]
pub struct TransferTarget {
    /// Name of the source composite.
    pub source_name: String,
    /// The source composite.
    pub source: Counterpart<Box<Composite>>,
    /// Object that the primary Object only observes, if there is one.
    pub watched: Option<WatchedRemote>,
    /// Whether a primary Object is hidden from the planner. Its deletion ends nothing.
    pub hides_primary: bool,
    /// Location of the cluster, once it was taken over.
    pub adopted: Option<ObjectRef>,
    /// Whether an earlier pass took it over: then the source is no longer fetched. Results of fetched resources must not decide what is
    /// fetched.
    pub was_adopted: bool,
}

/// Remote object of another composite that a primary Object only observes.
#[derive(Debug)]
pub struct WatchedRemote {
    /// The observed object.
    pub object: ObjectRef,
    /// Recorded creator: name of the source composite, and uid of the TestCluster.
    pub note: String,
    /// Whether this very TestCluster created it. A TestCluster restored from a backup has another uid, and the cluster may have had another
    /// owner by the time of that backup.
    pub is_own: bool,
    /// Whether the object is observed.
    pub is_observed: bool,
}

/// A composite that was requested by name.
#[derive(Debug)]
pub enum Counterpart<T> {
    /// It was not fetched.
    NotFetched,
    /// It does not exist.
    Missing,
    /// It exists.
    Found(T),
}

/// TestCluster that an annotation names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid: a later one of the same name is another TestCluster.
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

    /// Receiver from the source's status. None: incomplete.
    fn from_status(status: &HandedOverStatus) -> Option<Self> {
        let HandedOverStatus { namespace: Some(namespace), name: Some(name), uid: Some(uid) } = status else {
            return None;
        };
        Some(Self { namespace: namespace.clone(), name: name.clone(), uid: Uid(uid.clone()) })
    }

    /// Whether the receiver is this composite.
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

/// Identity and location of a remote object.
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
    /// Location of a cluster from a status.
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
    /// Whether the cluster was released, so that another composite may end it.
    pub fn is_released(&self) -> bool {
        matches!(self, Self::Source(source) if source.released)
    }

    /// Location of a cluster that was taken over.
    pub fn adopted(&self) -> Option<&ObjectRef> {
        match self {
            Self::Target(target) => target.adopted.as_ref(),
            Self::None | Self::Source(_) => None,
        }
    }

    /// Whether a read-only primary Object is hidden from the planner.
    pub fn hides_primary(&self) -> bool {
        matches!(self, Self::Target(target) if target.hides_primary)
    }
}

impl Observed {
    /// Reads the state of a transfer. It runs last, because it may hide the primary Object from the planner.
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
        let recorded_transfer = text.strip_suffix(ADOPTED_SUFFIX);
        let to = Receiver::parse(recorded_transfer.unwrap_or(&text));
        let is_read_only =
            self.primary.as_ref().is_some_and(|primary| is_observe_only(primary) && !primary.is_deleting());
        if released && let Some(primary) = &mut self.primary {
            // An observer reports a deletion this way; an Object that may write reports it by its pin.
            let synced = find_condition(&primary.object.status.conditions, "Synced");
            if synced.is_some_and(found_none) && primary.remote_uid().is_some() {
                primary.sync = SyncState::Deleted;
            }
        }
        let named = decode_counterpart(request);
        let own = self.composite.metadata.name.as_str();
        // A target that was restored from a backup, with another uid, keeps the cluster that it took.
        let adopted = (released && recorded_transfer.is_some())
            || matches!(&named, Counterpart::Found(t) if transfer_stage(t, own) == Some(TakeOverStage::Taken));
        Transfer::Source(Box::new(TransferSource {
            receiver: to,
            released,
            is_read_only,
            is_adopted: adopted,
            target: named,
        }))
    }

    fn observe_target(&mut self, request: &RunFunctionRequest) -> Transfer {
        let note = self.annotation(ours::TAKE_OVER).map(str::to_owned);
        let before = self.composite.status.take_over.as_ref().and_then(|t| t.from.clone());
        // Only in its first pass: a TestCluster that created a cluster of its own keeps that.
        let newborn =
            self.composite.status.phase.is_none() && self.primary.is_none() && self.credentials.is_none();
        let requested = self.composite.metadata.annotation(ours::TAKE_OVER).filter(|_| newborn);
        // An invalid name is waited for in vain: the owner requested no cluster of their own either.
        let name = |text: &str| bounded(text.split('/').next().unwrap_or_default(), ObjectName::MAX);
        let Some(from) = note.as_deref().map(name).or(before).or_else(|| requested.map(name)) else {
            return Transfer::None;
        };
        let annotated = self.annotation(ours::TRANSFERRED_FROM).and_then(ObjectRef::parse);
        // Its policies prove a takeover too: they permit writes.
        let written = annotated
            .or_else(|| ObjectRef::of_primary(self.primary.as_ref().filter(|w| !is_observe_only(w))?));
        let shown =
            || Some(&self.composite).filter(|c| transfer_stage(c, &from) == Some(TakeOverStage::Taken));
        let adopted = written.or_else(|| ObjectRef::from_status(&shown()?.status));
        // An Object that may write and whose object is unknown is no cluster of another composite.
        let quiet = |w: &PrimaryObject| w.name == EPHEMERAL_CLUSTER && is_observe_only(w);
        if adopted.is_none() && !self.primary.as_ref().is_none_or(quiet) {
            return Transfer::None;
        }
        let giver = decode_counterpart(request);
        let was_adopted = adopted.is_some();
        let mut target = TransferTarget {
            source_name: from,
            source: giver,
            watched: None,
            hides_primary: false,
            adopted,
            was_adopted,
        };
        if target.adopted.is_none() {
            target.watched = self.primary.as_ref().and_then(|primary| self.observe_watched(primary));
            if self.may_take_over(&target) {
                target.adopted = target.watched.take().map(|watching| watching.object);
            } else {
                target.hides_primary = self.primary.take().is_some();
            }
        }
        Transfer::Target(Box::new(target))
    }

    /// Time since which the tenant has had the kubeconfig of a taken over cluster: from the source, and later from the annotation.
    pub(crate) fn in_use_since(&self) -> Option<Timestamp> {
        let Transfer::Target(target) = &self.transfer else { return None };
        let recorded = self.annotations(ours::IN_USE_SINCE).find_map(|at| at.parse().ok());
        recorded.or(match &target.source {
            Counterpart::Found(giver) => giver.status.ready_at,
            Counterpart::NotFetched | Counterpart::Missing => None,
        })
    }

    /// Whether this pass is the first that can deliver the kubeconfig of a taken over cluster: its lifetime does not end yet then.
    pub(crate) fn is_delivered_now(&self) -> bool {
        let was_reported =
            self.composite.status.ready_at.is_some() || self.annotation(ours::READY_AT).is_some();
        self.transfer.adopted().is_some() && !was_reported
    }

    fn observe_watched(&self, primary: &PrimaryObject) -> Option<WatchedRemote> {
        let place = ObjectRef::of_primary(primary)?;
        let note = primary.object.metadata.annotation(ours::TAKE_OVER)?;
        let own = self.composite.metadata.uid.as_ref().map(Uid::as_str);
        let is_own = own.is_some() && note.split('/').nth(1) == own;
        // Another uid belongs to another object, and its state would not be in sync.
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
    /// Whether the TestCluster can never take the cluster: it is gone, or ended before it took it. Both are permanent.
    pub fn cannot_complete(&self, own: &str) -> bool {
        let Counterpart::Found(taker) = &self.target else {
            return !self.is_adopted && matches!(self.target, Counterpart::Missing);
        };
        let same = self.receiver.as_ref().is_some_and(|to| to.is_composite(taker));
        let over = matches!(taker.status.phase, Some(Phase::Deprovisioned | Phase::Failed));
        // Another TestCluster of that name may be the same one, restored: its first status shows whether it had taken the cluster.
        let answered = taker.status.phase.is_some();
        !self.is_adopted
            && transfer_stage(taker, own) != Some(TakeOverStage::Taken)
            && if same { over } else { answered }
    }

    /// Value of the annotation that records it.
    pub fn annotation_value(&self, to: &Receiver) -> String {
        format!("{to}{}", if self.is_adopted { ADOPTED_SUFFIX } else { "" })
    }
}

/// Stage of a TestCluster's takeover from `giver`.
fn transfer_stage(taker: &Composite, giver: &str) -> Option<TakeOverStage> {
    taker.status.take_over.as_ref().filter(|t| t.from.as_deref() == Some(giver))?.stage
}

/// Whether the primary Object is read-only: not even its deletion ends the remote object.
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
