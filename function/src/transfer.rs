//! Handing a live cluster from a claim to a TestCluster, so that at every moment there is at most one that may end it.
//!
//! 1. The TestCluster is made to take over, and never makes a cluster. Named by the claim, it watches the remote object.
//! 2. Once the claim's composite sees that, it lets go: its Objects only watch, and nothing that is done to the claim ends the cluster.
//! 3. Once the TestCluster sees that, or that the composite is gone, the cluster is its own.
//!
//! Letting go is undone only for a TestCluster that is gone, or came to its end before it took the cluster: both are for ever, so none
//! takes what was taken back. The Object of either side is seen as it is stored before the other side acts on it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    account::Wish,
    ci_operator::CiOperator,
    claim::API_VERSION,
    condition::Request,
    duration::GoDuration,
    foreign::ephemeral_cluster,
    gather,
    input::Settings,
    names::{ObjectName, Uid, ours},
    phase::Phase,
    status::{HandedOverStatus, TakeOverStage, TakeOverStatus},
};

use crate::{
    ClusterEvaluation,
    intent::{Intent, ManagementPolicies, PrimaryAction},
    observed::{
        self, COUNTERPART, Composite, Counterpart, Flavour, ObjectRef, Observed, PrimaryObject, Receiver,
        SyncState, Transfer, TransferTarget,
    },
    plan::Lifecycle,
    proto::{ResourceSelector, resource_selector::Match},
    validate::{AdmissionIssue, Block, Validated},
};

/// How soon the other side is looked at again: core ≤ 2.3 does not watch it.
pub const IN_PROGRESS_TTL: SignedDuration = SignedDuration::from_secs(10);

/// What a composite does about handing its cluster over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferDecision {
    /// Nothing yet: this is missing.
    Wait(String),
    /// It lets go, or did.
    Release(Receiver),
    /// It takes the cluster back: nobody else ever will.
    Reclaim,
}

/// Its answer to the request, if there is one.
pub(crate) fn decide_transfer(
    request: &Validated,
    observed: &Observed,
    course: &Lifecycle,
) -> Option<TransferDecision> {
    let Transfer::Source(giving) = &observed.transfer else { return None };
    match (&giving.to, giving.released) {
        (Some(_), true)
            if giving.cannot_complete(&observed.composite.metadata.name) && !course.is_complete() =>
        {
            Some(TransferDecision::Reclaim)
        }
        (Some(to), true) => Some(TransferDecision::Release(to.clone())),
        (to, false) if !course.is_complete() => {
            Some(match check_release(request, observed, course, to.as_ref(), giving) {
                Ok(to) => TransferDecision::Release(to),
                Err(missing) => TransferDecision::Wait(missing),
            })
        }
        // What was let go to nobody knows whom stays so: nobody can be asked.
        (None, true) | (_, false) => None,
    }
}

impl Receiver {
    /// Whether it is in the namespace of the claim: a cluster stays with its tenant.
    fn is_in_claim_namespace(&self, observed: &Observed) -> bool {
        observed.composite.claim.as_ref().is_some_and(|claim| claim.namespace == self.namespace)
    }
}

