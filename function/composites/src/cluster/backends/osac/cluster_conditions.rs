//! Conditions of each part of the cluster.

use testplatform_apis::{
    condition::{ConditionStatus, ControlPlaneLevel, Infrastructure, NodesLevel, SetupLevel, SpecLevel},
    foreign::osac::{Job, MANAGEMENT_STATE, conditions},
    status::{NodesStatus, ProgressStatus},
};

use super::{OsacRequest, facts::OrderFacts, failures::job_message, order};
use crate::{
    cluster::{
        backends::{
            BackendCondition, BackendConditions,
            common::{conditions::progress_step, templated::FailureCondition},
            hosted_cluster::{cluster_conditions as hosted_conditions, completed_update},
        },
        observed::Observed,
    },
    objects::SyncState,
};

pub(super) fn build_conditions(
    facts: &OrderFacts<'_>,
    wanted: Option<OsacRequest<'_>>,
    observed: &Observed,
    persistent: &[&FailureCondition],
) -> BackendConditions {
    let ever_ready = observed.ever_ready();
    let spec = wanted.map(|wanted| spec_condition(facts, wanted, observed, persistent));
    BackendConditions {
        infrastructure: infrastructure_condition(facts),
        control_plane: control_plane_condition(facts, ever_ready),
        nodes_ready: nodes_ready_condition(facts, ever_ready),
        setup: setup_condition(facts, ever_ready),
        nodes: nodes_status(facts),
        progress: Some(read_progress(facts)),
        ..BackendConditions::with_spec(spec, observed)
    }
}

fn infrastructure_condition(facts: &OrderFacts<'_>) -> Option<BackendCondition<Infrastructure>> {
    use ConditionStatus::{False, True};
    if let Some(reported) = facts.hosted.as_ref().and_then(hosted_conditions::infrastructure_condition) {
        return Some(reported);
    }
    if facts.is_true(conditions::CONTROL_PLANE_AVAILABLE) {
        return Some(BackendCondition::of(
            True,
            Infrastructure::Available,
            "the infrastructure of the control plane is ready",
        ));
    }
    let message = facts.provision_job().map_or_else(|| "waiting for a job to start".to_owned(), job_message);
    facts.has_started().then(|| BackendCondition::of(False, Infrastructure::Provisioning, message))
}

fn control_plane_condition(
    facts: &OrderFacts<'_>,
    ever_ready: bool,
) -> Option<BackendCondition<ControlPlaneLevel>> {
    use ConditionStatus::{False, True};
    let reported =
        facts.hosted.as_ref().and_then(|h| hosted_conditions::control_plane_condition(h, ever_ready));
    if reported.is_some() {
        return reported;
    }
    if facts.api_answers() {
        return Some(BackendCondition::of(True, ControlPlaneLevel::Available, "its API server answered"));
    }
    let made = facts.is_true(conditions::CONTROL_PLANE_CREATED);
    let message = if made { "its API server does not answer yet" } else { "it is not being created yet" };
    let reason = if ever_ready { ControlPlaneLevel::Unavailable } else { ControlPlaneLevel::Creating };
    facts.has_started().then(|| BackendCondition::of(False, reason, message))
}

/// None, while no NodePool is seen: how many nodes there are the order does not say.
fn nodes_ready_condition(facts: &OrderFacts<'_>, ever_ready: bool) -> Option<BackendCondition<NodesLevel>> {
    let hosted = facts.hosted.as_ref()?;
    let is_reported = hosted.pools.iter().any(|pool| pool.node_pool.is_some() || pool.reported.is_some());
    is_reported.then(|| hosted_conditions::nodes_ready_condition(hosted, ever_ready))
}

fn nodes_status(facts: &OrderFacts<'_>) -> Option<NodesStatus> {
    if let Some(hosted) = facts.hosted.as_ref().filter(|hosted| !hosted.pools.is_empty()) {
        return Some(hosted_conditions::nodes_status(hosted));
    }
    let requests = facts.requested_spec.get("nodeRequests")?.as_array()?;
    let desired = requests.iter().map(|request| request["numberOfNodes"].as_i64()).sum();
    Some(NodesStatus { desired, ..NodesStatus::default() })
}

/// Condition of the template's automation. A later job takes nothing from a cluster that was ready.
fn setup_condition(facts: &OrderFacts<'_>, ever_ready: bool) -> Option<BackendCondition<SetupLevel>> {
    use ConditionStatus::{False, True};
    if facts.is_set_up() || (ever_ready && facts.status.phase == "Ready") {
        return Some(BackendCondition::of(True, SetupLevel::Applied, "the automation has finished"));
    }
    match facts.provision_job() {
        Some(job) if job.has_failed() => {
            Some(BackendCondition::of(False, SetupLevel::JobFailed, job_message(job)))
        }
        Some(job) => Some(BackendCondition::of(False, SetupLevel::Running, job_progress(facts, job))),
        None => facts
            .has_started()
            .then(|| BackendCondition::of(False, SetupLevel::Running, "waiting for a job to start")),
    }
}

/// How the job does that is waited for.
fn job_progress(facts: &OrderFacts<'_>, job: &Job) -> String {
    if job.is_done() && !facts.is_current(job) {
        "waiting for another job".to_owned()
    } else {
        job_message(job)
    }
}

