//! What is seen of a HostedCluster and its NodePools.

use jiff::Timestamp;
use serde_json::Value;
use testplatform_apis::{
    foreign::{
        hypershift::{HostedCluster, HostedClusterStatus, NodePoolStatus, conditions},
        meta::{ObservedCondition, condition},
    },
    names::ours,
};

use super::{Wanted, pools, rollout};
use crate::{
    observed::{NodePoolObject, Observed, Remote},
    templates::Size,
};

/// The HostedCluster as it was last observed.
pub(super) fn remote(observed: &Observed) -> Option<&HostedCluster> {
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
pub(in crate::backend) struct Facts<'a> {
    pub remote: &'a HostedCluster,
    pub status: &'a HostedClusterStatus,
    pub pools: Vec<Pool<'a>>,
}

/// A group of nodes.
pub(in crate::backend) struct Pool<'a> {
    pub name: String,
    pub class: Option<String>,
    /// The fewest that there are to be.
    pub least: i64,
    /// How many there are to be, where that is one number.
    pub desired: Option<i64>,
    pub part: Option<&'a NodePoolObject>,
    /// How many nodes are ready, where the remote object itself reports it and no NodePool is looked at.
    pub reported: Option<i64>,
}

impl<'a> Pool<'a> {
    pub fn status(&self) -> Option<&'a NodePoolStatus> {
        self.part?.remote().map(|remote| &remote.status.value)
    }

    pub fn conditions(&self) -> &'a [ObservedCondition] {
        self.status().map_or(&[], |status| &status.conditions)
    }

    pub fn condition(&self, type_: &str) -> Option<&'a ObservedCondition> {
        condition(self.conditions(), type_)
    }

    /// When its status was last changed, if what is known of it is of now.
    pub fn said_at(&self) -> Option<Timestamp> {
        self.part.filter(|part| part.sync.is_up_to_date())?.remote()?.metadata.said_at
    }

    /// How many are available; none: it does not say.
    pub fn available(&self) -> Option<i64> {
        self.status().map_or(self.reported, |status| status.replicas)
    }

    /// Whether anything is known of its nodes.
    pub fn is_known(&self) -> bool {
        self.reported.is_some() || self.status().is_some()
    }

    pub fn is_served(&self) -> bool {
        self.least == 0 || self.available().is_some_and(|available| available >= self.least)
    }
}

impl<'a> Facts<'a> {
    /// None: nothing was seen yet.
    pub fn of(observed: &'a Observed, wanted: Option<Wanted<'_>>) -> Option<Self> {
        let remote = remote(observed)?;
        let pools = match wanted {
            Some(wanted) => asked(observed, wanted),
            None => observed.node_pools.0.values().map(repeated).collect(),
        };
        Some(Self { remote, status: &remote.status.value, pools })
    }

    pub fn condition(&self, type_: &str) -> Option<&'a ObservedCondition> {
        condition(&self.status.conditions, type_)
    }

    pub fn is_true(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(ObservedCondition::is_true)
    }

    /// A condition that is False.
    pub fn lacks(&self, type_: &str) -> Option<&'a ObservedCondition> {
        self.condition(type_).filter(|c| c.is_false())
    }

    pub fn answers(&self) -> bool {
        self.is_true(conditions::AVAILABLE)
    }

    pub fn nodes_asked(&self) -> bool {
        self.pools.iter().any(|pool| pool.least > 0)
    }

    /// Whether all that was asked for is there.
    pub fn is_up(&self) -> bool {
        let nodes = !self.nodes_asked()
            || (rollout::completed(self.status).is_some() && self.pools.iter().all(Pool::is_served));
        self.answers() && nodes
    }

    /// When the last of it came.
    pub fn up_since(&self) -> Option<Timestamp> {
        let since = |c: Option<&ObservedCondition>| c.filter(|c| c.is_true())?.last_transition_time;
        let pools =
            self.pools.iter().filter(|p| p.least > 0).filter_map(|p| since(p.condition(conditions::READY)));
        let installed = self.status.version.value.history.iter().rfind(|u| u.is_completed());
        let installed = installed.filter(|_| self.nodes_asked()).and_then(|u| u.completion_time);
        since(self.condition(conditions::AVAILABLE)).into_iter().chain(pools).chain(installed).max()
    }
}

fn asked<'a>(observed: &'a Observed, wanted: Wanted<'_>) -> Vec<Pool<'a>> {
    let pool = |group: &crate::templates::Group<_>| Pool {
        name: group.name.clone(),
        class: Some(group.class.clone()),
        least: group.size.least().into(),
        desired: match group.size {
            Size::Fixed(count) => Some(count.into()),
            Size::Between { .. } => None,
        },
        part: observed.node_pools.of(&group.name),
        reported: None,
    };
    pools::sorted(wanted).into_iter().map(pool).collect()
}

/// Of one that stays as it was asked for.
fn repeated(part: &NodePoolObject) -> Pool<'_> {
    let spec = &part.manifest()["spec"];
    let desired = spec["replicas"].as_i64();
    Pool {
        name: part.group.clone(),
        class: part.object.metadata.annotation(ours::NODE_CLASS).map(str::to_owned),
        least: desired.or_else(|| spec["autoScaling"]["min"].as_i64()).unwrap_or(0),
        desired: desired.filter(|_| spec["autoScaling"] == Value::Null),
        part: Some(part),
        reported: None,
    }
}