/// To whom the cluster may be let go; else what is missing.
fn check_release(
    request: &Validated,
    observed: &Observed,
    course: &Lifecycle,
    to: Option<&Receiver>,
    giving: &observed::TransferSource,
) -> Result<Receiver, String> {
    let no = |why: &str| Err(why.to_owned());
    let Some(to) = to else {
        return no("the annotation names no TestCluster: it has to be namespace/name/uid");
    };
    match request.block {
        Block::CiOperator(_) => {}
        Block::ClusterClaim(_) => return no("clusters of clusterClaim are not handed over"),
        Block::Template(_) => return no("clusters of template are not handed over"),
    }
    if !to.is_in_claim_namespace(observed) {
        return no("the TestCluster has to be in the claim's namespace");
    }
    if !request.settings.both_flavours {
        return no("the Composition's input does not say bothFlavours: true");
    }
    let writer =
        observed.primary.as_ref().filter(|writer| writer.sync == SyncState::InSync && !writer.is_deleting());
    let Some(uid) = writer
        .and_then(PrimaryObject::remote_uid)
        .filter(|_| course.phase == Phase::Ready && !course.teardown)
    else {
        return no("the cluster has to be Ready, and not on its way out");
    };
    let taker = match &giving.target {
        Counterpart::NotFetched => return no("the TestCluster was not read yet"),
        Counterpart::Missing => return no("there is no TestCluster of that name and uid"),
        Counterpart::Found(taker) if !to.is_composite(taker) => {
            return no("there is no TestCluster of that name and uid");
        }
        Counterpart::Found(taker) => taker,
    };
    let ends = taker.metadata.deletion_timestamp.is_some()
        || matches!(taker.status.phase, Some(Phase::Deprovisioned | Phase::Failed));
    if ends {
        return no("the TestCluster has come to its end");
    }
    if is_past_lifetime(taker, course, observed.now) {
        return no(
            "the TestCluster has a lifetime that is over by now: it counts from when the claim had its kubeconfig",
        );
    }
    let status = taker
        .status
        .take_over
        .as_ref()
        .filter(|t| t.from.as_ref() == Some(&observed.composite.metadata.name));
    let Some(status) = status else {
        return no("the TestCluster was not made to take over this composite's cluster");
    };
    // One that took it did so when it was let go, of which nothing here tells any more.
    let sees = matches!(status.stage, Some(TakeOverStage::Watching | TakeOverStage::Taken));
    if sees && status.uid.as_deref() == Some(uid.as_str()) {
        Ok(to.clone())
    } else {
        no("the TestCluster does not see the cluster yet")
    }
}

/// Whether the lifetime that a TestCluster asks for is over already.
fn is_past_lifetime(taker: &Composite, course: &Lifecycle, now: Timestamp) -> bool {
    let lifetime = taker.spec["lifetime"].as_str().and_then(|text| text.parse::<GoDuration>().ok());
    let end = course.ready_at.zip(lifetime).and_then(|(at, lifetime)| at.checked_add(lifetime.get()).ok());
    end.is_some_and(|end| end <= now)
}

/// Writes down what was decided, over what the rest of the plan wants.
pub(crate) fn apply_transfer(intent: &mut Intent, giving: Option<&TransferDecision>, observed: &Observed) {
    let lets_go = matches!(giving, Some(TransferDecision::Release(_)));
    let unread = giving.is_none() && observed.transfer.is_released();
    if lets_go || unread {
        intent.action = if observed.primary.is_some() {
            PrimaryAction::Update(ManagementPolicies::Observe)
        } else {
            PrimaryAction::Omit
        };
    }
    match (&observed.transfer, giving) {
        (Transfer::Source(giving), Some(TransferDecision::Release(to))) => {
            intent.transfer_annotations = vec![(ours::HANDED_OVER, giving.annotation_value(to))];
        }
        (Transfer::Source(_), _) if unread => {
            let note = observed.annotation(ours::HANDED_OVER).unwrap_or_default().to_owned();
            intent.transfer_annotations = vec![(ours::HANDED_OVER, note)];
        }
        (Transfer::Target(taking), _) => {
            let own = observed.composite.metadata.uid.as_ref().map_or("", Uid::as_str);
            // What another one watched stays another's until it is offered anew.
            let kept = taking.watched.as_ref().filter(|w| !w.is_own && find_offer(taking, observed).is_err());
            let note = kept.map_or_else(|| format!("{}/{own}", taking.from), |w| w.note.clone());
            intent.transfer_annotations = vec![(ours::TAKE_OVER, note)];
            intent
                .transfer_annotations
                .extend(taking.taken_over.as_ref().map(|place| (ours::TAKEN_OVER, place.to_string())));
            intent
                .transfer_annotations
                .extend(observed.in_use_since().map(|at| (ours::IN_USE_SINCE, at.to_string())));
        }
        (Transfer::None | Transfer::Source(_), _) => {}
    }
}

