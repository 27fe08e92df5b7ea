//! Ownership of a ClusterDeployment. Anybody who can edit a ClusterClaim can write another cluster's name into it: no field is immutable, and
//! no webhook checks it. The claim reference in a ClusterDeployment cannot be changed once it is set.

use testplatform_apis::hive_status::Ownership;

use super::object::{ClusterClaim, ClusterDeployment};

/// Checks whether the ClusterDeployment belongs to this exact claim.
pub fn of(claim: &ClusterClaim, deployment: &ClusterDeployment) -> Ownership {
    let Some(pool) = &deployment.spec.value.cluster_pool_ref else { return Ownership::Mismatch };
    // A claim is in the namespace of its pool.
    if pool.namespace != claim.namespace() || pool.pool_name != claim.pool() {
        return Ownership::Mismatch;
    }
    if pool.claim_name.is_empty() {
        return Ownership::Unconfirmed;
    }
    if pool.claim_name == claim.name() { Ownership::Confirmed } else { Ownership::Mismatch }
}
