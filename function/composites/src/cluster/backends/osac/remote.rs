//! The ClusterOrder of a claim, as the hub has it.

use testplatform_apis::{
    foreign::osac::{ClusterOrder, ClusterOrderStatus, Job},
    template::kind::Osac,
};

use crate::cluster::observed::Observed;

/// The ClusterOrder as it was last observed.
pub(super) fn observed_order(observed: &Observed) -> Option<&ClusterOrder> {
    observed.cluster_object::<Osac>()
}

/// The last job that was to bring its spec about.
pub(super) fn newest_job(status: &ClusterOrderStatus) -> Option<&Job> {
    status.provisioning_jobs.value.iter().rfind(|job| job.type_ == Job::PROVISION)
}