/// Why a TestCluster that is to take over has nothing yet.
pub(crate) fn transfer_blocked_by(observed: &Observed) -> Option<AdmissionIssue> {
    let Transfer::Target(taking) = &observed.transfer else { return None };
    let none = taking.taken_over.is_none();
    let why = match (&taking.watched, find_offer(taking, observed)) {
        (Some(watching), _) if watching.is_own && watching.is_observed => {
            format!("composite {} has not let its cluster go yet", taking.from)
        }
        (Some(watching), _) if watching.is_own => {
            format!("the cluster of composite {} is not seen on its hub", taking.from)
        }
        (_, Ok(_)) => format!("the cluster of composite {} is looked at for the first time", taking.from),
        (_, Err(why)) => why,
    };
    none.then(|| {
        AdmissionIssue::new(
            Request::TakeOverWaits,
            format!("no cluster is made, one is to be taken over: {why}"),
        )
    })
}

/// The cluster that is offered. Who does not get to know of a composite hears the same of one that is there and of one that is not.
fn find_offer(taking: &TransferTarget, observed: &Observed) -> Result<ObjectRef, String> {
    let own = &observed.composite;
    let name = &taking.from;
    let giver = match &taking.source {
        Counterpart::Found(giver) => giver,
        Counterpart::NotFetched => return Err(format!("composite {name} was not read yet")),
        Counterpart::Missing => return Err(no_offer_message(taking, own)),
    };
    let of_tenant = giver.claim.is_some() && giver.tenant() == own.tenant();
    let named = giver.metadata.annotation(ours::HAND_OVER).and_then(Receiver::parse);
    if !of_tenant || !named.is_some_and(|named| named.is_composite(own)) {
        return Err(no_offer_message(taking, own));
    }
    let block = |c: &Composite| Some(CiOperator(c.spec["ciOperator"].as_object()?.clone()).forwarded());
    if block(giver).is_none() || block(giver) != block(own) {
        return Err("spec.ciOperator has to be that of the claim, and no other block".into());
    }
    let wish = |c: &Composite| Wish::of_spec(&c.spec["credentials"]).ok().map(|w| w.map(|w| w.to_string()));
    if wish(giver) != wish(own) {
        return Err("spec.credentials has to be that of the claim".into());
    }
    let ready = giver.status.phase == Some(Phase::Ready) && giver.metadata.deletion_timestamp.is_none();
    let kind = giver.status.backend.as_ref().and_then(|b| b.kind.as_deref());
    let fits = ready && kind == Some(ephemeral_cluster::KIND);
    ObjectRef::from_status(&giver.status)
        .filter(|_| fits)
        .ok_or_else(|| format!("the cluster of composite {name} has to be Ready"))
}

fn no_offer_message(taking: &TransferTarget, own: &Composite) -> String {
    let uid = own.metadata.uid.as_ref().map_or("", Uid::as_str);
    format!(
        "no composite {} of this namespace hands its cluster over to {}/{uid}",
        taking.from,
        own.ordinal()
    )
}

/// What is to be watched: what is offered to this very TestCluster, else what was.
pub(crate) fn watched_object(observed: &Observed) -> Option<ObjectRef> {
    let Transfer::Target(taking) = &observed.transfer else { return None };
    if taking.taken_over.is_some() {
        return None;
    }
    let watched = taking.watched.as_ref();
    let offered = || find_offer(taking, observed).ok();
    match watched {
        Some(watching) if watching.is_own => Some(watching.object.clone()),
        Some(watching) => offered().or_else(|| Some(watching.object.clone())),
        None => offered(),
    }
}

/// The other side, by name. A function of claim and observed state: what was taken, or has ended, asks for nothing.
pub(crate) fn counterpart_requirements(
    observed: &Observed,
    settings: &Settings,
) -> BTreeMap<String, ResourceSelector> {
    let by_name = |kind: &str, namespace: Option<&str>, name: &str| {
        let mut selector = observed::selector(API_VERSION, kind, Match::MatchName(name.to_owned()));
        selector.namespace = namespace.map(str::to_owned);
        gather::map([(COUNTERPART.dynamic().to_owned(), selector)])
    };
    let (_, other) = observed.composite.kinds();
    match &observed.transfer {
        // A kind that core does not know fails the whole pass.
        Transfer::Source(giving) if settings.both_flavours && !observed.is_final() => match &giving.to {
            Some(to) if to.is_in_claim_namespace(observed) => by_name(other, Some(&to.namespace), &to.name),
            Some(_) | None => BTreeMap::new(),
        },
        Transfer::Target(taking) if !taking.was_taken_over && !observed.is_final() => {
            match ObjectName::try_from(taking.from.as_str()) {
                Ok(_) => by_name(other, None, &taking.from),
                Err(_) => BTreeMap::new(),
            }
        }
        Transfer::None | Transfer::Source(_) | Transfer::Target(_) => BTreeMap::new(),
    }
}

