//! Conditions of each part of the cluster.

use testplatform_apis::{
    condition::{ConditionStatus, ControlPlaneLevel, Infrastructure, NodesLevel, SpecLevel},
    foreign::{hypershift::conditions, meta::ObservedCondition},
    names::ours,
    status::{NodeGroupStatus, NodesStatus, ProgressStatus},
};

use super::{
    HyperShiftRequest, cluster,
    facts::{HostedClusterFacts, NodeGroupFacts},
    health, rollout,
};
use crate::{
    cluster::{
        backends::{
            BackendCondition, BackendConditions,
            common::{conditions::progress_step, templated::FailureCondition},
        },
        observed::{NodePoolObject, Observed, PrimaryObject},
        request::Templated,
    },
    objects::SyncState,
    text::bounded,
};

pub(super) fn build_conditions(
    facts: &HostedClusterFacts<'_>,
    templated: &Templated,
    observed: &Observed,
    persistent: &[&FailureCondition],
) -> BackendConditions {
    let ever_ready = observed.ever_ready();
    let spec = HyperShiftRequest::from_request(templated)
        .map(|wanted| spec_condition(facts, wanted, observed, persistent));
    BackendConditions {
        infrastructure: infrastructure_condition(facts),
        control_plane: control_plane_condition(facts, ever_ready),
        nodes_ready: Some(nodes_ready_condition(facts, ever_ready)),
        nodes: Some(nodes_status(facts)),
        progress: Some(read_progress(facts)),
        ..BackendConditions::with_spec(spec, observed)
    }
}

pub(in crate::cluster::backends) fn infrastructure_condition(
    facts: &HostedClusterFacts<'_>,
) -> Option<BackendCondition<Infrastructure>> {
    use ConditionStatus::{False, True};
    if let Some(wrong) = facts.is_false(conditions::PLATFORM_CREDENTIALS_FOUND) {
        return Some(BackendCondition::of(False, Infrastructure::CredentialsInvalid, wrong.message.clone()));
    }
    if facts.is_true(conditions::INFRASTRUCTURE_READY) {
        return Some(BackendCondition::of(
            True,
            Infrastructure::Available,
            "what the control plane runs on is there",
        ));
    }
    if let Some(blocked) = facts.is_false(conditions::PROGRESSING).filter(|c| c.reason == conditions::BLOCKED)
    {
        return Some(BackendCondition::of(False, Infrastructure::Blocked, blocked.message.clone()));
    }
    let lacks = facts.condition(conditions::INFRASTRUCTURE_READY)?;
    let message = if lacks.message.is_empty() { "it is being made" } else { &lacks.message };
    Some(BackendCondition::of(False, Infrastructure::Provisioning, message))
}

pub(in crate::cluster::backends) fn control_plane_condition(
    facts: &HostedClusterFacts<'_>,
    ever_ready: bool,
) -> Option<BackendCondition<ControlPlaneLevel>> {
    use ConditionStatus::{False, True};
    let available = facts.condition(conditions::AVAILABLE)?;
    if available.is_true() {
        let degraded = facts.condition(conditions::DEGRADED).filter(|c| c.is_true() && ever_ready);
        return Some(match degraded {
            Some(why) => BackendCondition::of(False, ControlPlaneLevel::Degraded, why.message.clone()),
            None => BackendCondition::of(True, ControlPlaneLevel::Available, "its API answers"),
        });
    }
    let message = health::missing_component(facts).unwrap_or_else(|| available.message.clone());
    let reason = if ever_ready { ControlPlaneLevel::Unavailable } else { ControlPlaneLevel::Creating };
    Some(BackendCondition::of(False, reason, message))
}

pub(in crate::cluster::backends) fn nodes_ready_condition(
    facts: &HostedClusterFacts<'_>,
    ever_ready: bool,
) -> BackendCondition<NodesLevel> {
    use ConditionStatus::{False, True};
    if !facts.requests_nodes() {
        return BackendCondition::of(True, NodesLevel::NoNodesRequested, "no nodes were asked for");
    }
    let short: Vec<&NodeGroupFacts<'_>> = facts.pools.iter().filter(|pool| !pool.is_served()).collect();
    if short.is_empty() {
        return BackendCondition::of(True, NodesLevel::AllReady, "all nodes that were asked for are ready");
    }
    let messages: Vec<String> = short.iter().copied().map(group_message).collect();
    let reason = match (ever_ready, short.iter().copied().any(is_unhealthy)) {
        (true, true) => NodesLevel::Unhealthy,
        (true, false) => NodesLevel::NotEnough,
        (false, _) => NodesLevel::Waiting,
    };
    BackendCondition::of(False, reason, messages.join("; "))
}

