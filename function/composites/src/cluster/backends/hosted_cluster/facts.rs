//! Observed state of a HostedCluster and its NodePools.

use jiff::Timestamp;
use testplatform_apis::foreign::{
    hosted_cluster::{HostedCluster, HostedClusterStatus, NodePoolStatus, conditions},
    meta::{ObservedCondition, find_condition},
};

use super::version::completed_update;
use crate::cluster::observed::NodePoolObject;

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
            || (completed_update(self.status).is_some() && self.pools.iter().all(NodeGroupFacts::is_served));
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
