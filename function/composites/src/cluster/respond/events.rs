//! Transitions as results, which core turns into events on composite and claim.
//!
//! **Invariant:** an event occurs only in a pass that changes a shown condition, and never at rest. A failed pass (Unknown/FatalError) does
//! not show the previous state, so nothing is repeated after it.

use testplatform_apis::{
    condition::{Condition, ConditionStatus, ConditionType, EventReason, Failure, Request},
    foreign::meta::{ObservedCondition, find_condition},
    phase::Phase,
};

use crate::{
    cluster::{
        backends::Stage,
        lifecycle::ClusterEvaluation,
        observed::{Environment, Pools, Templates},
        request::Block,
    },
    sdk::response::Event,
};

/// Differences between the shown conditions and those of this pass.
pub fn find_events(evaluation: &ClusterEvaluation, conditions: &[Condition]) -> Vec<Event> {
    let transition = |type_: ConditionType| {
        let new = conditions.iter().find(|c| c.type_ == type_.as_str())?;
        let old = match find_condition(&evaluation.observed.composite.conditions, type_.as_str()) {
            Some(_) => Some(evaluation.observed.composite.shown(type_)?),
            None => None,
        };
        Some((old, new))
    };
    let mut events = Vec::new();
    if let Some((old, new)) = transition(ConditionType::RequestAccepted)
        && differs(old, new)
        && !is_unfetched(evaluation)
    {
        events.extend(request_event(old, new));
    }
    if let Some((old, new)) = transition(ConditionType::ProwJobUrl)
        && !new.message.is_empty()
        && old.is_none_or(|o| o.message != new.message)
    {
        events.push(normal_event(EventReason::ProwJobCreated, &new.message));
    }
    if let Some((old, new)) = transition(ConditionType::ClusterReady)
        && differs(old, new)
    {
        events.extend(cluster_event(evaluation, new));
    }
    if let Some((old, new)) = transition(ConditionType::CredentialsPublished)
        && differs(old, new)
    {
        if new.status == ConditionStatus::True {
            events.push(normal_event(EventReason::CredentialsPublished, &new.message));
        } else if evaluation.plan.lifecycle.is_withdrawn
            || (evaluation.observed.claim_secret.refusal().is_some()
                && !evaluation.plan.lifecycle.is_complete())
        {
            events.push(warning_event(EventReason::CredentialsNotDelivered, &new.message));
        }
    }
    if let Some((old, new)) = transition(ConditionType::ProwJobCompleted)
        && differs(old, new)
    {
        events.extend(job_event(evaluation, new));
    }
    if let Some((old, new)) = transition(ConditionType::RemoteConsistent)
        && differs(old, new)
        && !evaluation.plan.lifecycle.is_complete()
        && evaluation.plan.lifecycle.phase != Phase::Failed
    {
        events.extend(remote_event(old, new));
    }
    events
}

/// Whether something that the claim needs was not fetched yet: this answer is not the last.
fn is_unfetched(evaluation: &ClusterEvaluation) -> bool {
    let observed = &evaluation.observed;
    let (pool, template) = match evaluation.plan.request.as_ref().map(|r| &r.block) {
        Ok(Block::ClusterClaim(_)) => (observed.is_unplaced(), false),
        Ok(Block::CiOperator(_)) => {
            (evaluation.settings.quotas_for_ci_operator && observed.is_unplaced(), false)
        }
        Ok(Block::Template(_)) => (observed.is_unplaced(), true),
        Err(_) => (false, false),
    };
    observed.environment == Environment::NotFetched
        || (template && observed.templates == Templates::NotFetched)
        || (pool && (observed.pools == Pools::NotFetched || observed.peers.is_none()))
}

fn differs(old: Option<&ObservedCondition>, new: &Condition) -> bool {
    old.is_none_or(|o| o.status != new.status.as_str() || o.reason != new.reason)
}

fn request_event(old: Option<&ObservedCondition>, new: &Condition) -> Option<Event> {
    match (new.status, new.reason.as_str()) {
        (ConditionStatus::False, "InvalidClaim") => {
            Some(warning_event(EventReason::ValidationFailed, &new.message))
        }
        (ConditionStatus::False, reason) => Request::parse(reason).map(|refusal| Event {
            warning: true,
            reason: refusal.as_str(),
            message: new.message.clone(),
        }),
        (_, "Accepted" | "NoTenant") => {
            old.filter(|o| o.is_false()).map(|_| normal_event(EventReason::RequestAccepted, &new.message))
        }
        _ => Some(warning_event(EventReason::RequestAdjusted, &new.message)),
    }
}

fn cluster_event(evaluation: &ClusterEvaluation, new: &Condition) -> Option<Event> {
    let (is_warning, reason) = match (evaluation.plan.lifecycle.phase, new.reason.as_str()) {
        (Phase::Pending | Phase::Provisioning, "Late") => (true, EventReason::ProvisioningLate),
        (Phase::Pending, _) => return None,
        (Phase::Provisioning, _) if evaluation.plan.health.stage == Stage::Ready => return None,
        (Phase::Provisioning, _) => (false, EventReason::Provisioning),
        (Phase::Ready, "Expiring") => (true, EventReason::Expiring),
        (Phase::Ready, _) => (false, EventReason::ClusterReady),
        (Phase::Degraded, _) => (true, EventReason::ClusterDegraded),
        (Phase::Deprovisioning, _) if evaluation.plan.lifecycle.lifetime_ended => {
            (false, EventReason::Expired)
        }
        (Phase::Deprovisioning, _) => (false, EventReason::TearingDown),
        (Phase::Deprovisioned, _) => (false, EventReason::TornDown),
        (Phase::Failed, _) => match evaluation.plan.lifecycle.failure {
            Some(
                Failure::RemoteDeleted
                | Failure::RemoteReplaced
                | Failure::WriterLost
                | Failure::ClusterDeleted,
            ) => (true, EventReason::ClusterLost),
            _ if evaluation.plan.lifecycle.ever_ready => (true, EventReason::ClusterFailed),
            _ => (true, EventReason::ProvisioningFailed),
        },
    };
    Some(Event { warning: is_warning, reason: reason.as_str(), message: new.message.clone() })
}

fn job_event(evaluation: &ClusterEvaluation, new: &Condition) -> Option<Event> {
    let done = new.status == ConditionStatus::True && evaluation.plan.lifecycle.phase == Phase::Failed;
    // Only news when the failure was told before; in every other phase the phase itself is the news.
    let later = evaluation.observed.composite.status.phase == Some(Phase::Failed);
    (done && later).then(|| normal_event(EventReason::TornDown, "nothing is left that incurs cost"))
}

fn remote_event(old: Option<&ObservedCondition>, new: &Condition) -> Option<Event> {
    match new.status {
        ConditionStatus::False => Some(warning_event(EventReason::RemoteUnavailable, &new.message)),
        ConditionStatus::True => {
            old.filter(|o| o.is_false()).map(|_| normal_event(EventReason::RemoteAvailable, &new.message))
        }
        ConditionStatus::Unknown => None,
    }
}

fn normal_event(reason: EventReason, message: &str) -> Event {
    Event { warning: false, reason: reason.as_str(), message: message.to_owned() }
}

fn warning_event(reason: EventReason, message: &str) -> Event {
    Event { warning: true, reason: reason.as_str(), message: message.to_owned() }
}
