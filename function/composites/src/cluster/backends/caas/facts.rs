//! Observed state of a ClusterTemplateInstance and of its underlying HostedCluster.

use jiff::Timestamp;
use testplatform_apis::{
    foreign::{
        caas::{Instance, Status, conditions, phases},
        meta::{ObservedCondition, find_condition},
    },
    template::kind::Caas,
};

use crate::cluster::{
    backends::hosted_cluster::UnderlyingCluster,
    observed::{HostedClusterObserver, Observed},
};

/// The ClusterTemplateInstance as it was last observed.
pub(super) fn observed_instance(observed: &Observed) -> Option<&Instance> {
    observed.cluster_object::<Caas>()
}

/// The whole picture.
pub(super) struct InstanceFacts<'a> {
    pub remote: &'a Instance,
    pub status: &'a Status,
    /// The HostedCluster of its chart, where it is looked at and there.
    pub hosted_cluster: Option<UnderlyingCluster<'a>>,
    /// Whether what is known of that is of now.
    pub is_hosted_cluster_current: bool,
}

impl<'a> InstanceFacts<'a> {
    /// None: nothing was seen yet.
    pub fn from_observed(observed: &'a Observed) -> Option<Self> {
        let remote = observed_instance(observed)?;
        let hosted = observed.hosted.as_ref().filter(|hosted| hosted.uid() == remote.metadata.uid);
        let is_hosted_cluster_current = hosted.is_some_and(|hosted| hosted.current_remote().is_some());
        let behind = hosted.and_then(HostedClusterObserver::remote).map(UnderlyingCluster::from_remote);
        Some(Self { remote, status: &remote.status.value, hosted_cluster: behind, is_hosted_cluster_current })
    }

    pub fn condition(&self, type_: &str) -> Option<&'a ObservedCondition> {
        find_condition(&self.status.conditions, type_)
    }

    pub fn is_true(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(ObservedCondition::is_true)
    }

    pub fn phase(&self) -> &'a str {
        &self.status.phase
    }

    /// Whether what Argo CD makes of the chart is wrong, and the cluster did not come of it.
    pub fn has_application_failed(&self) -> bool {
        let reason = self.condition(conditions::INSTALLED).map_or("", |c| c.reason.as_str());
        self.phase() == phases::INSTALL_FAILED && conditions::APPLICATION_FAILS.contains(&reason)
    }

    pub fn api_answers(&self) -> bool {
        let unreached = [phases::LOGIN_PENDING, phases::ARGO_FAILED].contains(&self.phase());
        match &self.hosted_cluster {
            Some(behind) => behind.api_answers(),
            None => self.is_true(conditions::INSTALLED) && !unreached,
        }
    }

    /// Whether all that was asked for is there. The phase says so for ever once it was.
    pub fn is_up(&self) -> bool {
        let named = self.status.kubeconfig.value.as_ref().is_some_and(|secret| !secret.name.is_empty());
        self.phase() == phases::READY
            && self.is_true(conditions::INSTALLED)
            && self.is_true(conditions::SET_UP)
            && named
            && self.api_answers()
    }

    /// When the last of it came.
    pub fn up_since(&self) -> Option<Timestamp> {
        let all = [conditions::INSTALLED, conditions::SET_UP];
        all.iter().filter_map(|type_| self.condition(type_)?.last_transition_time).max()
    }
}
