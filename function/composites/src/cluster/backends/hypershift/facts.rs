//! Observed state of the HostedCluster of a claim, and of a NodePool for each of its groups.

use std::borrow::Cow;

use serde_json::{Map, Value};
use testplatform_apis::{
    collect, foreign::hosted_cluster::HostedCluster, names::ours, template::kind::HyperShift,
};

use super::HyperShiftRequest;
use crate::cluster::{
    backends::{
        common::templated::PreviousSpec,
        hosted_cluster::{HostedClusterFacts, NodeGroupFacts},
    },
    observed::{NodePoolObject, Observed},
    request::{NodeCount, NodeGroupSpec},
};

/// The HostedCluster as it was last observed.
pub(super) fn observed_cluster(observed: &Observed) -> Option<&HostedCluster> {
    observed.cluster_object::<HyperShift>()
}

/// Spec of the previous request.
pub(super) fn previous_spec(observed: &Observed) -> Option<Cow<'_, Map<String, Value>>> {
    let hub_spec = observed_cluster(observed).map(|remote| &remote.spec);
    Some(PreviousSpec::of(observed, hub_spec, |spec| spec.contains_key("release"))?.spec)
}

/// The groups that are wanted, in the order of their names.
pub(super) fn sorted_groups(wanted: HyperShiftRequest<'_>) -> Vec<&NodeGroupSpec<HyperShift>> {
    let mut groups: Vec<&NodeGroupSpec<HyperShift>> = wanted.backend_spec.groups.iter().collect();
    collect::sort_few(&mut groups, |a, b| a.name.cmp(&b.name));
    groups
}

/// The whole picture. None: nothing was seen yet.
pub(super) fn read_facts<'a>(
    observed: &'a Observed,
    wanted: Option<HyperShiftRequest<'_>>,
) -> Option<HostedClusterFacts<'a>> {
    let remote = observed_cluster(observed)?;
    let pools = match wanted {
        Some(wanted) => requested_groups(observed, wanted),
        None => observed.node_pools.0.values().map(group_of_node_pool).collect(),
    };
    Some(HostedClusterFacts { remote, status: &remote.status.value, pools })
}

fn requested_groups<'a>(observed: &'a Observed, wanted: HyperShiftRequest<'_>) -> Vec<NodeGroupFacts<'a>> {
    let pool = |group: &NodeGroupSpec<_>| NodeGroupFacts {
        name: group.name.clone(),
        class: Some(group.class.clone()),
        min_nodes: group.size.min_nodes().into(),
        desired: match group.size {
            NodeCount::Fixed(count) => Some(count.into()),
            NodeCount::Between { .. } => None,
        },
        node_pool: observed.node_pools.of(&group.name),
        reported: None,
    };
    sorted_groups(wanted).into_iter().map(pool).collect()
}

/// Group that stays as it was requested.
fn group_of_node_pool(part: &NodePoolObject) -> NodeGroupFacts<'_> {
    let spec = &part.manifest()["spec"];
    let desired = spec["replicas"].as_i64();
    NodeGroupFacts {
        name: part.group.clone(),
        class: part.object.metadata.annotation(ours::NODE_CLASS).map(str::to_owned),
        min_nodes: desired.or_else(|| spec["autoScaling"]["min"].as_i64()).unwrap_or(0),
        desired: desired.filter(|_| spec["autoScaling"] == Value::Null),
        node_pool: Some(part),
        reported: None,
    }
}
