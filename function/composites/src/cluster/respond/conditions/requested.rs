//! `RequestAccepted`: whether the request can be served, and issues for its owner.

use testplatform_apis::{
    collect,
    condition::{Condition, ConditionStatus, ConditionType, Request},
    text::bounded,
};

use crate::cluster::{
    admission::{HIVE_ENDS_IT, HIVES_END},
    lifecycle::ClusterEvaluation,
    request::{AdmissionIssue, Block, Validated},
    respond::refusal::find_refusal,
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
            ("the hub was given a shorter one when the cluster was requested, and may end it after", hub)
        } else {
            return None;
        };
    let is_requested = !evaluation.observed.composite.spec["lifetime"].is_null();
    let what = if is_requested { "spec.lifetime" } else { "the default lifetime" };
    let text = format!("{what} is {}, but {whose} {}", lifetime.to_short_string(), end.to_short_string());
    Some(AdmissionIssue::new(Request::LifetimeBeyondHub, text))
}
