//! Transfer of a live cluster from a claim to a TestCluster. At every moment at most one of them may end the cluster.
//!
//! 1. The TestCluster is created as a target, and never creates a cluster. Once the claim names it, it watches the remote object.
//! 2. Once the claim's composite sees that, it releases the cluster: its Objects only observe, and nothing done to the claim ends the
//!    cluster.
//! 3. Once the TestCluster sees the release, or that the composite is gone, it owns the cluster.
//!
//! A release is reclaimed only if the TestCluster is gone, or ended before it took the cluster. Both states are permanent, so no
//! TestCluster takes a reclaimed cluster. Each side acts only on the stored Object of the other side.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    account::AccessRequest,
    ci_operator::CiOperator,
    claim::API_VERSION,
    collect,
    condition::Request,
    duration::GoDuration,
    foreign::ephemeral_cluster,
    input::Settings,
    names::{ObjectName, Uid, ours},
    phase::Phase,
    status::{HandedOverStatus, TakeOverStage, TakeOverStatus},
};

use crate::{
    cluster::{
        backends::intent::{Intent, ManagementPolicies, PrimaryAction},
        lifecycle::{ClusterEvaluation, Lifecycle},
        observed::{
            self, COUNTERPART, Counterpart, ObjectRef, Observed, PrimaryObject, Receiver, Transfer,
            TransferTarget,
        },
        request::{AdmissionIssue, Block, Validated},
    },
    objects::SyncState,
    sdk::{
        composite::{Composite, Flavour},
        proto::{ResourceSelector, resource_selector::Match},
        requirements::selector,
    },
};

/// TTL during a transfer: core ≤ 2.3 does not watch the other side.
pub const IN_PROGRESS_TTL: SignedDuration = SignedDuration::from_secs(10);

/// Decision about the transfer of a composite's cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferDecision {
    /// It waits for this precondition.
    Wait(String),
    /// It releases the cluster, or did.
    Release(Receiver),
    /// It reclaims the cluster, because nobody else ever will take it.
    Reclaim,
}

/// Decides about a requested transfer.
pub(crate) fn decide_transfer(
    request: &Validated,
    observed: &Observed,
    lifecycle: &Lifecycle,
) -> Option<TransferDecision> {
    let Transfer::Source(source) = &observed.transfer else { return None };
    match (&source.receiver, source.released) {
        (Some(_), true)
            if source.cannot_complete(&observed.composite.metadata.name) && !lifecycle.is_complete() =>
        {
            Some(TransferDecision::Reclaim)
        }
        (Some(to), true) => Some(TransferDecision::Release(to.clone())),
        (to, false) if !lifecycle.is_complete() => {
            Some(match check_release(request, observed, lifecycle, to.as_ref(), source) {
                Ok(to) => TransferDecision::Release(to),
                Err(missing) => TransferDecision::Wait(missing),
            })
        }
        // A cluster released to an unknown receiver stays released: nobody can be asked.
        (None, true) | (_, false) => None,
    }
}

impl Receiver {
    /// Whether the receiver is in the namespace of the claim: a cluster stays with its tenant.
    fn is_in_claim_namespace(&self, observed: &Observed) -> bool {
        observed.composite.claim.as_ref().is_some_and(|claim| claim.namespace == self.namespace)
    }
}

