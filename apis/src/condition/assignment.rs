//! Reasons of the conditions that only claims for a cluster out of a pool have.

use std::fmt;

words! {
    /// Reasons of `ClusterAssigned`, which claims for a cluster out of a pool have.
    Assigned {
        /// True: the cluster belongs to this claim.
        Claimed,
        /// The pool has no running cluster left for this claim.
        NoClusters,
        /// As `NoClusters`, and one is being started.
        Resuming,
        /// As `NoClusters`, and one is being installed.
        Installing,
        /// The pool is as large as it may be.
        CapacityBlocked,
        /// The pool lacks what it needs to install clusters.
        PoolMisconfigured,
        /// The pool's inventory is used up.
        InventoryExhausted,
        /// The hub has no such pool, or the catalogue none that fits.
        PoolNotFound,
        /// The pool is being deleted.
        PoolDeleting,
        /// A cluster was chosen, and its side has not confirmed yet.
        AssignmentInProgress,
        /// The cluster that was chosen belongs to somebody else.
        OwnershipMismatch,
        /// The namespace has as many clusters as it may have.
        QuotaExceeded,
        /// The cluster was given back.
        Returned,
        /// Unknown: nobody has looked at the claim yet.
        AwaitingPool,
    }
}

words! {
    /// Reasons of `ClusterRunning` that are ours; while a cluster is there and does not run, its power state is the reason.
    Running {
        /// True: it runs.
        Running,
        /// It does not run, and in which state it is was not reported.
        Resuming,
        /// It is being deleted.
        Deleting,
        /// It was deleted.
        Deleted,
        /// Unknown: no cluster is assigned.
        NotAssigned,
    }
}
