//! Conditions of each part of the cluster. CaaS does not report nodes.

use testplatform_apis::{
    condition::{ConditionStatus, ControlPlaneLevel, Infrastructure, SetupLevel, SpecLevel},
    foreign::caas::{conditions, phases},
    status::ProgressStatus,
};

use super::{CaasRequest, facts::InstanceFacts, failures};
use crate::{
    cluster::{
        backends::{
            BackendCondition, BackendConditions,
            common::{
                conditions::progress_step,
                templated::{FailureCondition, is_quota_error},
            },
            hosted_cluster::UnderlyingCluster,
        },
        observed::Observed,
        request::Templated,
    },
    objects::SyncState,
};

pub(super) fn build_conditions(
    facts: &InstanceFacts<'_>,
    templated: &Templated,
    observed: &Observed,
    persistent: &[&FailureCondition],
) -> BackendConditions {
    let spec = CaasRequest::from_templated(templated).map(|_| spec_condition(facts, observed, persistent));
    BackendConditions {
        infrastructure: infrastructure_condition(facts),
        control_plane: control_plane_condition(facts, observed.ever_ready()),
        setup: setup_condition(facts),
        progress: Some(read_progress(facts)),
        ..BackendConditions::with_spec(spec, observed)
    }
}

fn infrastructure_condition(facts: &InstanceFacts<'_>) -> Option<BackendCondition<Infrastructure>> {
    use ConditionStatus::{False, True};
    if let Some(reported) =
        facts.hosted_cluster.as_ref().and_then(UnderlyingCluster::infrastructure_condition)
    {
        return Some(reported);
    }
    let installed = facts.condition(conditions::INSTALLED)?;
    if installed.is_true() {
        return Some(BackendCondition::of(
            True,
            Infrastructure::Available,
            "the infrastructure of the cluster is ready",
        ));
    }
    let message = &installed.message;
    let reason = match () {
        () if is_quota_error(message) => Infrastructure::QuotaExceeded,
        () if facts.has_application_failed() => Infrastructure::Blocked,
        () => Infrastructure::Provisioning,
    };
    Some(BackendCondition::of(False, reason, message))
}

fn control_plane_condition(
    facts: &InstanceFacts<'_>,
    ever_ready: bool,
) -> Option<BackendCondition<ControlPlaneLevel>> {
    use ConditionStatus::{False, True};
    if let Some(reported) =
        facts.hosted_cluster.as_ref().and_then(|behind| behind.control_plane_condition(ever_ready))
    {
        return Some(reported);
    }
    let installed = facts.condition(conditions::INSTALLED)?;
    if facts.api_answers() {
        return Some(BackendCondition::of(True, ControlPlaneLevel::Available, "its API server answers"));
    }
    let message =
        if installed.is_true() { "its API server is not reachable yet" } else { &installed.message };
    let reason = if ever_ready { ControlPlaneLevel::Unavailable } else { ControlPlaneLevel::Creating };
    Some(BackendCondition::of(False, reason, message))
}

/// The template's setup begins once the cluster exists; before that no condition is reported.
fn setup_condition(facts: &InstanceFacts<'_>) -> Option<BackendCondition<SetupLevel>> {
    use ConditionStatus::{False, True};
    let done = facts.condition(conditions::SET_UP)?;
    if done.is_true() {
        return Some(if done.reason == conditions::NOTHING_TO_SET_UP {
            BackendCondition::of(True, SetupLevel::NothingToApply, "the template has no bundles")
        } else {
            BackendCondition::of(True, SetupLevel::Applied, "the bundles of the template are ready")
        });
    }
    if !facts.is_true(conditions::INSTALLED) {
        return None;
    }
    Some(match facts.phase() {
        phases::SETUP_CREATE_FAILED | phases::SETUP_FAILED | phases::SETUP_DEGRADED => {
            BackendCondition::of(False, SetupLevel::SetupFailed, failures::failure_message(facts))
        }
        _ => BackendCondition::of(False, SetupLevel::Running, &*facts.status.message),
    })
}

/// Whether the cluster matches the claim now: nothing of it can change.
fn spec_condition(
    facts: &InstanceFacts<'_>,
    observed: &Observed,
    persistent: &[&FailureCondition],
) -> BackendCondition<SpecLevel> {
    use ConditionStatus::{False, True};
    let sync = observed.primary.as_ref().map(|w| &w.sync);
    if let Some(SyncState::Refused(message)) = sync {
        return BackendCondition::refused("it", message);
    }
    if let Some(wrong) = persistent.first() {
        return BackendCondition::of(False, SpecLevel::Rejected, wrong.text());
    }
    if !facts.is_true(conditions::INSTALLED) && !observed.ever_ready() {
        return BackendCondition::of(False, SpecLevel::Applying, "the cluster is being created");
    }
    match sync {
        Some(SyncState::InSync) => {
            BackendCondition::of(True, SpecLevel::UpToDate, "the cluster matches the claim")
        }
        _ => BackendCondition::of(False, SpecLevel::Applying, "the hub has not answered yet"),
    }
}

fn read_progress(facts: &InstanceFacts<'_>) -> ProgressStatus {
    if facts.remote.metadata.deletion_timestamp.is_some() {
        return progress_step("Deleting", "it is being torn down");
    }
    let (phase, installed) = (facts.phase(), facts.is_true(conditions::INSTALLED));
    if phase.is_empty() {
        return progress_step("Requested", "CaaS has not processed the ClusterTemplateInstance yet");
    }
    match &facts.hosted_cluster {
        // Until it is there, it knows better what is waited for.
        Some(behind) if !installed || !behind.api_answers() => behind.progress(),
        _ if phase == phases::READY && !installed => progress_step(
            "Installing",
            facts.condition(conditions::INSTALLED).map_or("", |c| c.message.as_str()),
        ),
        _ if phase == phases::READY => progress_step("Running", "the cluster runs"),
        _ => progress_step(phase, failures::failure_message(facts)),
    }
}
