//! Conditions of each part of the cluster.

use serde_json::{Map, Value};
use testplatform_apis::{
    condition::{ConditionStatus, ControlPlaneLevel, Infrastructure, NodesLevel, SpecLevel},
    foreign::{
        cluster_api::{AUTOSCALE_MIN, conditions},
        meta::ObservedCondition,
    },
    names::ours,
    status::{NodeGroupStatus, NodesStatus, ProgressStatus},
    text::bounded,
};

use super::{
    ClusterApiRequest, cluster,
    facts::TopologyFacts,
    failures::{FailureClass, classify_line, last_line},
    rollout::{self, RolloutPlan, RolloutStep},
    workers,
};
use crate::{
    cluster::{
        backends::{
            BackendCondition, BackendConditions,
            common::{conditions::progress_step, templated::FailureCondition},
        },
        observed::Observed,
        request::Templated,
    },
    objects::SyncState,
};

pub(super) fn build_conditions(
    facts: &TopologyFacts<'_>,
    templated: &Templated,
    observed: &Observed,
    persistent: &[&FailureCondition],
) -> BackendConditions {
    let ever_ready = observed.ever_ready();
    let wanted = ClusterApiRequest::from_templated(templated);
    let plan = wanted.map(|wanted| rollout::plan_rollout(observed, wanted));
    let planned = wanted.zip(plan.as_ref());
    let requested = cluster::build_spec(observed, planned);
    let spec =
        planned.map(|(wanted, plan)| spec_condition(facts, &requested, wanted, plan, observed, persistent));
    let nodes = nodes_status(facts, &requested);
    BackendConditions {
        infrastructure: infrastructure_condition(facts),
        control_plane: control_plane_condition(facts, ever_ready),
        nodes_ready: nodes_ready_condition(facts, ever_ready),
        progress: Some(read_progress(facts)),
        nodes: Some(nodes),
        ..BackendConditions::with_spec(spec, observed)
    }
}

fn infrastructure_condition(facts: &TopologyFacts<'_>) -> Option<BackendCondition<Infrastructure>> {
    use ConditionStatus::{False, True};
    let available =
        BackendCondition::of(True, Infrastructure::Available, "the infrastructure of the cluster is ready");
    let Some(ready) = facts.condition(conditions::INFRASTRUCTURE_READY) else {
        return facts.status.initialization.value.infrastructure_provisioned.then_some(available);
    };
    if ready.is_true() {
        return Some(available);
    }
    let message = last_line(ready);
    let reason = match classify_line(message) {
        FailureClass::Quota => Infrastructure::QuotaExceeded,
        FailureClass::Credentials => Infrastructure::CredentialsInvalid,
        FailureClass::Invalid => Infrastructure::Blocked,
        FailureClass::Transient | FailureClass::Other => Infrastructure::Provisioning,
    };
    Some(BackendCondition::of(False, reason, message))
}

fn control_plane_condition(
    facts: &TopologyFacts<'_>,
    ever_ready: bool,
) -> Option<BackendCondition<ControlPlaneLevel>> {
    use ConditionStatus::{False, True, Unknown};
    if facts.api_answers() {
        let cut_off = facts.is_false(conditions::REMOTE_CONNECTION_PROBE).filter(|_| ever_ready);
        return Some(match cut_off {
            Some(why) => BackendCondition::of(False, ControlPlaneLevel::Degraded, last_line(why)),
            None => BackendCondition::of(True, ControlPlaneLevel::Available, "its API server answers"),
        });
    }
    let parts = [conditions::CONTROL_PLANE_INITIALIZED, conditions::CONTROL_PLANE_AVAILABLE];
    let lacks = parts.iter().find_map(|type_| facts.not_true(type_))?;
    let reason = if ever_ready { ControlPlaneLevel::Unavailable } else { ControlPlaneLevel::Creating };
    let status = if ever_ready && !lacks.is_false() { Unknown } else { False };
    Some(BackendCondition::of(status, reason, last_line(lacks)))
}

fn nodes_ready_condition(
    facts: &TopologyFacts<'_>,
    ever_ready: bool,
) -> Option<BackendCondition<NodesLevel>> {
    use ConditionStatus::{False, True};
    let workers = facts.condition(conditions::WORKERS_AVAILABLE)?;
    let is_deleted = facts.remote.metadata.deletion_timestamp.is_some();
    if is_deleted && workers.reason == conditions::NO_WORKERS {
        let message = "the cluster is being deleted, and its nodes are gone";
        return Some(BackendCondition::of(False, NodesLevel::NotEnough, message));
    }
    if workers.is_true() && !facts.lacks_nodes() {
        return Some(if workers.reason == conditions::NO_WORKERS {
            BackendCondition::of(True, NodesLevel::NoNodesRequested, "no nodes are requested")
        } else {
            BackendCondition::of(True, NodesLevel::AllReady, "all requested nodes are ready")
        });
    }
    let unwell = facts.is_false(conditions::WORKER_MACHINES_READY);
    let reason = match (ever_ready && !facts.nodes_are_coming(), unwell) {
        (true, Some(_)) => NodesLevel::Unhealthy,
        (true, None) => NodesLevel::NotEnough,
        (false, _) => NodesLevel::Waiting,
    };
    let why = unwell.or_else(|| facts.not_true(conditions::WORKERS_AVAILABLE)).map(last_line);
    let why = why.filter(|why| !why.is_empty()).map(|why| format!(": {why}")).unwrap_or_default();
    Some(BackendCondition::of(False, reason, format!("{}{why}", node_count_text(facts))))
}