fn is_unhealthy(pool: &NodeGroupFacts<'_>) -> bool {
    pool.condition(conditions::ALL_NODES_HEALTHY).is_some_and(ObservedCondition::is_false)
}

pub(in crate::cluster::backends) fn group_message(pool: &NodeGroupFacts<'_>) -> String {
    let (name, least) = (&pool.name, pool.min_nodes);
    match (pool.node_pool, pool.available_nodes()) {
        (Some(NodePoolObject { sync: SyncState::Refused(message), .. }), _) => {
            format!("node group {name}: the hub refuses: {}", bounded(message, 256))
        }
        (_, Some(available)) => format!("node group {name}: {available} of {least} nodes are ready"),
        (_, None) => format!("node group {name}: none of {least} nodes was reported yet"),
    }
}

/// Whether the cluster is what the claim asks for now.
fn spec_condition(
    facts: &HostedClusterFacts<'_>,
    wanted: HyperShiftRequest<'_>,
    observed: &Observed,
    persistent: &[&FailureCondition],
) -> BackendCondition<SpecLevel> {
    use ConditionStatus::{False, True};
    let image = rollout::requested_image(wanted);
    let sync = observed.primary.as_ref().map(|w| &w.sync);
    let parts = || facts.pools.iter().filter_map(|pool| Some((pool, pool.node_pool?)));
    if let Some(SyncState::Refused(message)) = sync {
        return BackendCondition::refused("it", message);
    }
    let refused = parts().find_map(|(pool, part)| match &part.sync {
        SyncState::Refused(message) => {
            Some(BackendCondition::refused(&format!("node group {}", pool.name), message))
        }
        _ => None,
    });
    if let Some(refused) = refused {
        return refused;
    }
    if let Some(wrong) = persistent.first() {
        return BackendCondition::of(False, SpecLevel::Rejected, wrong.text());
    }
    let applying = |message: String| BackendCondition::of(False, SpecLevel::Applying, message);
    if rollout::cluster_image(observed, wanted) != image {
        return BackendCondition::of(
            False,
            SpecLevel::Queued,
            "the release is asked for once the one before is there",
        );
    }
    let newest = rollout::newest_update(facts.status);
    if facts.requests_nodes() && !newest.is_some_and(|newest| newest.is_completed() && newest.image == image)
    {
        let what = newest.filter(|n| !n.version.is_empty()).map(|n| format!(" {}", n.version));
        return applying(format!("version{} is being rolled out", what.unwrap_or_default()));
    }
    let missing = facts.pools.iter().find(|pool| pool.node_pool.is_none());
    if let Some(pool) = missing {
        return applying(format!("node group {} is asked for", pool.name));
    }
    let late =
        parts().find(|(_, part)| newest.is_some_and(|there| !rollout::is_node_pool_current(part, there)));
    if let Some((pool, _)) = late {
        return applying(format!("node group {} is being brought to the release", pool.name));
    }
    let updating = [conditions::UPDATING_CONFIG, conditions::UPDATING_PLATFORM];
    let changes = |pool: &&NodeGroupFacts<'_>| {
        updating.iter().any(|type_| pool.condition(type_).is_some_and(ObservedCondition::is_true))
    };
    if let Some(pool) = facts.pools.iter().find(changes) {
        return applying(format!("node group {} gets other machines", pool.name));
    }
    if let Some(pool) = facts.pools.iter().find(|pool| is_resizing(pool)) {
        return applying(format!("node group {} changes its size", pool.name));
    }
    // Before the end a refused spec is replaced by the hub's own, which then reports as up to date.
    let is_restoring = |primary: &PrimaryObject| {
        let wanted = || cluster::build_spec(observed, Some(wanted));
        primary.is_observer() && primary.manifest()["spec"].as_object() != Some(&wanted())
    };
    if observed.primary.as_ref().is_some_and(is_restoring) {
        return applying("the hub has not taken up what was asked for yet".into());
    }
    match sync {
        Some(SyncState::InSync) => {
            BackendCondition::of(True, SpecLevel::UpToDate, "the cluster is what the claim asks for")
        }
        _ => applying("the hub has not answered yet".into()),
    }
}

