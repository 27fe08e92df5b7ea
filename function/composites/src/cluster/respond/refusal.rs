//! The refusal of a request, with its reason for the owner.

use testplatform_apis::{
    condition::{ConditionType, Failure, Request},
    phase::Phase,
};

use crate::{
    cluster::{
        backends::Stage,
        lifecycle::ClusterEvaluation,
        request::{AdmissionIssue, Validated},
    },
    objects::SyncState,
    sdk::composite::FieldProblem,
};

/// Refusal of the request, if any.
pub(super) fn find_refusal(evaluation: &ClusterEvaluation) -> Option<AdmissionIssue> {
    let plan = &evaluation.plan;
    let request = match &plan.request {
        Ok(request) => request,
        Err(problems) => return Some(AdmissionIssue::new(Request::InvalidClaim, join_problems(problems))),
    };
    if let Stage::Refused { message, .. } = &plan.health.stage {
        return Some(AdmissionIssue::new(
            Request::HubRefused,
            format!("the hub refused the request: {message}"),
        ));
    }
    let sync = evaluation.observed.primary.as_ref().map(|w| &w.sync);
    let waits = matches!(plan.lifecycle.phase, Phase::Pending | Phase::Provisioning);
    match (plan.lifecycle.failure, sync) {
        (Some(Failure::UnknownField), Some(SyncState::UnknownField(path))) => Some(AdmissionIssue::new(
            Request::UnknownField,
            format!("the hub does not know the field {path}; remove it in a new claim"),
        )),
        (Some(Failure::UnknownField), _) => Some(shown_before(
            evaluation,
            Request::UnknownField,
            "the hub does not know a field of the request; remove it in a new claim",
        )),
        (Some(Failure::HubRefused), _) => {
            Some(shown_before(evaluation, Request::HubRefused, "the hub refused the request"))
        }
        _ if plan.lifecycle.phase == Phase::Failed && evaluation.observed.was_never_requested() => {
            timed_out_refusal(evaluation)
        }
        // A resolvable refusal counts only while nothing was requested from the hub.
        _ if evaluation.plan.lifecycle.is_complete() => None,
        _ if evaluation.observed.primary.is_none() => request.blocked_by.clone(),
        _ if waits => undeclared_field_issue(request, evaluation).or_else(|| plan.health.blocked_by.clone()),
        _ => None,
    }
}

/// Issue if an unknown field outside the tenant's control prevents the remote object.
fn undeclared_field_issue(request: &Validated, evaluation: &ClusterEvaluation) -> Option<AdmissionIssue> {
    let primary = evaluation.observed.primary.as_ref().filter(|primary| primary.remote_uid().is_none())?;
    let SyncState::UnknownField(path) = &primary.sync else { return None };
    let message = format!(
        "the hub does not know the field {path}, which {} writes and not the claim; the claim continues once an administrator has \
        corrected that or updated the hub",
        request.author_name()
    );
    Some(AdmissionIssue::new(Request::FieldNotDeclared, message))
}

/// Reason for which the claim waited until its timeout without a request to the hub. It is final then, though the cause may be resolved
/// since.
fn timed_out_refusal(evaluation: &ClusterEvaluation) -> Option<AdmissionIssue> {
    let shown = evaluation.observed.composite.shown(ConditionType::RequestAccepted);
    let before = || {
        let shown = shown.filter(|c| c.is_false())?;
        Some(AdmissionIssue::new(Request::parse(&shown.reason)?, shown.message.as_str()))
    };
    // Core forgets shown conditions when a pass fails. The current blocker is then the same as before.
    let timely =
        matches!(evaluation.plan.lifecycle.failure, Some(Failure::ProvisionTimeout | Failure::Earlier));
    before().or_else(|| evaluation.plan.blocked_by().filter(|_| timely).cloned())
}

/// Last message that was shown for a reason, as long as it is remembered.
fn shown_before(evaluation: &ClusterEvaluation, reason: Request, otherwise: &str) -> AdmissionIssue {
    let shown = evaluation.observed.composite.shown(ConditionType::RequestAccepted);
    let before = shown.filter(|c| c.reason == reason.as_str() && !c.message.is_empty());
    AdmissionIssue::new(reason, before.map_or(otherwise, |c| c.message.as_str()))
}

/// Every problem by field, the first ten in full.
fn join_problems(problems: &[FieldProblem]) -> String {
    let shown: Vec<String> =
        problems.iter().take(10).map(|p| format!("{}: {}", p.field, p.sentence)).collect();
    let more = problems.len().saturating_sub(shown.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}; create a new claim with that corrected", shown.join("; "))
}