/// Whether the cluster matches the claim now.
fn spec_condition(
    facts: &OrderFacts<'_>,
    wanted: OsacRequest<'_>,
    observed: &Observed,
    persistent: &[&FailureCondition],
) -> BackendCondition<SpecLevel> {
    let not = |reason, message: String| BackendCondition::of(ConditionStatus::False, reason, message);
    let applying = |message: &str| not(SpecLevel::Applying, message.to_owned());
    let primary = observed.primary.as_ref();
    let sync = primary.map(|w| &w.sync);
    if let Some(SyncState::Refused(message)) = sync {
        return BackendCondition::refused("it", message);
    }
    if let Some(wrong) = persistent.first() {
        return not(SpecLevel::Rejected, wrong.text());
    }
    if order::defers_change(observed, wanted) {
        return not(SpecLevel::Queued, "it is requested after the running job has ended".into());
    }
    let is_requested =
        primary.is_some_and(|w| w.manifest()["spec"].as_object() == Some(&facts.requested_spec));
    let applied = facts.requested_spec.iter().all(|(member, value)| facts.remote.spec[member] == *value);
    let stale = |observed_remote: i64| observed_remote < facts.remote.metadata.generation;
    let old = facts.status.conditions.iter().filter_map(|c| c.observed_generation).max().is_some_and(stale);
    if !is_requested || !applied || old {
        return applying("the hub has not started on the change yet");
    }
    let by_hand = facts.remote.metadata.annotation(MANAGEMENT_STATE);
    match facts.provision_job() {
        Some(job) if !facts.is_current(job) && by_hand.is_some() => {
            return not(SpecLevel::Queued, "OSAC is configured to run no job for it".into());
        }
        Some(job) if !facts.is_current(job) => {
            return applying("the job for the last change has not started");
        }
        Some(job) if job.has_failed() => return not(SpecLevel::JobFailed, job_message(job)),
        Some(job) if !job.is_done() => return applying(&job_message(job)),
        None if facts.status.phase != "Ready" => return applying("no job has started"),
        Some(_) | None => {}
    }
    if let Some(version) = awaited_version(facts, wanted) {
        return applying(&format!("version {version} is being rolled out"));
    }
    let pools = facts.hosted.iter().flat_map(|hosted| &hosted.pools);
    let other = |count: i64, requested: Option<i64>| requested.is_some_and(|requested| requested != count);
    let resizes = pools.into_iter().find(|pool| {
        facts.hub_size(pool).is_some_and(|observed_remote| other(observed_remote, pool.desired))
    });
    match (resizes, sync) {
        (Some(pool), _) => applying(&format!("node group {} is being resized", pool.name)),
        (None, Some(SyncState::InSync)) => {
            BackendCondition::of(ConditionStatus::True, SpecLevel::UpToDate, "the cluster matches the claim")
        }
        (None, _) => applying("the hub has not answered yet"),
    }
}

/// The version that the cluster does not have yet. Its job has ended by then: it hands the release on. Where OSAC's template changes none,
/// what is there is what was asked for.
fn awaited_version(facts: &OrderFacts<'_>, wanted: OsacRequest<'_>) -> Option<String> {
    let hosted = facts.hosted.as_ref().filter(|hosted| hosted.requests_nodes())?;
    let version = wanted.spec.release.version.as_ref().filter(|_| wanted.backend_spec.base.upgradeable)?;
    let version = version.to_string();
    let has = completed_update(hosted.status).is_some_and(|there| there.version == version);
    (!has).then_some(version)
}

fn read_progress(facts: &OrderFacts<'_>) -> ProgressStatus {
    let metadata = &facts.remote.metadata;
    if metadata.deletion_timestamp.is_some() {
        let message = facts.deprovision_job().map_or_else(|| "it is being torn down".to_owned(), job_message);
        return progress_step("Deleting", message);
    }
    match metadata.annotation(MANAGEMENT_STATE) {
        Some("unmanaged") => {
            return progress_step("Unmanaged", "OSAC is configured to ignore the order");
        }
        Some("manual") if !facts.is_up() => {
            return progress_step("Manual", "OSAC is configured to run no job for the order");
        }
        Some(_) | None => {}
    }
    if !facts.has_started() {
        return progress_step("Requested", "OSAC has not processed the ClusterOrder yet");
    }
    let job = facts.provision_job();
    if let Some(job) = job.filter(|job| job.has_failed() && facts.status.phase == "Failed") {
        return progress_step("JobFailed", job_message(job));
    }
    if !facts.is_true(conditions::NAMESPACE_CREATED) && facts.hosted.is_none() {
        return progress_step(
            "Job",
            job.map_or_else(|| "waiting for a job to start".to_owned(), job_message),
        );
    }
    if !facts.is_true(conditions::CONTROL_PLANE_CREATED) && facts.hosted.is_none() {
        return progress_step("Namespace", "its namespace exists; the control plane is being requested");
    }
    if !facts.api_answers() {
        let component = facts.hosted.as_ref().and_then(hosted_conditions::missing_component);
        let component = component.map(|c| format!(", waiting for {c}")).unwrap_or_default();
        return progress_step("ControlPlane", format!("the control plane is being created{component}"));
    }
    if let Some(pool) = facts.incomplete_group() {
        return progress_step("Nodes", hosted_conditions::group_message(pool));
    }
    if facts.status.phase == "Ready" && !facts.is_true(conditions::CLUSTER_AVAILABLE) {
        return progress_step("Cluster", "the automation has finished; waiting for the cluster");
    }
    let busy = |job: &&Job| !job.is_done() || !facts.is_set_up();
    match job.filter(busy) {
        Some(job) if job.has_failed() => progress_step("JobFailed", job_message(job)),
        Some(job) => progress_step("Job", job_progress(facts, job)),
        None => progress_step("Running", "the cluster runs"),
    }
}
