//! Whose a ClusterDeployment is. Anybody who can write on a ClusterClaim can write another cluster's name into it: nothing on it is
//! immutable, and no webhook looks at it. What a ClusterDeployment says of itself nobody can change once it is said.

use testplatform_apis::hive_status::Ownership;

use super::object::{ClusterClaim, ClusterDeployment};

/// Whether the ClusterDeployment says that it belongs to this very claim.
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