/// Receiver to which the cluster may be released; else the missing precondition.
fn check_release(
    request: &Validated,
    observed: &Observed,
    lifecycle: &Lifecycle,
    to: Option<&Receiver>,
    source: &observed::TransferSource,
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
    let primary = observed
        .primary
        .as_ref()
        .filter(|primary| primary.sync == SyncState::InSync && !primary.is_deleting());
    let Some(uid) = primary
        .and_then(PrimaryObject::remote_uid)
        .filter(|_| lifecycle.phase == Phase::Ready && !lifecycle.teardown)
    else {
        return no("the cluster has to be Ready, and not on its way out");
    };
    let taker = match &source.target {
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
    if is_past_lifetime(taker, lifecycle, observed.now) {
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
    // A TestCluster in stage Taken took the cluster after an earlier release that nothing here records any more.
    let sees = matches!(status.stage, Some(TakeOverStage::Watching | TakeOverStage::Taken));
    if sees && status.uid.as_deref() == Some(uid.as_str()) {
        Ok(to.clone())
    } else {
        no("the TestCluster does not see the cluster yet")
    }
}

/// Whether the lifetime that a TestCluster requests is over already.
fn is_past_lifetime(taker: &Composite, lifecycle: &Lifecycle, now: Timestamp) -> bool {
    let lifetime = taker.spec["lifetime"].as_str().and_then(|text| text.parse::<GoDuration>().ok());
    let end =
        lifecycle.ready_at.zip(lifetime).and_then(|(at, lifetime)| at.checked_add(lifetime.as_signed()).ok());
    end.is_some_and(|end| end <= now)
}

/// Applies the decision to the intent, over the rest of the plan.
pub(crate) fn apply_transfer(intent: &mut Intent, source: Option<&TransferDecision>, observed: &Observed) {
    let lets_go = matches!(source, Some(TransferDecision::Release(_)));
    let unread = source.is_none() && observed.transfer.is_released();
    if lets_go || unread {
        intent.action = if observed.primary.is_some() {
            PrimaryAction::Update(ManagementPolicies::Observe)
        } else {
            PrimaryAction::Omit
        };
    }
    match (&observed.transfer, source) {
        (Transfer::Source(source), Some(TransferDecision::Release(to))) => {
            intent.transfer_annotations = vec![(ours::HANDED_OVER, source.annotation_value(to))];
        }
        (Transfer::Source(_), _) if unread => {
            let note = observed.annotation(ours::HANDED_OVER).unwrap_or_default().to_owned();
            intent.transfer_annotations = vec![(ours::HANDED_OVER, note)];
        }
        (Transfer::Target(target), _) => {
            let own = observed.composite.metadata.uid.as_ref().map_or("", Uid::as_str);
            // An object that another TestCluster watched stays foreign until it is offered again.
            let foreign =
                target.watched.as_ref().filter(|w| !w.is_own && find_offer(target, observed).is_err());
            let note = foreign.map_or_else(|| format!("{}/{own}", target.source_name), |w| w.note.clone());
            intent.transfer_annotations = vec![(ours::TAKE_OVER, note)];
            intent
                .transfer_annotations
                .extend(target.adopted.as_ref().map(|place| (ours::TRANSFERRED_FROM, place.to_string())));
            intent
                .transfer_annotations
                .extend(observed.in_use_since().map(|at| (ours::IN_USE_SINCE, at.to_string())));
        }
        (Transfer::None | Transfer::Source(_), _) => {}
    }
}

/// Issue that blocks a TestCluster without a cluster to take over.
pub(crate) fn transfer_blocked_by(observed: &Observed) -> Option<AdmissionIssue> {
    let Transfer::Target(target) = &observed.transfer else { return None };
    let none = target.adopted.is_none();
    let why = match (&target.watched, find_offer(target, observed)) {
        (Some(watching), _) if watching.is_own && watching.is_observed => {
            format!("composite {} has not let its cluster go yet", target.source_name)
        }
        (Some(watching), _) if watching.is_own => {
            format!("the cluster of composite {} is not seen on its hub", target.source_name)
        }
        (_, Ok(_)) => {
            format!("the cluster of composite {} is looked at for the first time", target.source_name)
        }
        (_, Err(why)) => why,
    };
    none.then(|| {
        AdmissionIssue::new(
            Request::TakeOverWaits,
            format!("no cluster is made, one is to be taken over: {why}"),
        )
    })
}

/// Finds the offered cluster. A tenant without access to a composite gets the same answer whether it exists or not.
fn find_offer(target: &TransferTarget, observed: &Observed) -> Result<ObjectRef, String> {
    let own = &observed.composite;
    let name = &target.source_name;
    let giver = match &target.source {
        Counterpart::Found(giver) => giver,
        Counterpart::NotFetched => return Err(format!("composite {name} was not read yet")),
        Counterpart::Missing => return Err(no_offer_message(target, own)),
    };
    let of_tenant = giver.claim.is_some() && giver.tenant() == own.tenant();
    let named = giver.metadata.annotation(ours::HAND_OVER).and_then(Receiver::parse);
    if !of_tenant || !named.is_some_and(|named| named.is_composite(own)) {
        return Err(no_offer_message(target, own));
    }
    let block = |c: &Composite| Some(CiOperator(c.spec["ciOperator"].as_object()?.clone()).to_forwarded());
    if block(giver).is_none() || block(giver) != block(own) {
        return Err("spec.ciOperator has to be that of the claim, and no other block".into());
    }
    let wish = |c: &Composite| {
        AccessRequest::from_spec(&c.spec["credentials"]).ok().map(|w| w.map(|w| w.to_string()))
    };
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

fn no_offer_message(target: &TransferTarget, own: &Composite) -> String {
    let uid = own.metadata.uid.as_ref().map_or("", Uid::as_str);
    format!(
        "no composite {} of this namespace hands its cluster over to {}/{uid}",
        target.source_name,
        own.ordinal()
    )
}

/// Object to watch: the one offered to this very TestCluster, else the previous one.
pub(crate) fn watched_object(observed: &Observed) -> Option<ObjectRef> {
    let Transfer::Target(target) = &observed.transfer else { return None };
    if target.adopted.is_some() {
        return None;
    }
    let watched = target.watched.as_ref();
    let offered = || find_offer(target, observed).ok();
    match watched {
        Some(watching) if watching.is_own => Some(watching.object.clone()),
        Some(watching) => offered().or_else(|| Some(watching.object.clone())),
        None => offered(),
    }
}

/// Requirement for the other side, by name. It depends on claim and observed state: after a takeover, or an end, nothing is requested.
pub(crate) fn counterpart_requirements(
    observed: &Observed,
    settings: &Settings,
) -> BTreeMap<String, ResourceSelector> {
    let by_name = |kind: &str, namespace: Option<&str>, name: &str| {
        let mut selector = selector(API_VERSION, kind, Match::MatchName(name.to_owned()));
        selector.namespace = namespace.map(str::to_owned);
        collect::to_map([(COUNTERPART.dynamic().to_owned(), selector)])
    };
    let (_, other) = observed.composite.kinds();
    match &observed.transfer {
        // A kind that core does not know fails the whole pass.
        Transfer::Source(source) if settings.both_flavours && !observed.is_final() => {
            match &source.receiver {
                Some(to) if to.is_in_claim_namespace(observed) => {
                    by_name(other, Some(&to.namespace), &to.name)
                }
                Some(_) | None => BTreeMap::new(),
            }
        }
        Transfer::Target(target) if !target.was_adopted && !observed.is_final() => {
            match ObjectName::try_from(target.source_name.as_str()) {
                Ok(_) => by_name(other, None, &target.source_name),
                Err(_) => BTreeMap::new(),
            }
        }
        Transfer::None | Transfer::Source(_) | Transfer::Target(_) => BTreeMap::new(),
    }
}

/// Whether a transfer is in progress and waits for the other side.
pub(crate) fn is_in_progress(evaluation: &ClusterEvaluation) -> bool {
    let settled = evaluation.plan.lifecycle.is_complete();
    match &evaluation.observed.transfer {
        Transfer::None => false,
        Transfer::Source(source) => !settled && !source.is_adopted,
        Transfer::Target(target) => !settled && target.adopted.is_none(),
    }
}

/// `status.handedOver`: set once this composite is observed to be unable to end the cluster.
pub(crate) fn handed_over_status(evaluation: &ClusterEvaluation) -> Option<HandedOverStatus> {
    let (Transfer::Source(source), Some(TransferDecision::Release(to))) =
        (&evaluation.observed.transfer, &evaluation.plan.transfer)
    else {
        return None;
    };
    let before = evaluation.observed.composite.status.handed_over.is_some();
    (source.released && (source.is_read_only || before)).then(|| HandedOverStatus {
        namespace: Some(to.namespace.clone()),
        name: Some(to.name.clone()),
        uid: Some(to.uid.0.clone()),
    })
}

/// `status.takeOver`.
pub(crate) fn take_over_status(observed: &Observed) -> Option<TakeOverStatus> {
    let Transfer::Target(target) = &observed.transfer else { return None };
    let watching = target.watched.as_ref().filter(|watching| watching.is_own && watching.is_observed);
    let (stage, place) = match (&target.adopted, watching) {
        (Some(place), _) => (TakeOverStage::Taken, Some(place)),
        (None, Some(watching)) => (TakeOverStage::Watching, Some(&watching.object)),
        (None, None) => (TakeOverStage::Waiting, None),
    };
    let uid = place.map(|place| place.uid.0.clone());
    Some(TakeOverStatus { from: Some(target.source_name.clone()), stage: Some(stage), uid })
}

/// Message about a released cluster.
pub(crate) fn released_message(observed: &Observed) -> String {
    let Transfer::Source(source) = &observed.transfer else { return String::new() };
    let to = source.receiver.as_ref().map(|to| to.name.as_str()).unwrap_or_default();
    if source.is_adopted {
        format!("the cluster was handed over to TestCluster {to}, which ends it; delete this claim")
    } else {
        format!("the cluster was let go and waits for TestCluster {to} to take it; do not delete that")
    }
}

/// Issue about a transfer for the owner.
pub(crate) fn transfer_issue(evaluation: &ClusterEvaluation) -> Option<AdmissionIssue> {
    match evaluation.plan.transfer.as_ref() {
        Some(TransferDecision::Wait(why)) => Some(AdmissionIssue::new(
            Request::HandOverWaits,
            format!("the cluster is not handed over: {why}"),
        )),
        Some(TransferDecision::Release(_)) if evaluation.observed.transfer.is_released() => {
            Some(AdmissionIssue::new(Request::HandedOver, released_message(&evaluation.observed)))
        }
        Some(TransferDecision::Release(_) | TransferDecision::Reclaim) => None,
        None => ignored_annotation_issue(&evaluation.observed),
    }
}

/// Issue about an annotation that came too late.
fn ignored_annotation_issue(observed: &Observed) -> Option<AdmissionIssue> {
    let late = matches!(observed.transfer, Transfer::None)
        && matches!(observed.composite.flavour, Flavour::Namespaced(_))
        && observed.composite.metadata.annotation(ours::TAKE_OVER).is_some();
    late.then(|| {
        let message =
            format!("annotation {} counts only if the TestCluster is made with it", ours::TAKE_OVER);
        AdmissionIssue::new(Request::ChangeIgnored, message)
    })
}
