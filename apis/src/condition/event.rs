//! Reasons that are said elsewhere than in a condition of the claim's own: in events, in FATAL answers, in the status.

use std::fmt;

words! {
    /// Reasons of events about a claim. A refusal has the word of `RequestAccepted` instead.
    EventReason {
        /// The claim is invalid, in a field that cannot change any more.
        ValidationFailed,
        /// The request was refused before, and is not any more.
        RequestAccepted,
        /// The request is accepted, and not all of it as it stands.
        RequestAdjusted,
        /// There is a Prow job.
        ProwJobCreated,
        /// The hub is at it.
        Provisioning,
        /// Later than nine in ten of its kind.
        ProvisioningLate,
        /// There will be no cluster.
        ProvisioningFailed,
        /// The cluster is there and its kubeconfig too.
        ClusterReady,
        /// The kubeconfig has reached the Secret.
        CredentialsPublished,
        /// The kubeconfig is published, and the claim's Secret cannot be written.
        CredentialsNotDelivered,
        /// It was ready, and the hub now reports trouble.
        ClusterDegraded,
        /// The end of its lifetime is near.
        Expiring,
        /// Its lifetime is over, and it is torn down.
        Expired,
        /// The end was asked for and is under way.
        TearingDown,
        /// Nothing is left that costs money.
        TornDown,
        /// It failed after it was ready.
        ClusterFailed,
        /// It is gone, although teardown was not requested.
        ClusterLost,
        /// The object on the hub differs from the requested one, or cannot be observed.
        RemoteUnavailable,
        /// The object on the hub matches the requested one again.
        RemoteAvailable,
    }
}

words! {
    /// Reasons of a FATAL answer, after which Crossplane changes nothing.
    FatalReason {
        /// A bug of ours, or an answer that Crossplane could not receive.
        InternalError,
        /// The request has no composite with a name.
        NoComposite,
        /// A part of the request cannot be read.
        Unreadable,
        /// A newer version made something that this one would destroy.
        NewerVersion,
    }
}

words! {
    /// Reason for the choice of hub and pool, in `status.hub.reason`.
    Chosen {
        /// There is one hub for this kind of claim.
        OnlyHub,
        /// The claim names the pool.
        PoolNamed,
        /// No other pool fits.
        OnlyPool,
        /// Other pools fit, and are full.
        OnlyPoolWithRoom,
        /// One of several, by their weights.
        Weight,
        /// It was chosen before.
        Pinned,
    }
}

words! {
    /// Reasons of ours on conditions that are otherwise the hub's.
    Mirrored {
        /// The hub had the condition once, and does not any more.
        NotReported,
    }
}
