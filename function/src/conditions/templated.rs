//! The conditions that only claims with a template have: all of them, from the first response on, so that tools can wait for them.

use testplatform_apis::{
    condition::{
        Condition, ConditionStatus, ControlPlaneLevel, HubSelection, Infrastructure, NodesLevel, SetupLevel,
        SpecLevel, TearDown, TemplateConditionType,
    },
    hub::NoHub,
    phase::Phase,
};

use crate::{
    ClusterEvaluation,
    backend::{self, BackendCondition},
    templates::Resolution,
    text::bounded,
};

/// None, for other claims.
pub(super) fn template_conditions(judged: &ClusterEvaluation) -> Vec<Condition> {
    use TemplateConditionType as T;
    let spec = &judged.observed.composite.spec;
    let meant = match &judged.plan.request {
        Ok(request) => request.templated().is_some(),
        Err(_) => {
            ["ciOperator", "clusterClaim"].iter().all(|b| spec[b].is_null()) && !spec["template"].is_null()
        }
    };
    if !meant {
        return vec![];
    }
    let levels = &judged.plan.health.conditions;
    let unseen = "nothing was seen on the hub yet";
    let untold = "the hub does not tell";
    let mut all = vec![
        hub_selected(judged),
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
    all.extend(platform_credentials(judged));
    all.extend([spec_applied(judged), teardown_condition(judged)]);
    all
}

fn platform_credentials(judged: &ClusterEvaluation) -> Option<Condition> {
    let templated = judged.plan.request.as_ref().ok()?.templated()?;
    let level = backend::prerequisites::credential_condition(templated, &judged.observed)?;
    let type_ = TemplateConditionType::PlatformCredentialsValid;
    Some(Condition::of_template(type_, level.status, level.reason.to_string(), bounded(&level.message, 1024)))
}

fn hub_selected(judged: &ClusterEvaluation) -> Condition {
    let made = |status, reason: &str, words: &str| {
        Condition::of_template(TemplateConditionType::HubSelected, status, reason, bounded(words, 2048))
    };
    let request = judged.plan.request.as_ref().ok();
    // Named with the first thing that is asked of it.
    if let (Some(named), Some(site)) = (
        crate::status::hub_status_of(judged),
        request.and_then(|r| r.templated()).and_then(|t| t.placement.as_ref()),
    ) && named.name.as_deref() == Some(&site.hub)
    {
        return made(
            ConditionStatus::True,
            &site.reason,
            &format!("the cluster is made on hub {}", site.hub),
        );
    }
    let hold = judged.plan.blocked_by().filter(|_| !judged.plan.lifecycle.is_complete());
    let refused = hold.and_then(|hold| {
        let reason = NoHub::ALL.into_iter().find(|reason| reason.as_str() == hold.reason.as_str())?;
        // Of a version, the catalogue may have something to say too.
        (reason != NoHub::VersionUnsupported || request?.templated()?.effective.is_some()).then_some(hold)
    });
    match refused {
        Some(hold) => made(ConditionStatus::False, hold.reason.as_str(), &hold.message),
        None => made(ConditionStatus::Unknown, HubSelection::NotChosen.as_str(), "no hub was chosen yet"),
    }
}

/// Condition of the backend, else Unknown.
fn backend_condition<R: std::fmt::Display>(
    type_: TemplateConditionType,
    level: Option<&BackendCondition<R>>,
    otherwise: R,
    words: &str,
) -> Condition {
    match level {
        Some(level) => Condition::of_template(
            type_,
            level.status,
            level.reason.to_string(),
            bounded(&level.message, 1024),
        ),
        None => Condition::of_template(type_, ConditionStatus::Unknown, otherwise.to_string(), words),
    }
}

fn spec_applied(judged: &ClusterEvaluation) -> Condition {
    let made = |status, reason: SpecLevel, words: &str| {
        Condition::of_template(TemplateConditionType::SpecApplied, status, reason.as_str(), words)
    };
    let course = &judged.plan.lifecycle;
    let unknown = |words| made(ConditionStatus::Unknown, SpecLevel::NotObserved, words);
    if course.is_complete() {
        return unknown("there is no cluster, and none is asked for");
    }
    let stand = judged.plan.request.as_ref().ok().and_then(|r| r.templated()).map(|t| &t.resolution);
    match stand {
        Some(Resolution::Frozen { reason: SpecLevel::NotObserved, message }) => unknown(message),
        Some(Resolution::Frozen { reason, message }) => made(ConditionStatus::False, *reason, message),
        Some(Resolution::Resolved(_)) if judged.observed.primary.is_some() => backend_condition(
            TemplateConditionType::SpecApplied,
            judged.plan.health.conditions.spec.as_ref(),
            SpecLevel::NotObserved,
            "asked for; the hub has not said yet what it made of it",
        ),
        Some(Resolution::Resolved(_) | Resolution::Blocked) | None => {
            unknown("nothing was asked of the hub yet")
        }
    }
}

fn teardown_condition(judged: &ClusterEvaluation) -> Condition {
    let type_ = TemplateConditionType::TearDownComplete;
    let course = &judged.plan.lifecycle;
    if let Some(over) = &course.completion {
        let words = if over.words.is_empty() { "nothing is left that costs money" } else { &over.words };
        return Condition::of_template(type_, ConditionStatus::True, bounded(&over.reason, 256), words);
    }
    let ends = matches!(course.phase, Phase::Deprovisioning | Phase::Deprovisioned | Phase::Failed);
    let (reason, words) = match &judged.plan.health.teardown_failure {
        Some(why) if ends => {
            (TearDown::Blocked, format!("the hub cannot destroy it and goes on trying: {why}"))
        }
        None if ends => {
            let waits = judged.plan.health.teardown_waits_for.as_ref();
            let waits = waits.map(|what| format!("; it {what}")).unwrap_or_default();
            (TearDown::InProgress, format!("the cluster is being torn down{waits}"))
        }
        Some(_) | None => (TearDown::NotRequested, "nobody asked for the end".to_owned()),
    };
    Condition::of_template(type_, ConditionStatus::False, reason.as_str(), bounded(&words, 1024))
}
