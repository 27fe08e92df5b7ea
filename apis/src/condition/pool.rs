//! Conditions of pools, and their reasons. `RequestAccepted` and `RemoteConsistent` mean the same as those of claims.

use std::fmt;

words! {
    /// The conditions of a pool, in the order in which they are emitted.
    PoolConditionType {
        /// Whether what the definition asks for can be had.
        RequestAccepted,
        /// Whether what is on the hub is what we asked for.
        RemoteConsistent,
        /// Whether the pool can install clusters.
        PoolHealthy,
        /// Whether the pool may make more clusters. False is normal for a full pool.
        CapacityAvailable,
        /// Whether the clusters that nobody has claimed are what the pool says now.
        PoolCurrent,
        /// Whether no other pool of the hub has its name.
        PoolNameUnique,
        /// Whether clusters are being replaced because it was asked for.
        Refreshing,
        /// True: what the pool refers to has another content under the same name.
        RefreshRecommended,
        /// True: no cluster made with the old credentials is left.
        OldCredentialsReleasable,
        /// Whether the pool was deleted as requested.
        Drained,
    }
}

words! {
    /// Reasons of `RequestAccepted` of a pool. In the order of weight: of several, the first is the reason.
    PoolRequested {
        /// The definition is invalid.
        InvalidPool,
        /// Another pool of the hub has its name.
        NameTaken,
        /// The other pools in Git were not read yet.
        PoolsNotRead,
        /// The hub does not know a field.
        UnknownField,
        /// The hub refuses the pool.
        HubRefused,
        /// Two windows overlap.
        WindowsOverlap,
        /// The schedule cannot be used: a time zone that does not exist, a time that is none.
        ScheduleInvalid,
        /// True: where the pool is cannot change.
        ChangeIgnored,
        /// True: the size is not let go of yet.
        HandingOver,
        /// True.
        Accepted,
    }
}

words! {
    /// Reasons of `PoolHealthy`.
    PoolHealth {
        /// True: nothing is known to be wrong.
        Healthy,
        /// Something that it needs is missing.
        MissingDependencies,
        /// Entries of its inventory are missing or broken.
        InventoryInvalid,
        /// No cluster is there, and the last installation failed.
        InstallationsFail,
        /// Unknown: it was not reported by the hub yet.
        NotObserved,
    }
}

words! {
    /// Reasons of `PoolCurrent` and `CapacityAvailable` where Hive has none.
    PoolCurrency {
        /// Unknown: Hive has not reported it.
        NotReported,
    }
}

words! {
    /// Reasons of `PoolNameUnique`.
    NameUnique {
        /// True: nobody knows another.
        Unique,
        /// Another pool has the name.
        NameTaken,
    }
}

words! {
    /// Reasons of `Refreshing`.
    Refreshing {
        /// False: none was asked for.
        NotAsked,
        /// False: asked for, and nobody has taken it up: the hub-side provider does not look after pools, or has not looked yet.
        NotTakenUp,
        /// False: somebody else decides about the size.
        ExternalScaling,
        /// True: clusters are put to sleep, or installations are waited for.
        Settling,
        /// True: clusters are removed.
        Down,
        /// True: their places are filled.
        Up,
        /// False: done.
        Done,
        /// False: removing clusters did not remove those that were meant.
        Stalled,
    }
}

words! {
    /// Reasons of `RefreshRecommended`.
    RefreshRecommended {
        /// True: another release is under the name of the ClusterImageSet.
        ImageSetChanged,
        /// False.
        Unchanged,
        /// Unknown: the hub-side provider does not look after pools, or has not looked yet.
        NotWatched,
    }
}

words! {
    /// Reasons of `OldCredentialsReleasable`.
    Releasable {
        /// False: there are none that are known of.
        NoRotation,
        /// False: clusters made with them are there.
        InUse,
        /// False: the pool is emptied before the new ones are used.
        Draining,
        /// False: the pool has to be emptied before the new ones are used, by whoever scales it.
        ExternalScaling,
        /// True.
        NotInUse,
        /// Unknown: the hub-side provider does not look after pools, or has not looked yet.
        NotWatched,
    }
}

words! {
    /// Reasons of `Drained`.
    Drained {
        /// False: nobody asked.
        NotAsked,
        /// False: somebody deleted the pool on the hub; it is created again after that deletion.
        DeletedOnTheHub,
        /// False: claimed clusters hold the pool.
        ClaimsHoldIt,
        /// False: clusters are being destroyed.
        Draining,
        /// True: the pool is gone.
        Gone,
    }
}
