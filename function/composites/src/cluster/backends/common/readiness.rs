//! Readiness of Objects that several backends have, as CEL. It governs the 30 s poll where watches are dead.

/// Of an Object with a NodePool.
pub(in crate::cluster::backends) const NODE_POOL: &str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.conditions) && \
object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')";
/// Of an Object that observes a HostedCluster.
pub(in crate::cluster::backends) const HOSTED_CLUSTER: &str = "!has(object.metadata.deletionTimestamp) && has(object.status) && has(object.status.conditions) && \
object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')";
