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
    required::{Names, fetched},
};
use crate::{proto::RunFunctionRequest, text::bounded};

/// The other side of a handover.
pub(crate) const OTHER: Names = Names::new("handover", None);

/// Ends the giver's note once the cluster was seen to be taken.
const TAKEN: &str = "/taken";

/// Whether the cluster of a composite goes to another, or comes from one.
#[derive(Debug, Default)]
pub enum Handover {
    /// Neither.
    #[default]
    None,
    /// It is to go, or went.
    Gives(Box<Giving>),
    /// It is to come, or came.
    Takes(Box<Taking>),
}

/// What is known where a cluster goes.
#[derive(Debug)]
pub struct Giving {
    /// To which TestCluster; none: the annotation cannot be read.
    pub to: Option<Receiver>,
    /// Whether it was let go: the note says so, and nothing else is believed.
    pub let_go: bool,
    /// Whether it is seen that the writer only watches: then nothing of this composite can end the cluster any more.
    pub powerless: bool,
    /// Whether the cluster was seen to be taken.
    pub taken: bool,
    /// What there is under the name of that TestCluster.
    pub taker: Other<Box<Composite>>,
}

/// What is known where a cluster comes.
#[derive(Debug)]
pub struct Taking {
    /// Name of the composite from which.
    pub from: String,
    /// That composite.
    pub giver: Other<Box<Composite>>,
    /// The writer that only watches, if there is one.
    pub watching: Option<Watching>,
    /// Whether a writer is there that is kept from the planner. It ends nothing by going.
    pub hides: bool,
    /// Where the cluster is, once it is taken.
    pub taken: Option<Place>,
    /// Whether it was taken by an earlier pass: then nobody else is asked for. What this pass makes of what was fetched must not decide what is
    /// fetched.
    pub was_taken: bool,
}

/// A writer that only watches what is another composite's.
#[derive(Debug)]
pub struct Watching {
    /// What it watches.
    pub place: Place,
    /// Who made it, as it is noted: name of the giver, and uid of the TestCluster.
    pub note: String,
    /// Whether this very TestCluster made it. One that was restored from a backup has another uid, and by the time of that backup the
    /// cluster may have been somebody else's.
    pub mine: bool,
    /// Whether it sees it.
    pub seen: bool,
}

/// Something that was asked for by name.
#[derive(Debug)]
pub enum Other<T> {
    /// Nobody looked.
    NotFetched,
    /// There is none.
    Gone,
    /// It is there.
    There(T),
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
    fn told(status: &HandedOverStatus) -> Option<Self> {
        let HandedOverStatus { namespace: Some(namespace), name: Some(name), uid: Some(uid) } = status else {
            return None;
        };
        Some(Self { namespace: namespace.clone(), name: name.clone(), uid: Uid(uid.clone()) })
    }

    /// Whether it is this composite.
    pub fn is(&self, composite: &Composite) -> bool {
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
pub struct Place {
    /// Name of the hub's ProviderConfig.
    pub hub: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: Uid,
}

impl Place {
    /// Where a cluster is, as status tells it.
    pub fn told(status: &TestPlatformClusterStatus) -> Option<Self> {
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

    /// What a writer carries.
    fn of(writer: &PrimaryObject) -> Option<Self> {
        let metadata = &writer.manifest()["metadata"];
        let text = |field: &str| metadata[field].as_str().map(str::to_owned);
        let hub = writer.object.spec.provider_config_ref.name.clone();
        Some(Self { hub, namespace: text("namespace")?, name: text("name")?, uid: writer.remote_uid()? })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.hub, self.namespace, self.name, self.uid)
    }
}

impl Handover {
    /// Whether the cluster was let go, and is another composite's to end.
    pub fn let_go(&self) -> bool {
        matches!(self, Self::Gives(giving) if giving.let_go)
    }

    /// Where the cluster is that was taken over.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Takes(taking) => taking.taken.as_ref(),
            Self::None | Self::Gives(_) => None,
        }
    }