/// Whether the NodePool on the hub still has another size, or class, than the one that is asked for.
fn is_resizing(pool: &NodeGroupFacts<'_>) -> bool {
    let Some(part) = pool.node_pool else { return true };
    let hub_spec = part.remote().map(|remote| &remote.spec);
    let size = match (pool.desired, hub_spec) {
        (_, None) => false,
        (Some(count), Some(spec)) => spec["replicas"].as_i64() == Some(count),
        (None, Some(spec)) => spec["autoScaling"]["min"].as_i64() == Some(pool.min_nodes),
    };
    !size || part.object.metadata.annotation(ours::NODE_CLASS) != pool.class.as_deref()
}

pub(in crate::cluster::backends) fn nodes_status(facts: &HostedClusterFacts<'_>) -> NodesStatus {
    let pools = &facts.pools;
    let each = pools.iter().map(|pool| NodeGroupStatus {
        name: Some(bounded(&pool.name, 63)),
        class: pool.class.as_deref().map(|class| bounded(class, 63)),
        desired: pool.desired,
        ready: pool.available_nodes(),
        version: pool.status().map(|s| bounded(&s.version, 64)).filter(|v| !v.is_empty()),
    });
    NodesStatus {
        // A total is unknown if one of its parts is.
        desired: pools.iter().map(|p| p.desired).sum(),
        ready: pools.iter().map(NodeGroupFacts::available_nodes).sum(),
        pools: Some(each.collect()),
    }
}

pub(super) fn read_progress(facts: &HostedClusterFacts<'_>) -> ProgressStatus {
    if facts.remote.metadata.deletion_timestamp.is_some() {
        let destroyed = [conditions::HOSTED_CLUSTER_DESTROYED, conditions::CLOUD_RESOURCES_DESTROYED];
        let message = destroyed.iter().find_map(|type_| facts.condition(type_)).map(|c| c.message.clone());
        return progress_step(
            "Deleting",
            message.filter(|w| !w.is_empty()).unwrap_or_else(|| "it is being destroyed".into()),
        );
    }
    if let Some(paused) = facts.is_false(conditions::RECONCILIATION_ACTIVE) {
        return progress_step("Paused", format!("somebody paused the HostedCluster: {}", paused.message));
    }
    if facts.status.conditions.is_empty() {
        return progress_step("Requested", "HyperShift has not looked at the HostedCluster yet");
    }
    if let Some(blocked) = facts.is_false(conditions::PROGRESSING).filter(|c| c.reason == conditions::BLOCKED)
    {
        return progress_step("Blocked", blocked.message.clone());
    }
    if !facts.api_answers() {
        if let Some(lacks) = facts.is_false(conditions::INFRASTRUCTURE_READY) {
            return progress_step(
                "Infrastructure",
                format!("what the control plane runs on is being made: {}", lacks.message),
            );
        }
        let component = health::missing_component(facts);
        let message = component.map(|c| format!(", waiting for {c}")).unwrap_or_default();
        return progress_step("ControlPlane", format!("the control plane is being made{message}"));
    }
    let short = facts.pools.iter().find(|pool| !pool.is_served());
    if let Some(pool) = short {
        return progress_step("Nodes", group_message(pool));
    }
    let newest = rollout::newest_update(facts.status).filter(|newest| !newest.is_completed());
    match newest.filter(|_| facts.requests_nodes()) {
        Some(newest) => progress_step("Version", format!("version {} is being rolled out", newest.version)),
        None if facts.requests_nodes() && rollout::completed_update(facts.status).is_none() => {
            progress_step("Version", "the cluster's operators are being rolled out")
        }
        None => progress_step("Running", "the cluster runs"),
    }
}
