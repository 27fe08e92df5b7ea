//! Admission of a transfer: whether a cluster is offered to a TestCluster, and what blocks one without a cluster to take over.

use testplatform_apis::{
    account::AccessRequest,
    ci_operator::CiOperator,
    condition::Request,
    foreign::ephemeral_cluster,
    names::{Uid, ours},
    phase::Phase,
};

use crate::{
    cluster::{
        observed::{Counterpart, ObjectRef, Observed, Receiver, Transfer, TransferTarget},
        request::AdmissionIssue,
    },
    sdk::composite::Composite,
};

impl Receiver {
    /// Whether the receiver is in the namespace of the claim: a cluster stays with its tenant.
    pub(crate) fn is_in_claim_namespace(&self, observed: &Observed) -> bool {
        observed.composite.claim.as_ref().is_some_and(|claim| claim.namespace == self.namespace)
    }
}

/// Issue that blocks a TestCluster without a cluster to take over.
pub(crate) fn transfer_blocked_by(observed: &Observed) -> Option<AdmissionIssue> {
    let Transfer::Target(target) = &observed.transfer else { return None };
    let none = target.adopted.is_none();
    let why = match (&target.watched, find_offer(target, observed)) {
        (Some(watching), _) if watching.is_own && watching.is_observed => {
            format!("composite {} has not released its cluster yet", target.source_name)
        }
        (Some(watching), _) if watching.is_own => {
            format!("the cluster of composite {} is not seen on its hub", target.source_name)
        }
        (_, Ok(_)) => {
            format!("the cluster of composite {} is being read for the first time", target.source_name)
        }
        (_, Err(why)) => why,
    };
    none.then(|| {
        AdmissionIssue::new(
            Request::TakeOverWaits,
            format!("no cluster is created, because one is to be taken over: {why}"),
        )
    })
}

/// Finds the offered cluster. A tenant without access to a composite gets the same answer whether it exists or not.
pub(crate) fn find_offer(target: &TransferTarget, observed: &Observed) -> Result<ObjectRef, String> {
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
        return Err("spec.ciOperator must be equal to the claim's, and no other block".into());
    }
    let wish = |c: &Composite| {
        AccessRequest::from_spec(&c.spec["credentials"]).ok().map(|w| w.map(|w| w.to_string()))
    };
    if wish(giver) != wish(own) {
        return Err("spec.credentials must be equal to the claim's".into());
    }
    let ready = giver.status.phase == Some(Phase::Ready) && giver.metadata.deletion_timestamp.is_none();
    let kind = giver.status.backend.as_ref().and_then(|b| b.kind.as_deref());
    let fits = ready && kind == Some(ephemeral_cluster::KIND);
    ObjectRef::from_status(&giver.status)
        .filter(|_| fits)
        .ok_or_else(|| format!("the cluster of composite {name} must be Ready"))
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