    /// Whether a writer is there that only watches what another composite may end, and is kept from the planner.
    pub fn hides(&self) -> bool {
        matches!(self, Self::Takes(taking) if taking.hides)
    }
}

impl Observed {
    /// Sees whether the cluster goes or comes. After everything else: it may keep the writer from the planner.
    pub(super) fn see_handover(&mut self, request: &RunFunctionRequest) {
        self.transfer = match &self.composite.flavour {
            Flavour::Claimed => self.gives(request),
            Flavour::Namespaced(_) => self.takes(request),
            Flavour::Homeless => Handover::None,
        };
    }

    fn gives(&mut self, request: &RunFunctionRequest) -> Handover {
        let told = || Some(Receiver::told(self.composite.status.handed_over.as_ref()?)?.to_string());
        let noted = self.note(ours::HANDED_OVER).map(str::to_owned).or_else(told);
        let asked = self.composite.metadata.annotation(ours::HAND_OVER).filter(|text| !text.is_empty());
        let let_go = noted.is_some();
        let Some(text) = noted.or_else(|| asked.map(str::to_owned)) else { return Handover::None };
        let noted_taken = text.strip_suffix(TAKEN);
        let to = Receiver::parse(noted_taken.unwrap_or(&text));
        let powerless =
            self.primary.as_ref().is_some_and(|writer| writes_nothing(writer) && !writer.is_deleting());
        if let_go && let Some(writer) = &mut self.primary {
            // What only watches says so, where one that may write would be told by its pin.
            let synced = condition(&writer.object.status.conditions, "Synced");
            if synced.is_some_and(found_none) && writer.remote_uid().is_some() {
                writer.sync = SyncState::Deleted;
            }
        }
        let named = other(request);
        let own = self.composite.metadata.name.as_str();
        // Also one that was restored from a backup, and has another uid since, goes on with what it took.
        let taken = (let_go && noted_taken.is_some())
            || matches!(&named, Other::There(t) if stage(t, own) == Some(TakeOverStage::Taken));
        Handover::Gives(Box::new(Giving { to, let_go, powerless, taken, taker: named }))
    }

    fn takes(&mut self, request: &RunFunctionRequest) -> Handover {
        let note = self.note(ours::TAKE_OVER).map(str::to_owned);
        let before = self.composite.status.take_over.as_ref().and_then(|t| t.from.clone());
        // Only from its first pass on: one that came to make a cluster of its own goes on with that.
        let newborn =
            self.composite.status.phase.is_none() && self.primary.is_none() && self.credentials.is_none();
        let asked = self.composite.metadata.annotation(ours::TAKE_OVER).filter(|_| newborn);
        // What is no name is waited for in vain: a cluster was not asked for either.
        let name = |text: &str| bounded(text.split('/').next().unwrap_or_default(), ObjectName::MAX);
        let Some(from) = note.as_deref().map(name).or(before).or_else(|| asked.map(name)) else {
            return Handover::None;
        };
        let taken = self.note(ours::TAKEN_OVER).and_then(Place::parse);
        // Its policies tell too: what may write was taken.
        let taken = taken.or_else(|| Place::of(self.primary.as_ref().filter(|w| !writes_nothing(w))?));
        let shown = || Some(&self.composite).filter(|c| stage(c, &from) == Some(TakeOverStage::Taken));
        let taken = taken.or_else(|| Place::told(&shown()?.status));
        // What may write, and nobody can tell where, is no cluster of another composite.
        let quiet = |w: &PrimaryObject| w.name == EPHEMERAL_CLUSTER && writes_nothing(w);
        if taken.is_none() && !self.primary.as_ref().is_none_or(quiet) {
            return Handover::None;
        }
        let giver = other(request);
        let was_taken = taken.is_some();
        let mut taking = Taking { from, giver, watching: None, hides: false, taken, was_taken };
        if taking.taken.is_none() {
            taking.watching = self.primary.as_ref().and_then(|writer| self.watching(writer));
            if self.may_take(&taking) {
                taking.taken = taking.watching.take().map(|watching| watching.place);
            } else {
                taking.hides = self.primary.take().is_some();
            }
        }
        Handover::Takes(Box::new(taking))
    }

