//! Conditions that only claims with a template have. The first response contains all of them, so that tools can wait for them.

use testplatform_apis::{
    condition::{
        Condition, ConditionStatus, ControlPlaneLevel, HubSelection, Infrastructure, NodesLevel, SetupLevel,
        SpecLevel, TearDown, TemplateConditionType,
    },
    hub::NoHub,
    phase::Phase,
    text::bounded,
};

use crate::cluster::{
    backends::{self, BackendCondition},
    lifecycle::ClusterEvaluation,
    request::Resolution,
};

/// None, for other claims.
pub(super) fn template_conditions(evaluation: &ClusterEvaluation) -> Vec<Condition> {
    use TemplateConditionType as T;
    let spec = &evaluation.observed.composite.spec;
    let is_templated = match &evaluation.plan.request {
        Ok(request) => request.templated().is_some(),
        Err(_) => {
            ["ciOperator", "clusterClaim"].iter().all(|b| spec[b].is_null()) && !spec["template"].is_null()
        }
    };
    if !is_templated {
        return vec![];
    }
    let levels = &evaluation.plan.health.conditions;
    let unseen = "the hub has not reported a status yet";
    let untold = "the hub does not report this";
    let mut all = vec![
        hub_selected(evaluation),
        backend_condition(
            T::InfrastructureReady,
            levels.infrastructure.as_ref(),
            Infrastructure::NotObserved,
            unseen,
        ),
        backend_condition(
            T::ControlPlaneAvailable,
            levels.control_plane.as_ref(),
            ControlPlaneLevel::NotObserved,
            unseen,
        ),
        backend_condition(T::NodesReady, levels.nodes_ready.as_ref(), NodesLevel::NotReported, untold),
        backend_condition(T::TemplateApplied, levels.setup.as_ref(), SetupLevel::NotReported, untold),
    ];
    all.extend(platform_credentials(evaluation));
    all.extend([spec_applied(evaluation), teardown_condition(evaluation)]);
    all
}

fn platform_credentials(evaluation: &ClusterEvaluation) -> Option<Condition> {
    let templated = evaluation.plan.request.as_ref().ok()?.templated()?;
    let ended = matches!(evaluation.plan.lifecycle.phase, Phase::Deprovisioned | Phase::Failed);
    let level =
        backends::common::prerequisites::credential_condition(templated, &evaluation.observed, ended)?;
    let type_ = TemplateConditionType::PlatformCredentialsValid;
    Some(Condition::of_template(type_, level.status, level.reason.to_string(), bounded(&level.message, 1024)))
}

fn hub_selected(evaluation: &ClusterEvaluation) -> Condition {
    let made = |status, reason: &str, message: &str| {
        Condition::of_template(TemplateConditionType::HubSelected, status, reason, bounded(message, 2048))
    };
    let request = evaluation.plan.request.as_ref().ok();
    // Named with the first thing that is asked of it.
    if let (Some(named), Some(placement)) = (
        crate::cluster::respond::status::hub_status_of(evaluation),
        request.and_then(|r| r.templated()).and_then(|t| t.placement.as_ref()),
    ) && named.name.as_deref() == Some(&placement.hub)
    {
        return made(
            ConditionStatus::True,
            &placement.reason,
            &format!("the cluster is placed on hub {}", placement.hub),
        );
    }
    let blocker = evaluation.plan.blocked_by().filter(|_| !evaluation.plan.lifecycle.is_complete());
    let refused = blocker.and_then(|blocker| {
        let reason = NoHub::ALL.into_iter().find(|reason| reason.as_str() == blocker.reason.as_str())?;
        // For a version, the catalogue may report an issue as well.
        (reason != NoHub::VersionUnsupported || request?.templated()?.effective.is_some()).then_some(blocker)
    });
    match refused {
        Some(blocker) => made(ConditionStatus::False, blocker.reason.as_str(), &blocker.message),
        None => made(ConditionStatus::Unknown, HubSelection::NotChosen.as_str(), "no hub was chosen yet"),
    }
}

/// Condition of the backend, else Unknown.
fn backend_condition<R: std::fmt::Display>(
    type_: TemplateConditionType,
    level: Option<&BackendCondition<R>>,
    otherwise: R,
    message: &str,
) -> Condition {
    match level {
        Some(level) => Condition::of_template(
            type_,
            level.status,
            level.reason.to_string(),
            bounded(&level.message, 1024),
        ),
        None => Condition::of_template(type_, ConditionStatus::Unknown, otherwise.to_string(), message),
    }
}

fn spec_applied(evaluation: &ClusterEvaluation) -> Condition {
    let made = |status, reason: SpecLevel, words: &str| {
        Condition::of_template(TemplateConditionType::SpecApplied, status, reason.as_str(), words)
    };
    let lifecycle = &evaluation.plan.lifecycle;
    let unknown = |words| made(ConditionStatus::Unknown, SpecLevel::NotObserved, words);
    if lifecycle.is_complete() {
        return unknown("there is no cluster, and none is requested");
    }
    let resolution = evaluation.plan.request.as_ref().ok().and_then(|r| r.templated()).map(|t| &t.resolution);
    match resolution {
        Some(Resolution::Frozen { reason: SpecLevel::NotObserved, message }) => unknown(message),
        Some(Resolution::Frozen { reason, message }) => made(ConditionStatus::False, *reason, message),
        Some(Resolution::Resolved(_)) if evaluation.observed.primary.is_some() => backend_condition(
            TemplateConditionType::SpecApplied,
            evaluation.plan.health.conditions.spec.as_ref(),
            SpecLevel::NotObserved,
            "requested; waiting for the hub to admit the request",
        ),
        Some(Resolution::Resolved(_) | Resolution::Blocked) | None => {
            unknown("no request has been sent to the hub yet")
        }
    }
}

fn teardown_condition(evaluation: &ClusterEvaluation) -> Condition {
    let type_ = TemplateConditionType::TearDownComplete;
    let lifecycle = &evaluation.plan.lifecycle;
    if let Some(over) = &lifecycle.completion {
        let message =
            if over.message.is_empty() { "nothing is left that incurs cost" } else { &over.message };
        return Condition::of_template(type_, ConditionStatus::True, bounded(&over.reason, 256), message);
    }
    let ends = matches!(lifecycle.phase, Phase::Deprovisioning | Phase::Deprovisioned | Phase::Failed);
    let (reason, message) = match &evaluation.plan.health.teardown_failure {
        Some(why) if ends => (TearDown::Blocked, format!("the hub cannot destroy it and retries: {why}")),
        None if ends => {
            let waits = evaluation.plan.health.teardown_waits_for.as_ref();
            let waits = waits.map(|what| format!("; it {what}")).unwrap_or_default();
            (TearDown::InProgress, format!("the cluster is being torn down{waits}"))
        }
        Some(_) | None => (TearDown::NotRequested, "teardown was not requested".to_owned()),
    };
    Condition::of_template(type_, ConditionStatus::False, reason.as_str(), bounded(&message, 1024))
}
