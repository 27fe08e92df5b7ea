//! `RequestAccepted`: whether the request can be served, and issues for its owner.

use testplatform_apis::{
    collect,
    condition::{Condition, ConditionStatus, ConditionType, Failure, Request},
    phase::Phase,
};

use crate::{
    cluster::{
        admission::{HIVE_ENDS_IT, HIVES_END},
        backends::Stage,
        lifecycle::ClusterEvaluation,
        request::{AdmissionIssue, Block, Validated},
    },
    objects::SyncState,
    sdk::composite::FieldProblem,
    text::bounded,
};

pub(super) fn accepted_condition(evaluation: &ClusterEvaluation) -> Condition {
    let refusal = find_refusal(evaluation);
    let status = if refusal.is_some() { ConditionStatus::False } else { ConditionStatus::True };
    let issues = refusal.map_or_else(|| collect_issues(evaluation), |r| vec![r]);
    let reason = issues.first().map_or(Request::Accepted, |r| r.reason);
    let message = match issues.as_slice() {
        [] => "the request was accepted".to_owned(),
        issues => issues.iter().map(|r| r.message.as_str()).collect::<Vec<_>>().join("; "),
    };
    Condition::new(ConditionType::RequestAccepted, status, reason.as_str(), bounded(&message, 2048))
}

/// Refusal of the request, if any.
pub(crate) fn find_refusal(evaluation: &ClusterEvaluation) -> Option<AdmissionIssue> {
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
        "the hub does not know the field {path}, which {} writes and not the claim; it goes on by itself once the administrators have corrected that or updated the hub",
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

fn collect_issues(evaluation: &ClusterEvaluation) -> Vec<AdmissionIssue> {
    let Ok(request) = &evaluation.plan.request else { return vec![] };
    let mut issues = request.issues.clone();
    if let Some(issue) = crate::cluster::respond::transfer::transfer_issue(evaluation) {
        issues.insert(0, issue);
    }
    if let Some(issue) = hub_lifetime_issue(evaluation, request) {
        issues.push(issue);
        collect::sort_few(&mut issues, |a, b| a.reason.cmp(&b.reason));
    }
    issues
}

/// Issue if the hub, or Hive, may end the cluster before its lifetime ends.
fn hub_lifetime_issue(evaluation: &ClusterEvaluation, request: &Validated) -> Option<AdmissionIssue> {
    let hub = evaluation.settings.hub_max_lifetime;
    let is_ci_operator = matches!(request.block, Block::CiOperator(_));
    let life = &request.lifetime;
    let lifetime = life.effective.filter(|_| is_ci_operator)?;
    let beyond = lifetime > hub;
    let (whose, end) =
        if beyond && evaluation.plan.lifecycle.ever_ready && evaluation.plan.health.revision.is_none() {
            // Without word from a hub-side controller that knows lifetimes, the hub ends clusters by itself.
            ("the hub's own controller ends a cluster after", hub)
        } else if request.block.before_hive().is_some_and(|before| lifetime > before) {
            // It was promised by a version that knew nothing of that.
            (HIVE_ENDS_IT, HIVES_END)
        } else if beyond && life.max.is_none() && !life.lost {
            // The timeout of its job was set at creation.
            ("when the cluster was asked for the hub was told of none as long, and may end it after", hub)
        } else {
            return None;
        };
    let is_requested = !evaluation.observed.composite.spec["lifetime"].is_null();
    let what = if is_requested { "spec.lifetime" } else { "the default lifetime" };
    let text = format!("{what} is {}, but {whose} {}", lifetime.to_short_string(), end.to_short_string());
    Some(AdmissionIssue::new(Request::LifetimeBeyondHub, text))
}

/// Every problem by field, the first ten in full.
fn join_problems(problems: &[FieldProblem]) -> String {
    let shown: Vec<String> =
        problems.iter().take(10).map(|p| format!("{}: {}", p.field, p.sentence)).collect();
    let more = problems.len().saturating_sub(shown.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}; create a new claim with that corrected", shown.join("; "))
}
