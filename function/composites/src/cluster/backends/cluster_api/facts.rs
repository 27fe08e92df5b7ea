//! Observed state of a Cluster.

use jiff::{SignedDuration, Timestamp};
use testplatform_apis::{
    foreign::{
        cluster_api::{Cluster, ClusterStatus, conditions},
        meta::{ObservedCondition, find_condition},
    },
    template::{kind::ClusterApi, version::Version},
};

use crate::cluster::observed::Observed;

/// Conditions that have to be about the current generation before the whole report is.
const GENERATION_CONDITIONS: [&str; 4] = [
    conditions::TOPOLOGY_RECONCILED,
    conditions::AVAILABLE,
    conditions::WORKERS_AVAILABLE,
    conditions::ROLLING_OUT,
];
/// Conditions that are True while Cluster API makes or replaces machines, which is long over when their nodes are there.
const CHANGE_CONDITIONS: [&str; 2] = [conditions::SCALING_UP, conditions::ROLLING_OUT];
/// How far apart a change and the nodes that it lacks are noticed.
const CHANGE_STARTS: SignedDuration = SignedDuration::from_mins(1);

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

    /// Whether the report is about the spec as it is. Several controllers write it, seconds apart: each notes the generation in its own
    /// conditions.
    pub fn is_current(&self) -> bool {
        let generation = self.remote.metadata.generation;
        let is_old = |type_: &str| {
            self.condition(type_).and_then(|c| c.observed_generation).is_some_and(|seen| seen < generation)
        };
        self.status.observed_generation == Some(generation) && !GENERATION_CONDITIONS.into_iter().any(is_old)
    }

    /// Whether fewer nodes are counted as available than there are to be. The condition is True up to a second earlier.
    pub fn lacks_nodes(&self) -> bool {
        let workers = &self.status.workers.value;
        let counted = workers.available_replicas.zip(workers.desired_replicas);
        counted.is_some_and(|(available, desired)| available < desired) || self.nodes_are_coming()
    }

    /// Whether machines are on their way that a change of size or version asked for: the nodes became too few at that time.
    pub fn nodes_are_coming(&self) -> bool {
        let Some(since) = self.not_true(conditions::WORKERS_AVAILABLE) else { return false };
        CHANGE_CONDITIONS.iter().filter_map(|type_| self.condition(type_)).any(|change| {
            let times = since.last_transition_time.zip(change.last_transition_time);
            change.is_true()
                || times.is_some_and(|(since, change)| since.duration_since(change).abs() <= CHANGE_STARTS)
        })
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

    /// The oldest version that its control plane runs, once that has answered.
    pub fn version(&self) -> Option<Version> {
        if !self.is_true(conditions::CONTROL_PLANE_INITIALIZED) {
            return None;
        }
        let read = |text: &str| Version::try_from(text.to_owned()).ok();
        let reported = self.status.control_plane.value.versions.iter().filter_map(|r| read(&r.version)).min();
        // Releases before 1.14 report no versions: the requested one, once all of it is there.
        let settled = self.is_up() && !self.is_true(conditions::ROLLING_OUT);
        reported.or_else(|| read(self.remote.spec["topology"]["version"].as_str()?).filter(|_| settled))
    }
}