/// How many nodes there are of how many.
fn node_count_text(facts: &TopologyFacts<'_>) -> String {
    let workers = &facts.status.workers.value;
    match (workers.available_replicas, workers.desired_replicas) {
        (Some(available), Some(desired)) => format!("{available} of {desired} nodes are ready"),
        (_, Some(desired)) => format!("0 of {desired} nodes are reported"),
        (_, None) => "the hub has not reported the nodes yet".to_owned(),
    }
}

/// Whether the cluster matches the claim now.
fn spec_condition(
    facts: &TopologyFacts<'_>,
    requested: &Map<String, Value>,
    wanted: ClusterApiRequest<'_>,
    plan: &RolloutPlan,
    observed: &Observed,
    persistent: &[&FailureCondition],
) -> BackendCondition<SpecLevel> {
    use ConditionStatus::{False, True};
    let primary = observed.primary.as_ref();
    let sync = primary.map(|w| &w.sync);
    let not = |reason, message: String| BackendCondition::of(False, reason, message);
    if let Some(SyncState::Refused(message)) = sync {
        return BackendCondition::refused("it", message);
    }
    let topology = facts.not_true(conditions::TOPOLOGY_RECONCILED);
    let failed = topology.filter(|c| c.reason == conditions::RECONCILE_FAILED && observed.ever_ready());
    let wrong =
        persistent.first().map(|wrong| wrong.text()).or_else(|| failed.map(|c| last_line(c).to_owned()));
    if let Some(message) = wrong {
        return not(SpecLevel::Rejected, message);
    }
    if let Some(paused) = facts.condition(conditions::PAUSED).filter(|c| c.is_true()) {
        return not(SpecLevel::Queued, format!("somebody paused the Cluster: {}", last_line(paused)));
    }
    let version = wanted.spec.release.version.as_ref().map(ToString::to_string).unwrap_or_default();
    let of = plan.position.map(|(step, all)| format!(", step {step} of {all}")).unwrap_or_default();
    let rolls =
        |version: &str| not(SpecLevel::Applying, format!("version {version} is being rolled out{of}"));
    match (&plan.next_step, &plan.origin) {
        (RolloutStep::Unreachable, _) => {
            let message = "the template lacks an intermediate version for this upgrade";
            return not(SpecLevel::Rejected, format!("version {version} cannot be reached: {message}"));
        }
        (RolloutStep::Wait, _) if plan.position.is_none() => {
            let message = "is requested after the current change has finished";
            return not(SpecLevel::Queued, format!("version {version} {message}"));
        }
        (RolloutStep::AdoptVariables, _) => {
            let message =
                "the cluster keeps its class until the hub has accepted its variables as requested ones";
            return not(SpecLevel::Applying, message.to_owned());
        }
        (RolloutStep::Upgrade { to, .. }, _) => {
            return rolls(&to.version.as_ref().map(ToString::to_string).unwrap_or_default());
        }
        (RolloutStep::Wait, _) | (RolloutStep::Done, Some(_)) => {
            return rolls(
                requested["topology"]["version"].as_str().unwrap_or_default().trim_start_matches('v'),
            );
        }
        (RolloutStep::Done, None) => {}
    }
    let applying = |message: String| not(SpecLevel::Applying, message);
    let is_requested = primary.is_some_and(|w| w.manifest()["spec"].as_object() == Some(requested));
    if !is_requested
        || !contains_all(&facts.remote.spec, &Value::Object(requested.clone()))
        || !facts.is_current()
    {
        return applying("the hub has not started on the change yet".into());
    }
    if let Some(why) = topology {
        return applying(format!("{}: {}", why.reason, last_line(why)));
    }
    let changes = [
        (conditions::ROLLING_OUT, "machines are being replaced"),
        (conditions::SCALING_UP, "machines are being added"),
        (conditions::SCALING_DOWN, "machines are being removed"),
    ];
    if let Some((_, message)) = changes.into_iter().find(|(type_, _)| facts.is_true(type_)) {
        return applying(message.into());
    }
    let wanted_nodes = requested_nodes(requested);
    if facts.lacks_nodes() || wanted_nodes.is_some_and(|count| has_other_count(facts, count)) {
        return applying(node_count_text(facts));
    }
    match sync {
        Some(SyncState::InSync) => {
            BackendCondition::of(True, SpecLevel::UpToDate, "the cluster matches the claim")
        }
        _ => applying("the hub has not answered yet".into()),
    }
}

