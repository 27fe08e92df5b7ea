//! Observed state of a Cluster.

use jiff::Timestamp;
use testplatform_apis::{
    foreign::{
        cluster_api::{Cluster, ClusterStatus, conditions},
        meta::{ObservedCondition, find_condition},
    },
    template::{kind::ClusterApi, version::Version},
};

use crate::cluster::observed::Observed;

/// The Cluster as it was last observed.
pub(super) fn observed_cluster(observed: &Observed) -> Option<&Cluster> {
    observed.cluster_object::<ClusterApi>()
}

/// The whole picture.
pub(super) struct TopologyFacts<'a> {
    pub remote: &'a Cluster,
    pub status: &'a ClusterStatus,
}

impl<'a> TopologyFacts<'a> {
    /// None: nothing was seen yet.
    pub fn from_observed(observed: &'a Observed) -> Option<Self> {
        let remote = observed_cluster(observed)?;
        Some(Self { remote, status: &remote.status.value })
    }

    pub fn condition(&self, type_: &str) -> Option<&'a ObservedCondition> {
        find_condition(&self.status.conditions, type_)
    }

    pub fn is_true(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(ObservedCondition::is_true)
    }

    /// A condition that is there and not True: what is not known is not there.
    pub fn not_true(&self, type_: &str) -> Option<&'a ObservedCondition> {
        self.condition(type_).filter(|c| !c.is_true())
    }

    /// A condition that is False.
    pub fn is_false(&self, type_: &str) -> Option<&'a ObservedCondition> {
        self.condition(type_).filter(|c| c.is_false())
    }

    pub fn api_answers(&self) -> bool {
        self.is_true(conditions::CONTROL_PLANE_AVAILABLE)
    }

    /// Whether what is said is said of the spec as it is.
    pub fn is_current(&self) -> bool {
        self.status.observed_generation == Some(self.remote.metadata.generation)
    }

    /// Whether all that was asked for is there. The phase says nothing of it.
    pub fn is_up(&self) -> bool {
        self.is_true(conditions::AVAILABLE)
            && self.is_true(conditions::TOPOLOGY_RECONCILED)
            && self.is_current()
    }

    /// When the last of it came.
    pub fn up_since(&self) -> Option<Timestamp> {
        let all = [conditions::AVAILABLE, conditions::TOPOLOGY_RECONCILED];
        all.iter().filter_map(|type_| self.condition(type_)?.last_transition_time).max()
    }

    /// Whether a version, or another change, is still on its way to the machines.
    pub fn is_busy(&self, version: &Version) -> bool {
        let nodes = [&self.status.control_plane, &self.status.workers];
        let running = nodes.into_iter().flat_map(|nodes| &nodes.value.versions);
        let other = running.filter_map(|r| Version::try_from(r.version.clone()).ok()).any(|v| v != *version);
        other
            || !self.is_current()
            || !self.is_true(conditions::TOPOLOGY_RECONCILED)
            || self.is_true(conditions::ROLLING_OUT)
    }

    /// The oldest version that its control plane runs.
    pub fn version(&self) -> Option<Version> {
        let read = |text: &str| Version::try_from(text.to_owned()).ok();
        let reported = self.status.control_plane.value.versions.iter().filter_map(|r| read(&r.version)).min();
        // Where nobody counts them: what was asked for, once that is there.
        let settled = self.is_up() && !self.is_true(conditions::ROLLING_OUT);
        reported.or_else(|| read(self.remote.spec["topology"]["version"].as_str()?).filter(|_| settled))
    }
}