    /// Since when the tenant has had the kubeconfig of the cluster that is taken over: as the giver tells it, and later as it is noted.
    pub(crate) fn in_use_since(&self) -> Option<Timestamp> {
        let Handover::Takes(taking) = &self.transfer else { return None };
        let recorded = self.notes(ours::IN_USE_SINCE).find_map(|at| at.parse().ok());
        recorded.or(match &taking.giver {
            Other::There(giver) => giver.status.ready_at,
            Other::NotFetched | Other::Gone => None,
        })
    }

    /// Whether the kubeconfig of a cluster that was taken over is delivered in this pass at the earliest: then its lifetime does not end yet.
    pub(crate) fn is_delivered_now(&self) -> bool {
        let was_reported = self.composite.status.ready_at.is_some() || self.note(ours::READY_AT).is_some();
        self.transfer.place().is_some() && !was_reported
    }

    fn watching(&self, writer: &PrimaryObject) -> Option<Watching> {
        let place = Place::of(writer)?;
        let note = writer.object.metadata.annotation(ours::TAKE_OVER)?;
        let own = self.composite.metadata.uid.as_ref().map(Uid::as_str);
        let mine = own.is_some() && note.split('/').nth(1) == own;
        // Another uid is another object's, and the link would not be in sync.
        let seen = writer.sync == SyncState::InSync
            && writer.remote().is_some_and(|remote| remote.metadata().uid.as_ref() == Some(&place.uid))
            && !writer.is_deleting();
        Some(Watching { place, note: note.to_owned(), mine, seen })
    }

    /// Whether nobody else may end the cluster any more: its giver shows that nothing of it can, or is gone with all that it had. One that
    /// has come to its own end takes nothing, because the giver takes its cluster back then.
    fn may_take(&self, taking: &Taking) -> bool {
        let sees = taking.watching.as_ref().is_some_and(|watching| watching.mine && watching.seen);
        let free = match &taking.giver {
            Other::NotFetched => false,
            Other::Gone => true,
            Other::There(giver) => giver
                .status
                .handed_over
                .as_ref()
                .is_some_and(|to| Receiver::told(to).is_some_and(|to| to.is(&self.composite))),
        };
        sees && free && !self.is_final()
    }
}

impl Giving {
    /// Whether the TestCluster will never take the cluster: it is gone, or has come to its end before it took it. Neither is ever undone.
    pub fn in_vain(&self, own: &str) -> bool {
        let Other::There(taker) = &self.taker else {
            return !self.taken && matches!(self.taker, Other::Gone);
        };
        let same = self.to.as_ref().is_some_and(|to| to.is(taker));
        let over = matches!(taker.status.phase, Some(Phase::Deprovisioned | Phase::Failed));
        // Another of its name may be the same one, restored: it says first whether it had taken the cluster by then.
        let answered = taker.status.phase.is_some();
        !self.taken && stage(taker, own) != Some(TakeOverStage::Taken) && if same { over } else { answered }
    }

    /// What is noted of it.
    pub fn note(&self, to: &Receiver) -> String {
        format!("{to}{}", if self.taken { TAKEN } else { "" })
    }
}

/// How far a TestCluster is with taking over the cluster of `giver`.
fn stage(taker: &Composite, giver: &str) -> Option<TakeOverStage> {
    taker.status.take_over.as_ref().filter(|t| t.from.as_deref() == Some(giver))?.stage
}

/// Whether it can only watch: not even its own end ends what it carries.
fn writes_nothing(writer: &PrimaryObject) -> bool {
    writer.object.spec.management_policies == ["Observe"]
}

fn other(request: &RunFunctionRequest) -> Other<Box<Composite>> {
    let Some(found) = fetched(request, &OTHER) else { return Other::NotFetched };
    let Some(item) = found.items.first() else { return Other::Gone };
    // What cannot be read is not gone.
    Composite::decode(&item.resource).map_or(Other::NotFetched, |composite| Other::There(Box::new(composite)))
}