/// Whether it is on its way, and the other side is waited for.
pub(crate) fn is_in_progress(judged: &ClusterEvaluation) -> bool {
    let settled = judged.plan.lifecycle.is_complete();
    match &judged.observed.transfer {
        Transfer::None => false,
        Transfer::Source(giving) => !settled && !giving.taken_over,
        Transfer::Target(taking) => !settled && taking.taken_over.is_none(),
    }
}

/// `status.handedOver`: only once it is seen that nothing of this composite can end the cluster.
pub(crate) fn handed_over_status(judged: &ClusterEvaluation) -> Option<HandedOverStatus> {
    let (Transfer::Source(giving), Some(TransferDecision::Release(to))) =
        (&judged.observed.transfer, &judged.plan.transfer)
    else {
        return None;
    };
    let before = judged.observed.composite.status.handed_over.is_some();
    (giving.released && (giving.is_read_only || before)).then(|| HandedOverStatus {
        namespace: Some(to.namespace.clone()),
        name: Some(to.name.clone()),
        uid: Some(to.uid.0.clone()),
    })
}

/// `status.takeOver`.
pub(crate) fn take_over_status(observed: &Observed) -> Option<TakeOverStatus> {
    let Transfer::Target(taking) = &observed.transfer else { return None };
    let watching = taking.watched.as_ref().filter(|watching| watching.is_own && watching.is_observed);
    let (stage, place) = match (&taking.taken_over, watching) {
        (Some(place), _) => (TakeOverStage::Taken, Some(place)),
        (None, Some(watching)) => (TakeOverStage::Watching, Some(&watching.object)),
        (None, None) => (TakeOverStage::Waiting, None),
    };
    let uid = place.map(|place| place.uid.0.clone());
    Some(TakeOverStatus { from: Some(taking.from.clone()), stage: Some(stage), uid })
}

/// Where the cluster went, in a sentence.
pub(crate) fn released_message(observed: &Observed) -> String {
    let Transfer::Source(giving) = &observed.transfer else { return String::new() };
    let to = giving.to.as_ref().map(|to| to.name.as_str()).unwrap_or_default();
    if giving.taken_over {
        format!("the cluster was handed over to TestCluster {to}, which ends it; delete this claim")
    } else {
        format!("the cluster was let go and waits for TestCluster {to} to take it; do not delete that")
    }
}

/// What the owner should know of it.
pub(crate) fn transfer_issue(judged: &ClusterEvaluation) -> Option<AdmissionIssue> {
    match judged.plan.transfer.as_ref() {
        Some(TransferDecision::Wait(why)) => Some(AdmissionIssue::new(
            Request::HandOverWaits,
            format!("the cluster is not handed over: {why}"),
        )),
        Some(TransferDecision::Release(_)) if judged.observed.transfer.is_released() => {
            Some(AdmissionIssue::new(Request::HandedOver, released_message(&judged.observed)))
        }
        Some(TransferDecision::Release(_) | TransferDecision::Reclaim) => None,
        None => ignored_annotation_issue(&judged.observed),
    }
}

/// Said of an annotation that came too late.
fn ignored_annotation_issue(observed: &Observed) -> Option<AdmissionIssue> {
    let late = matches!(observed.transfer, Transfer::None)
        && matches!(observed.composite.flavour, Flavour::Namespaced(_))
        && observed.composite.metadata.annotation(ours::TAKE_OVER).is_some();
    late.then(|| {
        let words = format!("annotation {} counts only if the TestCluster is made with it", ours::TAKE_OVER);
        AdmissionIssue::new(Request::ChangeIgnored, words)
    })
}
