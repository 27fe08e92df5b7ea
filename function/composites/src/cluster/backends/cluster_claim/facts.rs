//! Observed state of a ClusterClaim.

use jiff::Timestamp;
use testplatform_apis::{
    foreign::{
        cluster_claim::{ClusterClaim, conditions},
        meta::ObservedCondition,
    },
    hive_status::{HiveStatus, Ownership},
};

use crate::cluster::observed::MAX_CLOCK_SKEW;

/// The whole picture of one ClusterClaim.
pub(super) struct ClaimFacts<'a> {
    pub remote: &'a ClusterClaim,
    pub report: HiveStatus,
    /// Hive's condition.
    pub pending: Option<&'a ObservedCondition>,
    /// Hive's condition.
    pub running: Option<&'a ObservedCondition>,
}

impl ClaimFacts<'_> {
    /// Hive has chosen a cluster.
    pub fn is_bound(&self) -> bool {
        !self.remote.spec.value.namespace.is_empty()
    }

    /// The cluster has confirmed that it is this claim's.
    pub fn is_claimed(&self) -> bool {
        self.is_bound() && self.pending.is_some_and(ObservedCondition::is_false) && !self.is_foreign()
    }

    /// Whether no cluster comes any more, because the pool is on its way out.
    pub fn is_pool_deleted(&self) -> bool {
        !self.is_bound() && self.report.pool.as_ref().is_some_and(|pool| pool.found && pool.deleting)
    }

    /// Whether the cluster, or its claim, is being deleted on the hub before its time. Nothing that was deleted comes back. At the end of its own
    /// lifetime Hive deletes a claim, and the clocks of two clusters differ.
    pub fn is_being_deleted(&self, now: Timestamp) -> bool {
        let soon = now.checked_add(MAX_CLOCK_SKEW).unwrap_or(now);
        let deleted = self.remote.metadata.deletion_timestamp.is_some()
            || self.is_not_running_for(conditions::CLUSTER_DELETING);
        self.is_bound() && deleted && self.ends_at().is_none_or(|end| end > soon)
    }

    pub fn is_foreign(&self) -> bool {
        self.report.ownership == Some(Ownership::Mismatch)
    }

    pub fn is_running(&self) -> bool {
        self.is_claimed() && self.running.is_some_and(ObservedCondition::is_true)
    }

    /// Whether the cluster is being, or was, deleted under the claim.
    pub fn is_not_running_for(&self, reason: &str) -> bool {
        self.is_bound() && self.running.is_some_and(|c| c.is_false() && c.reason == reason)
    }

    /// Hive counts from the end of Pending on, and deletes the claim by itself.
    pub fn ends_at(&self) -> Option<Timestamp> {
        let since = self.pending.filter(|c| c.is_false())?.last_transition_time?;
        let lifetime = self.remote.status.value.lifetime.value?;
        since.checked_add(lifetime.as_signed()).ok()
    }
}