/// Whether what is there holds all that was asked for: members may have been added, and items of lists by their names. Of groups of nodes
/// there is none more.
fn contains_all(there: &Value, requested: &Value) -> bool {
    match (there, requested) {
        (Value::Object(there), Value::Object(requested)) => requested.iter().all(|(member, requested)| {
            let same = there.get(member).is_some_and(|there| contains_all(there, requested));
            let count = |v: Option<&Value>| v.and_then(Value::as_array).map(Vec::len);
            same && (member != "machineDeployments" || count(there.get(member)) == count(Some(requested)))
        }),
        (Value::Array(there), Value::Array(requested)) => requested.iter().all(|requested| {
            let name = &requested["name"];
            there.iter().any(|there| there["name"] == *name && contains_all(there, requested))
        }),
        _ => there == requested,
    }
}

/// How many nodes all groups together have. None: the load decides on one of them.
fn requested_nodes(requested: &Map<String, Value>) -> Option<i64> {
    let workers = requested.get("topology").map_or(&Value::Null, |topology| &topology["workers"]);
    workers::deployments(workers)
        .map(|group| {
            let scales = !group["metadata"]["annotations"][AUTOSCALE_MIN].is_null();
            group["replicas"].as_i64().filter(|_| !scales)
        })
        .sum()
}

/// Whether Cluster API reports that it works on another number of nodes.
fn has_other_count(facts: &TopologyFacts<'_>, requested: i64) -> bool {
    facts.status.workers.value.desired_replicas.is_some_and(|desired| desired != requested)
}

fn nodes_status(facts: &TopologyFacts<'_>, requested: &Map<String, Value>) -> NodesStatus {
    let status = &facts.status.workers.value;
    let workers = requested.get("topology").map_or(&Value::Null, |topology| &topology["workers"]);
    let pools: Vec<NodeGroupStatus> = workers::deployments(workers)
        .map(|group| NodeGroupStatus {
            name: group["name"].as_str().map(|name| bounded(name, 63)),
            class: group["metadata"]["annotations"][ours::NODE_CLASS]
                .as_str()
                .map(|class| bounded(class, 63)),
            desired: group["replicas"].as_i64(),
            // Of each group alone the Cluster says nothing.
            ready: None,
            version: None,
        })
        .collect();
    let desired = requested_nodes(requested).or(status.desired_replicas);
    // While machines are replaced there is one more.
    let ready = status.available_replicas.map(|ready| desired.map_or(ready, |desired| ready.min(desired)));
    NodesStatus { desired, ready, pools: Some(pools) }
}

fn read_progress(facts: &TopologyFacts<'_>) -> ProgressStatus {
    let message = |c: &ObservedCondition| last_line(c).to_owned();
    if facts.remote.metadata.deletion_timestamp.is_some() {
        let deleting = facts.condition(conditions::DELETING).filter(|c| c.is_true());
        return match deleting {
            Some(why) => {
                progress_step(if why.reason.is_empty() { "Deleting" } else { &why.reason }, message(why))
            }
            None => progress_step("Deleting", "it is being torn down"),
        };
    }
    if facts.is_true(conditions::PAUSED) {
        return progress_step("Paused", "paused by operator");
    }
    // The topology is reported first, and alone.
    if facts.condition(conditions::INFRASTRUCTURE_READY).is_none() {
        return progress_step("Requested", "Cluster API has not processed the Cluster yet");
    }
    if let Some(lacks) = facts.not_true(conditions::INFRASTRUCTURE_READY) {
        return progress_step(
            "Infrastructure",
            format!("the infrastructure of the cluster is being created: {}", message(lacks)),
        );
    }
    let control_plane = [conditions::CONTROL_PLANE_INITIALIZED, conditions::CONTROL_PLANE_AVAILABLE];
    if let Some(lacks) = control_plane.iter().find_map(|type_| facts.not_true(type_)) {
        return progress_step(
            "ControlPlane",
            format!("the control plane is being created: {}", message(lacks)),
        );
    }
    if let Some(why) = facts.not_true(conditions::TOPOLOGY_RECONCILED) {
        return progress_step("Topology", format!("{}: {}", why.reason, message(why)));
    }
    if facts.not_true(conditions::WORKERS_AVAILABLE).is_some() || facts.lacks_nodes() {
        return progress_step("Nodes", node_count_text(facts));
    }
    if let Some(why) = facts.condition(conditions::REMEDIATING).filter(|c| c.is_true()) {
        return progress_step("Remediating", message(why));
    }
    if let Some(why) = facts.condition(conditions::ROLLING_OUT).filter(|c| c.is_true()) {
        return progress_step("RollingOut", message(why));
    }
    // Its parts are there: this is a gate that administrators have given the Cluster.
    if let Some(why) = facts.not_true(conditions::AVAILABLE) {
        return progress_step(
            "Availability",
            format!("the cluster is not available: {}: {}", why.reason, message(why)),
        );
    }
    // The conditions of the previous API version have other types, and say nothing of these.
    let decisive = [conditions::TOPOLOGY_RECONCILED, conditions::AVAILABLE];
    if let Some(type_) = decisive.into_iter().find(|type_| facts.condition(type_).is_none()) {
        return progress_step(
            "Availability",
            format!("Cluster API does not report condition {type_} of the cluster"),
        );
    }
    progress_step("Running", "the cluster runs")
}
