//! Which claims of an overview need attention, and which ones wait for others to end.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    condition::{ClusterReady, ConditionType, Remote, Request},
    phase::Phase,
};

use super::super::claim::{Claim, ClaimState, ReportedCondition, text, time};

/// How long after the end of its lifetime a cluster may still be there: removing one can take most of an hour.
const TEARDOWN: SignedDuration = SignedDuration::from_hours(1);

/// Reasons for which a claim waits until other clusters end.
const QUEUES: [Request; 3] = [Request::NoCapacity, Request::HubFull, Request::QuotaExceeded];

/// Why somebody should look at a claim, the most pressing first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concern {
    /// It is there long after its end.
    Overdue,
    /// It has a cluster, and its kubeconfig cannot be written.
    Undelivered,
    /// Its hub does not answer, or refuses it.
    Hub,
    /// It waits until somebody removes the cause of a refusal.
    Refused,
    /// It was healthy and is not any more.
    Degraded,
    /// Its cluster takes longer than nine of ten like it.
    Late,
    /// Crossplane has not processed it.
    Unprocessed,
    /// It has no cluster, and will not get one.
    Failed,
}

impl Concern {
    /// The concern in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Overdue => "outlives its lifetime",
            Self::Undelivered => "kubeconfig not delivered",
            Self::Hub => "trouble with the hub",
            Self::Refused => "refused until somebody acts",
            Self::Degraded => "degraded",
            Self::Late => "late",
            Self::Unprocessed => "not processed",
            Self::Failed => "failed",
        }
    }
}

/// Why somebody should look at a claim; none if it is well or waits its turn.
pub fn find_concern(claim: &Claim, now: Timestamp) -> Option<Concern> {
    match claim.phase() {
        Some(Phase::Deprovisioned) => return None,
        Some(Phase::Failed) => return Some(Concern::Failed),
        Some(
            Phase::Pending | Phase::Provisioning | Phase::Ready | Phase::Degraded | Phase::Deprovisioning,
        )
        | None => {}
    }
    let is_overdue = |end: Timestamp| now.duration_since(end) > TEARDOWN;
    let is_known = |condition: &ReportedCondition<'_>| condition.reason() != Remote::NotObserved.as_str();
    let is_late = || {
        let reason = claim.condition(ConditionType::ClusterReady).map(ReportedCondition::reason);
        let is_past = time(&claim.object, "/status/estimatedReadyAt").is_some_and(|by| by < now);
        reason == Some(ClusterReady::Late.as_str()) || is_past
    };
    if claim.expires_at().is_some_and(is_overdue) {
        Some(Concern::Overdue)
    } else if claim.lacks_secret() {
        Some(Concern::Undelivered)
    } else if find_denied(claim, ConditionType::RemoteConsistent).as_ref().is_some_and(is_known) {
        Some(Concern::Hub)
    } else if find_denied(claim, ConditionType::RequestAccepted).is_some() && find_queue(claim).is_none() {
        Some(Concern::Refused)
    } else if claim.phase() == Some(Phase::Degraded) {
        Some(Concern::Degraded)
    } else if claim.state() == ClaimState::Waiting && is_late() {
        Some(Concern::Late)
    } else if claim.unprocessed_for(now).is_some() {
        Some(Concern::Unprocessed)
    } else {
        None
    }
}

/// Why a claim waits until other clusters end; none if it does not.
pub fn find_queue(claim: &Claim) -> Option<String> {
    if claim.state() != ClaimState::Waiting {
        return None;
    }
    let reason = find_denied(claim, ConditionType::RequestAccepted).map(ReportedCondition::reason);
    if let Some(reason) = QUEUES.iter().find(|queue| reason == Some(queue.as_str())) {
        return Some(reason.as_str().to_owned());
    }
    let position = claim.object.pointer("/status/queue/position")?.as_i64()?;
    let pool = text(&claim.object, "/spec/clusterClaim/pool/name");
    let pool = if pool.is_empty() { "its pool".to_owned() } else { format!("pool {pool}") };
    Some(format!("{pool}, place {position}"))
}

fn find_denied(claim: &Claim, type_: ConditionType) -> Option<ReportedCondition<'_>> {
    claim.condition(type_).filter(|condition| condition.is_denied())
}
