//! HostedCluster that another backend created. It is the source of truth for its cluster. Its nodes are not known here.

use testplatform_apis::{
    condition::{ControlPlaneLevel, Infrastructure},
    foreign::hosted_cluster::HostedCluster,
    status::ProgressStatus,
    text::bounded,
};

use super::{cluster_conditions, console, facts::HostedClusterFacts, failures, version};
use crate::cluster::backends::{BackendCondition, common::templated::FailureCondition};

/// A HostedCluster behind what another backend makes.
pub(in crate::cluster::backends) struct UnderlyingCluster<'a>(HostedClusterFacts<'a>);

impl<'a> UnderlyingCluster<'a> {
    pub fn from_remote(remote: &'a HostedCluster) -> Self {
        Self(HostedClusterFacts { remote, status: &remote.status.value, pools: vec![] })
    }

    pub fn api_answers(&self) -> bool {
        self.0.api_answers()
    }

    pub fn infrastructure_condition(&self) -> Option<BackendCondition<Infrastructure>> {
        cluster_conditions::infrastructure_condition(&self.0)
    }

    pub fn control_plane_condition(&self, ever_ready: bool) -> Option<BackendCondition<ControlPlaneLevel>> {
        cluster_conditions::control_plane_condition(&self.0, ever_ready)
    }

    /// Current step.
    pub fn progress(&self) -> ProgressStatus {
        cluster_conditions::read_progress(&self.0)
    }

    pub fn terminal_failures(&self) -> Vec<FailureCondition> {
        failures::terminal_failures(&self.0)
    }

    pub fn transient_failures(&self) -> Vec<FailureCondition> {
        failures::transient_failures(&self.0)
    }

    pub fn degrading_failures(&self) -> Vec<FailureCondition> {
        failures::degrading_failures(&self.0)
    }

    /// The version that it runs.
    pub fn version(&self) -> Option<String> {
        version::completed_update(self.0.status).map(|update| bounded(&update.version, 64))
    }

    pub fn api_server_url(&self) -> Option<String> {
        self.0.status.control_plane_endpoint.value.url().map(|url| bounded(&url, 2048))
    }

    /// Known once a version is there, which it is only with nodes.
    pub fn console_url(&self) -> Option<String> {
        version::completed_update(self.0.status).and_then(|_| console::build_console_url(self.0.remote))
    }
}
