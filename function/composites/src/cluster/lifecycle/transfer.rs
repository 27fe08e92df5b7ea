//! Transfer of a live cluster from a claim to a TestCluster. At every moment at most one of them may end the cluster.
//!
//! 1. The TestCluster is created as a target, and never creates a cluster. Once the claim names it, it watches the remote object.
//! 2. Once the claim's composite sees that, it releases the cluster: its Objects only observe, and nothing done to the claim ends the
//!    cluster.
//! 3. Once the TestCluster sees the release, or that the composite is gone, it owns the cluster.
//!
//! A release is reclaimed only if the TestCluster is gone, or ended before it took the cluster. Both states are permanent, so no
//! TestCluster takes a reclaimed cluster. Each side acts only on the stored Object of the other side.

use jiff::Timestamp;
use testplatform_apis::{
    duration::GoDuration,
    names::{Uid, ours},
    phase::Phase,
    status::TakeOverStage,
};

use crate::{
    cluster::{
        admission::transfer::find_offer,
        backends::intent::{Intent, ManagementPolicies, PrimaryAction},
        lifecycle::Lifecycle,
        observed::{self, Counterpart, Observed, PrimaryObject, Receiver, Transfer},
        request::{Block, Validated},
    },
    objects::SyncState,
    sdk::composite::Composite,
};

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
        return no("the annotation names no TestCluster: its value must be namespace/name/uid");
    };
    match request.block {
        Block::CiOperator(_) => {}
        Block::ClusterClaim(_) => return no("clusters of clusterClaim are not handed over"),
        Block::Template(_) => return no("clusters of template are not handed over"),
    }
    if !to.is_in_claim_namespace(observed) {
        return no("the TestCluster must be in the claim's namespace");
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
        return no("the cluster must be Ready, and not on its way out");
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
        return no("the TestCluster has ended");
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
        return no("the TestCluster was not created to take over this composite's cluster");
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
