//! What a HostedCluster says that another backend made: it is the truth of its cluster. What nodes it has nobody knows here.

use testplatform_apis::{
    condition::{ControlPlaneLevel, Infrastructure},
    foreign::hypershift::HostedCluster,
    status::ProgressStatus,
};

use super::{facts::Facts, levels, report, rollout, trouble};
use crate::{
    backend::{BackendCondition, templated::Trouble},
    text::bounded,
};

/// Readiness of the Object that looks at it, which governs the 30 s poll.
pub(in crate::backend) const CEL: &str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.conditions) && \
object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')";

/// A HostedCluster behind what another backend makes.
pub(in crate::backend) struct Behind<'a>(Facts<'a>);

impl<'a> Behind<'a> {
    pub fn of(remote: &'a HostedCluster) -> Self {
        Self(Facts { remote, status: &remote.status.value, pools: vec![] })
    }

    pub fn answers(&self) -> bool {
        self.0.answers()
    }

    pub fn infrastructure(&self) -> Option<BackendCondition<Infrastructure>> {
        levels::infrastructure(&self.0)
    }

    pub fn control_plane(&self, ever_ready: bool) -> Option<BackendCondition<ControlPlaneLevel>> {
        levels::control_plane(&self.0, ever_ready)
    }

    /// What it is at.
    pub fn progress(&self) -> ProgressStatus {
        levels::progress(&self.0)
    }

    pub fn terminal(&self) -> Vec<Trouble> {
        trouble::terminal(&self.0)
    }

    pub fn passing(&self) -> Vec<Trouble> {
        trouble::passing(&self.0)
    }

    pub fn degrading(&self) -> Vec<Trouble> {
        trouble::degrading(&self.0)
    }

    /// The version that it runs.
    pub fn version(&self) -> Option<String> {
        rollout::completed(self.0.status).map(|update| bounded(&update.version, 64))
    }

    pub fn api_server_url(&self) -> Option<String> {
        self.0.status.control_plane_endpoint.value.url().map(|url| bounded(&url, 2048))
    }

    /// Known once a version is there, which it is only with nodes.
    pub fn console_url(&self) -> Option<String> {
        rollout::completed(self.0.status).and_then(|_| report::address_of_console(self.0.remote))
    }
}
