//! How far each part of the cluster is.

use testplatform_apis::{
    condition::{ConditionStatus, ControlPlaneLevel, Infrastructure, NodesLevel, SetupLevel, SpecLevel},
    foreign::osac::{Job, MANAGEMENT_STATE, conditions},
    status::{NodesStatus, ProgressStatus},
};

use super::{Wanted, facts::Facts, order, trouble::words};
use crate::{
    backend::{
        BackendCondition, BackendConditions, conditions::progress_step, hypershift, templated::Trouble,
    },
    observed::{Observed, SyncState},
};

pub(super) fn levels(
    facts: &Facts<'_>,
    wanted: Option<Wanted<'_>>,
    observed: &Observed,
    grown: &[&Trouble],
) -> BackendConditions {
    let ever_ready = observed.ever_ready();
    let spec = wanted.map(|wanted| spec(facts, wanted, observed, grown));
    BackendConditions {
        infrastructure: infrastructure(facts),
        control_plane: control_plane(facts, ever_ready),
        nodes_ready: nodes_ready(facts, ever_ready),
        setup: setup(facts, ever_ready),
        nodes: nodes(facts),
        progress: Some(progress(facts)),
        ..BackendConditions::with_spec(spec, observed)
    }
}

fn infrastructure(facts: &Facts<'_>) -> Option<BackendCondition<Infrastructure>> {
    use ConditionStatus::{False, True};
    if let Some(told) = facts.hosted.as_ref().and_then(hypershift::levels::infrastructure) {
        return Some(told);
    }
    if facts.is_true(conditions::CONTROL_PLANE_AVAILABLE) {
        return Some(BackendCondition::of(
            True,
            Infrastructure::Available,
            "what the control plane runs on is there",
        ));
    }
    let said = facts.job().map_or_else(|| "it waits for a job".to_owned(), words);
    facts.begun().then(|| BackendCondition::of(False, Infrastructure::Provisioning, said))
}

fn control_plane(facts: &Facts<'_>, ever_ready: bool) -> Option<BackendCondition<ControlPlaneLevel>> {
    use ConditionStatus::{False, True};
    let told = facts.hosted.as_ref().and_then(|h| hypershift::levels::control_plane(h, ever_ready));
    if told.is_some() {
        return told;
    }
    if facts.answers() {
        return Some(BackendCondition::of(True, ControlPlaneLevel::Available, "its API answered"));
    }
    let made = facts.is_true(conditions::CONTROL_PLANE_CREATED);
    let said = if made { "its API does not answer yet" } else { "it is not being made yet" };
    let reason = if ever_ready { ControlPlaneLevel::Unavailable } else { ControlPlaneLevel::Creating };
    facts.begun().then(|| BackendCondition::of(False, reason, said))
}

/// None, while no NodePool is seen: how many nodes there are the order does not say.
fn nodes_ready(facts: &Facts<'_>, ever_ready: bool) -> Option<BackendCondition<NodesLevel>> {
    let hosted = facts.hosted.as_ref()?;
    let seen = hosted.pools.iter().any(|pool| pool.part.is_some() || pool.reported.is_some());
    seen.then(|| hypershift::levels::nodes_ready(hosted, ever_ready))
}

fn nodes(facts: &Facts<'_>) -> Option<NodesStatus> {
    if let Some(hosted) = facts.hosted.as_ref().filter(|hosted| !hosted.pools.is_empty()) {
        return Some(hypershift::levels::nodes(hosted));
    }
    let asked = facts.asked.get("nodeRequests")?.as_array()?;
    let desired = asked.iter().map(|request| request["numberOfNodes"].as_i64()).sum();
    Some(NodesStatus { desired, ..NodesStatus::default() })
}

/// What the automation makes of the template. Of a cluster that was ready a later job takes nothing away.
fn setup(facts: &Facts<'_>, ever_ready: bool) -> Option<BackendCondition<SetupLevel>> {
    use ConditionStatus::{False, True};
    if facts.is_set_up() || (ever_ready && facts.status.phase == "Ready") {
        return Some(BackendCondition::of(True, SetupLevel::Applied, "the automation has done its work"));
    }
    match facts.job() {
        Some(job) if job.has_failed() => Some(BackendCondition::of(False, SetupLevel::JobFailed, words(job))),
        Some(job) => Some(BackendCondition::of(False, SetupLevel::Running, at_work(facts, job))),
        None => facts.begun().then(|| BackendCondition::of(False, SetupLevel::Running, "it waits for a job")),
    }
}

/// How the job does that is waited for.
fn at_work(facts: &Facts<'_>, job: &Job) -> String {
    if job.is_done() && !facts.is_current(job) { "another job is awaited".to_owned() } else { words(job) }
}

