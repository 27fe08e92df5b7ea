//! Conditions of each part of the cluster.

use testplatform_apis::{
    condition::{ConditionStatus, SpecLevel},
    foreign::{hosted_cluster::conditions, meta::ObservedCondition},
    names::ours,
};

use super::{HyperShiftRequest, cluster, rollout};
use crate::{
    cluster::{
        backends::{
            BackendCondition, BackendConditions,
            common::templated::FailureCondition,
            hosted_cluster::{HostedClusterFacts, NodeGroupFacts, cluster_conditions, newest_update},
        },
        observed::{Observed, PrimaryObject},
        request::Templated,
    },
    objects::SyncState,
};

pub(super) fn build_conditions(
    facts: &HostedClusterFacts<'_>,
    templated: &Templated,
    observed: &Observed,
    persistent: &[&FailureCondition],
) -> BackendConditions {
    let ever_ready = observed.ever_ready();
    let spec = HyperShiftRequest::from_templated(templated)
        .map(|wanted| spec_condition(facts, wanted, observed, persistent));
    BackendConditions {
        infrastructure: cluster_conditions::infrastructure_condition(facts),
        control_plane: cluster_conditions::control_plane_condition(facts, ever_ready),
        nodes_ready: Some(cluster_conditions::nodes_ready_condition(facts, ever_ready)),
        nodes: Some(cluster_conditions::nodes_status(facts)),
        progress: Some(cluster_conditions::read_progress(facts)),
        ..BackendConditions::with_spec(spec, observed)
    }
}

/// Whether the cluster matches the claim now.
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
            "the release is requested after the previous one has been rolled out",
        );
    }
    let newest = newest_update(facts.status);
    if facts.requests_nodes() && !newest.is_some_and(|newest| newest.is_completed() && newest.image == image)
    {
        let what = newest.filter(|n| !n.version.is_empty()).map(|n| format!(" {}", n.version));
        return applying(format!("version{} is being rolled out", what.unwrap_or_default()));
    }
    let missing = facts.pools.iter().find(|pool| pool.node_pool.is_none());
    if let Some(pool) = missing {
        return applying(format!("node group {} is being created", pool.name));
    }
    let late =
        parts().find(|(_, part)| newest.is_some_and(|there| !rollout::is_node_pool_current(part, there)));
    if let Some((pool, _)) = late {
        return applying(format!("node group {} is being updated to the release", pool.name));
    }
    let updating = [conditions::UPDATING_CONFIG, conditions::UPDATING_PLATFORM];
    let changes = |pool: &&NodeGroupFacts<'_>| {
        updating.iter().any(|type_| pool.condition(type_).is_some_and(ObservedCondition::is_true))
    };
    if let Some(pool) = facts.pools.iter().find(changes) {
        return applying(format!("the machines of node group {} are being replaced", pool.name));
    }
    if let Some(pool) = facts.pools.iter().find(|pool| is_resizing(pool)) {
        return applying(format!("node group {} is being resized", pool.name));
    }
    // Before the end a refused spec is replaced by the hub's own, which then reports as up to date.
    let is_restoring = |primary: &PrimaryObject| {
        let wanted = || cluster::build_spec(observed, Some(wanted));
        primary.is_observer() && primary.manifest()["spec"].as_object() != Some(&wanted())
    };
    if observed.primary.as_ref().is_some_and(is_restoring) {
        return applying("the hub has not started on the change yet".into());
    }
    match sync {
        Some(SyncState::InSync) => {
            BackendCondition::of(True, SpecLevel::UpToDate, "the cluster matches the claim")
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
