//! Conditions of each part of a HostedCluster.

use testplatform_apis::{
    condition::{ConditionStatus, ControlPlaneLevel, Infrastructure, NodesLevel},
    foreign::{hosted_cluster::conditions, meta::ObservedCondition},
    status::{NodeGroupStatus, NodesStatus, ProgressStatus},
    text::bounded,
};

use super::{
    facts::{HostedClusterFacts, NodeGroupFacts},
    version,
};
use crate::{
    cluster::{
        backends::{BackendCondition, common::conditions::progress_step},
        observed::NodePoolObject,
    },
    objects::SyncState,
};

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
            "the infrastructure of the control plane is ready",
        ));
    }
    if let Some(blocked) = facts.is_false(conditions::PROGRESSING).filter(|c| c.reason == conditions::BLOCKED)
    {
        return Some(BackendCondition::of(False, Infrastructure::Blocked, blocked.message.clone()));
    }
    let lacks = facts.condition(conditions::INFRASTRUCTURE_READY)?;
    let message = if lacks.message.is_empty() { "it is being created" } else { &lacks.message };
    Some(BackendCondition::of(False, Infrastructure::Provisioning, message))
}

pub(in crate::cluster::backends) fn control_plane_condition(
    facts: &HostedClusterFacts<'_>,
    ever_ready: bool,
) -> Option<BackendCondition<ControlPlaneLevel>> {
    use ConditionStatus::{False, True, Unknown};
    let available = facts.condition(conditions::AVAILABLE)?;
    if available.is_true() {
        let degraded = facts.condition(conditions::DEGRADED).filter(|c| c.is_true() && ever_ready);
        return Some(match degraded {
            Some(why) => BackendCondition::of(False, ControlPlaneLevel::Degraded, why.message.clone()),
            None => BackendCondition::of(True, ControlPlaneLevel::Available, "its API server answers"),
        });
    }
    let message = missing_component(facts).unwrap_or_else(|| available.message.clone());
    let reason = if ever_ready { ControlPlaneLevel::Unavailable } else { ControlPlaneLevel::Creating };
    let status = if ever_ready && !available.is_false() { Unknown } else { False };
    Some(BackendCondition::of(status, reason, message))
}

pub(in crate::cluster::backends) fn nodes_ready_condition(
    facts: &HostedClusterFacts<'_>,
    ever_ready: bool,
) -> BackendCondition<NodesLevel> {
    use ConditionStatus::{False, True};
    if !facts.requests_nodes() {
        return BackendCondition::of(True, NodesLevel::NoNodesRequested, "no nodes are requested");
    }
    let short: Vec<&NodeGroupFacts<'_>> = facts.pools.iter().filter(|pool| !pool.is_served()).collect();
    if short.is_empty() {
        return BackendCondition::of(True, NodesLevel::AllReady, "all requested nodes are ready");
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
        (_, None) => format!("node group {name}: 0 of {least} nodes are reported"),
    }
}

/// The component of the control plane that is not there.
pub(in crate::cluster::backends) fn missing_component(facts: &HostedClusterFacts<'_>) -> Option<String> {
    let parts =
        [(conditions::ETCD_AVAILABLE, "etcd"), (conditions::KUBE_API_SERVER_AVAILABLE, "kube-apiserver")];
    parts.into_iter().find_map(|(type_, what)| {
        let lacks = facts.is_false(type_)?;
        let message = if lacks.message.is_empty() { &lacks.reason } else { &lacks.message };
        Some(if message.is_empty() { what.to_owned() } else { format!("{what}: {}", bounded(message, 256)) })
    })
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

pub(in crate::cluster::backends) fn read_progress(facts: &HostedClusterFacts<'_>) -> ProgressStatus {
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
        return progress_step("Requested", "HyperShift has not processed the HostedCluster yet");
    }
    if let Some(blocked) = facts.is_false(conditions::PROGRESSING).filter(|c| c.reason == conditions::BLOCKED)
    {
        return progress_step("Blocked", blocked.message.clone());
    }
    if !facts.api_answers() {
        if let Some(lacks) = facts.is_false(conditions::INFRASTRUCTURE_READY) {
            return progress_step(
                "Infrastructure",
                format!("the infrastructure of the control plane is being created: {}", lacks.message),
            );
        }
        let component = missing_component(facts);
        let message = component.map(|c| format!(", waiting for {c}")).unwrap_or_default();
        return progress_step("ControlPlane", format!("the control plane is being created{message}"));
    }
    let short = facts.pools.iter().find(|pool| !pool.is_served());
    if let Some(pool) = short {
        return progress_step("Nodes", group_message(pool));
    }
    let newest = version::newest_update(facts.status).filter(|newest| !newest.is_completed());
    match newest.filter(|_| facts.requests_nodes()) {
        Some(newest) => progress_step("Version", format!("version {} is being rolled out", newest.version)),
        None if facts.requests_nodes() && version::completed_update(facts.status).is_none() => {
            progress_step("Version", "the cluster's operators are being rolled out")
        }
        None => progress_step("Running", "the cluster runs"),
    }
}