/// Whether the cluster is what the claim asks for now.
fn spec(
    facts: &Facts<'_>,
    wanted: Wanted<'_>,
    observed: &Observed,
    grown: &[&Trouble],
) -> BackendCondition<SpecLevel> {
    let not = |reason, words: String| BackendCondition::of(ConditionStatus::False, reason, words);
    let applying = |words: &str| not(SpecLevel::Applying, words.to_owned());
    let writer = observed.primary.as_ref();
    let link = writer.map(|w| &w.sync);
    if let Some(SyncState::Refused(words)) = link {
        return BackendCondition::refused("it", words);
    }
    if let Some(wrong) = grown.first() {
        return not(SpecLevel::Rejected, wrong.said());
    }
    if order::holds_back(observed, wanted) {
        return not(SpecLevel::Queued, "it is asked for once the job that runs has ended".into());
    }
    let is_asked = writer.is_some_and(|w| w.manifest()["spec"].as_object() == Some(&facts.asked));
    let taken = facts.asked.iter().all(|(member, value)| facts.remote.spec[member] == *value);
    let stale = |seen: i64| seen < facts.remote.metadata.generation;
    let old = facts.status.conditions.iter().filter_map(|c| c.observed_generation).max().is_some_and(stale);
    if !is_asked || !taken || old {
        return applying("the hub has not taken up what was asked for yet");
    }
    let by_hand = facts.remote.metadata.annotation(MANAGEMENT_STATE);
    match facts.job() {
        Some(job) if !facts.is_current(job) && by_hand.is_some() => {
            return not(SpecLevel::Queued, "somebody has told OSAC to run no job for it".into());
        }
        Some(job) if !facts.is_current(job) => {
            return applying("the job for what was asked for last has not begun");
        }
        Some(job) if job.has_failed() => return not(SpecLevel::JobFailed, words(job)),
        Some(job) if !job.is_done() => return applying(&words(job)),
        None if facts.status.phase != "Ready" => return applying("no job has begun"),
        Some(_) | None => {}
    }
    if let Some(version) = awaited(facts, wanted) {
        return applying(&format!("version {version} is being rolled out"));
    }
    let pools = facts.hosted.iter().flat_map(|hosted| &hosted.pools);
    let other = |count: i64, asked: Option<i64>| asked.is_some_and(|asked| asked != count);
    let resizes =
        pools.into_iter().find(|pool| facts.size(pool).is_some_and(|seen| other(seen, pool.desired)));
    match (resizes, link) {
        (Some(pool), _) => applying(&format!("node group {} changes its size", pool.name)),
        (None, Some(SyncState::InSync)) => BackendCondition::of(
            ConditionStatus::True,
            SpecLevel::UpToDate,
            "the cluster is what the claim asks for",
        ),
        (None, _) => applying("the hub has not answered yet"),
    }
}

/// The version that the cluster does not have yet. Its job has ended by then: it hands the release on. Where OSAC's template changes none,
/// what is there is what was asked for.
fn awaited(facts: &Facts<'_>, wanted: Wanted<'_>) -> Option<String> {
    let hosted = facts.hosted.as_ref().filter(|hosted| hosted.nodes_asked())?;
    let version = wanted.whole.release.version.as_ref().filter(|_| wanted.order.base.upgradeable)?;
    let version = version.to_string();
    let has = hypershift::rollout::completed(hosted.status).is_some_and(|there| there.version == version);
    (!has).then_some(version)
}

fn progress(facts: &Facts<'_>) -> ProgressStatus {
    let metadata = &facts.remote.metadata;
    if metadata.deletion_timestamp.is_some() {
        let said = facts.last_job().map_or_else(|| "it is being taken down".to_owned(), words);
        return progress_step("Deleting", said);
    }
    match metadata.annotation(MANAGEMENT_STATE) {
        Some("unmanaged") => {
            return progress_step("Unmanaged", "somebody has told OSAC to leave the order alone");
        }
        Some("manual") if !facts.is_up() => {
            return progress_step("Manual", "somebody has told OSAC to run no job for the order");
        }
        Some(_) | None => {}
    }
    if !facts.begun() {
        return progress_step("Requested", "OSAC has not looked at the ClusterOrder yet");
    }
    let job = facts.job();
    if let Some(job) = job.filter(|job| job.has_failed() && facts.status.phase == "Failed") {
        return progress_step("JobFailed", words(job));
    }
    if !facts.is_true(conditions::NAMESPACE_CREATED) && facts.hosted.is_none() {
        return progress_step("Job", job.map_or_else(|| "it waits for a job".to_owned(), words));
    }
    if !facts.is_true(conditions::CONTROL_PLANE_CREATED) && facts.hosted.is_none() {
        return progress_step("Namespace", "its namespace is there, the control plane is being asked for");
    }
    if !facts.answers() {
        let component = facts.hosted.as_ref().and_then(hypershift::report::component);
        let component = component.map(|c| format!(", waiting for {c}")).unwrap_or_default();
        return progress_step("ControlPlane", format!("the control plane is being made{component}"));
    }
    if let Some(pool) = facts.lacking() {
        return progress_step("Nodes", hypershift::levels::pool_words(pool));
    }
    if facts.status.phase == "Ready" && !facts.is_true(conditions::CLUSTER_AVAILABLE) {
        return progress_step("Cluster", "the automation has done its work, waiting for the cluster");
    }
    let busy = |job: &&Job| !job.is_done() || !facts.is_set_up();
    match job.filter(busy) {
        Some(job) if job.has_failed() => progress_step("JobFailed", words(job)),
        Some(job) => progress_step("Job", at_work(facts, job)),
        None => progress_step("Running", "the cluster runs"),
    }
}
