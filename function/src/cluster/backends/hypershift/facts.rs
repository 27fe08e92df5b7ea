//! Observed state of a HostedCluster and its NodePools.

use jiff::Timestamp;
use serde_json::Value;
use testplatform_apis::{
    foreign::{
        hypershift::{HostedCluster, HostedClusterStatus, NodePoolStatus, conditions},
        meta::{ObservedCondition, find_condition},
    },
    names::ours,
};

use super::{HyperShiftRequest, pools, rollout};
use crate::cluster::{
    observed::{NodePoolObject, Observed, Remote},
    request::NodeCount,
};

/// The HostedCluster as it was last observed.
pub(super) fn observed_cluster(observed: &Observed) -> Option<&HostedCluster> {
    match observed.primary.as_ref()?.remote()? {
        Remote::HostedCluster(remote) => Some(remote),
        Remote::EphemeralCluster(_)
        | Remote::ClusterClaim(_)
        | Remote::Topology(_)
        | Remote::Order(_)
        | Remote::Instance(_) => None,
    }
}

/// The whole picture.
pub(in crate::cluster::backends) struct HostedClusterFacts<'a> {
    pub remote: &'a HostedCluster,
    pub status: &'a HostedClusterStatus,
    pub pools: Vec<NodeGroupFacts<'a>>,
}

/// A group of nodes.
pub(in crate::cluster::backends) struct NodeGroupFacts<'a> {
    pub name: String,
    pub class: Option<String>,
    /// The fewest that there are to be.
    pub min_nodes: i64,
    /// How many there are to be, where that is one number.
    pub desired: Option<i64>,
    pub node_pool: Option<&'a NodePoolObject>,
    /// How many nodes are ready, where the remote object itself reports it and no NodePool is looked at.
    pub reported: Option<i64>,
}

impl<'a> NodeGroupFacts<'a> {
    pub fn status(&self) -> Option<&'a NodePoolStatus> {
        self.node_pool?.remote().map(|remote| &remote.status.value)
    }

    pub fn conditions(&self) -> &'a [ObservedCondition] {
        self.status().map_or(&[], |status| &status.conditions)
    }

    pub fn condition(&self, type_: &str) -> Option<&'a ObservedCondition> {
        find_condition(self.conditions(), type_)
    }

    /// When its status was last changed, if what is known of it is of now.
    pub fn status_changed_at(&self) -> Option<Timestamp> {
        self.node_pool.filter(|part| part.sync.is_up_to_date())?.remote()?.metadata.status_changed_at
    }

    /// How many are available; none: it does not say.
    pub fn available_nodes(&self) -> Option<i64> {
        self.status().map_or(self.reported, |status| status.replicas)
    }

    /// Whether anything is known of its nodes.
    pub fn is_known(&self) -> bool {
        self.reported.is_some() || self.status().is_some()
    }

    pub fn is_served(&self) -> bool {
        self.min_nodes == 0 || self.available_nodes().is_some_and(|available| available >= self.min_nodes)
    }
}

impl<'a> HostedClusterFacts<'a> {
    /// None: nothing was seen yet.
    pub fn from_observed(observed: &'a Observed, wanted: Option<HyperShiftRequest<'_>>) -> Option<Self> {
        let remote = observed_cluster(observed)?;
        let pools = match wanted {
            Some(wanted) => requested_groups(observed, wanted),
            None => observed.node_pools.0.values().map(group_of_node_pool).collect(),
        };
        Some(Self { remote, status: &remote.status.value, pools })
    }

    pub fn condition(&self, type_: &str) -> Option<&'a ObservedCondition> {
        find_condition(&self.status.conditions, type_)
    }

    pub fn is_true(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(ObservedCondition::is_true)
    }

    /// A condition that is False.
    pub fn is_false(&self, type_: &str) -> Option<&'a ObservedCondition> {
        self.condition(type_).filter(|c| c.is_false())
    }

    pub fn api_answers(&self) -> bool {
        self.is_true(conditions::AVAILABLE)
    }

    pub fn requests_nodes(&self) -> bool {
        self.pools.iter().any(|pool| pool.min_nodes > 0)
    }

    /// Whether all that was asked for is there.
    pub fn is_up(&self) -> bool {
        let nodes = !self.requests_nodes()
            || (rollout::completed_update(self.status).is_some()
                && self.pools.iter().all(NodeGroupFacts::is_served));
        self.api_answers() && nodes
    }

    /// When the last of it came.
    pub fn up_since(&self) -> Option<Timestamp> {
        let since = |c: Option<&ObservedCondition>| c.filter(|c| c.is_true())?.last_transition_time;
        let pools = self
            .pools
            .iter()
            .filter(|p| p.min_nodes > 0)
            .filter_map(|p| since(p.condition(conditions::READY)));
        let installed = self.status.version.value.history.iter().rfind(|u| u.is_completed());
        let installed = installed.filter(|_| self.requests_nodes()).and_then(|u| u.completion_time);
        since(self.condition(conditions::AVAILABLE)).into_iter().chain(pools).chain(installed).max()
    }
}

fn requested_groups<'a>(observed: &'a Observed, wanted: HyperShiftRequest<'_>) -> Vec<NodeGroupFacts<'a>> {
    let pool = |group: &crate::cluster::request::NodeGroupSpec<_>| NodeGroupFacts {
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
    pools::sorted_groups(wanted).into_iter().map(pool).collect()
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
