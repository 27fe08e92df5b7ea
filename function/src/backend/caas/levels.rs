//! How far each part of the cluster is. What nodes it has CaaS does not tell.

use testplatform_apis::{
    condition::{ConditionStatus, ControlPlaneLevel, Infrastructure, SetupLevel, SpecLevel},
    foreign::caas::{conditions, phases},
    status::ProgressStatus,
};

use super::{Wanted, facts::Facts, trouble};
use crate::{
    backend::{
        BackendCondition, BackendConditions, conditions::progress_step, hypershift::Behind,
        templated::Trouble,
    },
    observed::{Observed, SyncState},
    templates::Templated,
};

pub(super) fn levels(
    facts: &Facts<'_>,
    templated: &Templated,
    observed: &Observed,
    grown: &[&Trouble],
) -> BackendConditions {
    let spec = Wanted::of(templated).map(|_| spec(facts, observed, grown));
    BackendConditions {
        infrastructure: infrastructure(facts),
        control_plane: control_plane(facts, observed.ever_ready()),
        setup: setup(facts),
        progress: Some(progress(facts)),
        ..BackendConditions::with_spec(spec, observed)
    }
}

fn infrastructure(facts: &Facts<'_>) -> Option<BackendCondition<Infrastructure>> {
    use ConditionStatus::{False, True};
    if let Some(told) = facts.behind.as_ref().and_then(Behind::infrastructure) {
        return Some(told);
    }
    let installed = facts.condition(conditions::INSTALLED)?;
    if installed.is_true() {
        return Some(BackendCondition::of(
            True,
            Infrastructure::Available,
            "what the cluster runs on is there",
        ));
    }
    let words = &installed.message;
    let reason = match () {
        () if trouble::of_a_quota(words) => Infrastructure::QuotaExceeded,
        () if facts.application_fails() => Infrastructure::Blocked,
        () => Infrastructure::Provisioning,
    };
    Some(BackendCondition::of(False, reason, words))
}

fn control_plane(facts: &Facts<'_>, ever_ready: bool) -> Option<BackendCondition<ControlPlaneLevel>> {
    use ConditionStatus::{False, True};
    if let Some(told) = facts.behind.as_ref().and_then(|behind| behind.control_plane(ever_ready)) {
        return Some(told);
    }
    let installed = facts.condition(conditions::INSTALLED)?;
    if facts.answers() {
        return Some(BackendCondition::of(True, ControlPlaneLevel::Available, "its API answers"));
    }
    let words = if installed.is_true() { "its API is not reached yet" } else { &installed.message };
    let reason = if ever_ready { ControlPlaneLevel::Unavailable } else { ControlPlaneLevel::Creating };
    Some(BackendCondition::of(False, reason, words))
}

/// What the template sets up begins once the cluster is there. Before that nothing is said of it.
fn setup(facts: &Facts<'_>) -> Option<BackendCondition<SetupLevel>> {
    use ConditionStatus::{False, True};
    let done = facts.condition(conditions::SET_UP)?;
    if done.is_true() {
        return Some(if done.reason == conditions::NOTHING_TO_SET_UP {
            BackendCondition::of(True, SetupLevel::NothingToApply, "the template sets up nothing more")
        } else {
            BackendCondition::of(True, SetupLevel::Applied, "what the template sets up is there")
        });
    }
    if !facts.is_true(conditions::INSTALLED) {
        return None;
    }
    Some(match facts.phase() {
        phases::SETUP_CREATE_FAILED | phases::SETUP_FAILED | phases::SETUP_DEGRADED => {
            BackendCondition::of(False, SetupLevel::SetupFailed, trouble::words(facts))
        }
        _ => BackendCondition::of(False, SetupLevel::Running, &*facts.status.message),
    })
}

/// Whether the cluster is what the claim asks for now: nothing of it can change.
fn spec(facts: &Facts<'_>, observed: &Observed, grown: &[&Trouble]) -> BackendCondition<SpecLevel> {
    use ConditionStatus::{False, True};
    let link = observed.primary.as_ref().map(|w| &w.sync);
    if let Some(SyncState::Refused(words)) = link {
        return BackendCondition::refused("it", words);
    }
    if let Some(wrong) = grown.first() {
        return BackendCondition::of(False, SpecLevel::Rejected, wrong.said());
    }
    if !facts.is_true(conditions::INSTALLED) && !observed.ever_ready() {
        return BackendCondition::of(False, SpecLevel::Applying, "the cluster is being made");
    }
    match link {
        Some(SyncState::InSync) => {
            BackendCondition::of(True, SpecLevel::UpToDate, "the cluster is what the claim asks for")
        }
        _ => BackendCondition::of(False, SpecLevel::Applying, "the hub has not answered yet"),
    }
}

fn progress(facts: &Facts<'_>) -> ProgressStatus {
    if facts.remote.metadata.deletion_timestamp.is_some() {
        return progress_step("Deleting", "it is being taken down");
    }
    let (phase, installed) = (facts.phase(), facts.is_true(conditions::INSTALLED));
    if phase.is_empty() {
        return progress_step("Requested", "CaaS has not looked at the ClusterTemplateInstance yet");
    }
    match &facts.behind {
        // Until it is there, it knows better what is waited for.
        Some(behind) if !installed || !behind.answers() => behind.progress(),
        _ if phase == phases::READY && !installed => progress_step(
            "Installing",
            facts.condition(conditions::INSTALLED).map_or("", |c| c.message.as_str()),
        ),
        _ if phase == phases::READY => progress_step("Running", "the cluster runs"),
        _ => progress_step(phase, trouble::words(facts)),
    }
}
