//! Versions that a HostedCluster has rolled out.

use testplatform_apis::foreign::hosted_cluster::{HostedClusterStatus, Update};

/// The release that is there, or on its way.
pub(in crate::cluster::backends) fn newest_update(status: &HostedClusterStatus) -> Option<&Update> {
    status.version.value.history.first()
}

/// The newest release that is there.
pub(in crate::cluster::backends) fn completed_update(status: &HostedClusterStatus) -> Option<&Update> {
    status.version.value.history.iter().find(|update| update.is_completed())
}
