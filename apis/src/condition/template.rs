//! Conditions that only claims with a template have, from the first response on, and their reasons.

use std::fmt;

words! {
    /// The conditions that claims with a template have beside the others, in the order in which they are emitted.
    TemplateConditionType {
        /// Whether it is known on which hub the cluster is made.
        HubSelected,
        /// Whether the infrastructure of the cluster is ready: machines of the control plane, networks, load balancers.
        InfrastructureReady,
        /// Whether its API server answers.
        ControlPlaneAvailable,
        /// Whether the nodes that were asked for are ready.
        NodesReady,
        /// Whether what the template sets up on the cluster is there.
        TemplateApplied,
        /// Whether the cluster's own credential of its cloud works. Only of clusters that have one.
        PlatformCredentialsValid,
        /// Whether the cluster matches the claim now.
        SpecApplied,
        /// True: nothing is left that incurs cost.
        TearDownComplete,
    }
}

words! {
    /// Reasons of `HubSelected`.
    HubSelection {
        /// True: the claim names it.
        HubNamed,
        /// True: no other fits.
        OnlyHub,
        /// True: others fit, and take nothing more for now.
        OnlyHubWithRoom,
        /// True: of those that fit it has the most room for its weight.
        MostRoom,
        /// True: the cluster is there, and why is not remembered.
        Pinned,
        /// The hubs were not read yet.
        HubsNotRead,
        /// The hub that the claim names is not there.
        PinnedHubMissing,
        /// None has what the claim asks for.
        NoHubMatches,
        /// The matching hubs do not serve this namespace.
        TenantNotAllowed,
        /// The matching hubs do not support this version.
        VersionUnsupported,
        /// The matching hubs are full, closed or unhealthy.
        NoCapacity,
        /// Unknown: no hub was chosen yet.
        NotChosen,
    }
}

words! {
    /// Reasons of `InfrastructureReady`.
    Infrastructure {
        /// True: it is there.
        Available,
        /// It is being made.
        Provisioning,
        /// Something on the hub is in its way.
        Blocked,
        /// The cloud or the hub gives no more.
        QuotaExceeded,
        /// The cloud does not accept the credentials.
        CredentialsInvalid,
        /// Unknown: the hub has not reported a status yet.
        NotObserved,
    }
}

words! {
    /// Reasons of `ControlPlaneAvailable`.
    ControlPlaneLevel {
        /// True: it answers.
        Available,
        /// It is being made.
        Creating,
        /// It was there and does not answer.
        Unavailable,
        /// It answers, and the hub reports trouble.
        Degraded,
        /// Unknown: the hub has not reported a status yet.
        NotObserved,
    }
}

words! {
    /// Reasons of `NodesReady`.
    NodesLevel {
        /// True: all that were asked for are ready.
        AllReady,
        /// True: none was asked for.
        NoNodesRequested,
        /// They are being made.
        Waiting,
        /// There are fewer machines than were asked for.
        NotEnough,
        /// There are machines that are not healthy.
        Unhealthy,
        /// Unknown: the hub does not report this.
        NotReported,
    }
}

words! {
    /// Reasons of `TemplateApplied`.
    SetupLevel {
        /// True: it is there.
        Applied,
        /// True: the template sets up nothing.
        NothingToApply,
        /// It is being set up.
        Running,
        /// It could not be set up.
        SetupFailed,
        /// The job that sets it up failed.
        JobFailed,
        /// Unknown: the hub does not report this.
        NotReported,
    }
}

words! {
    /// Reasons of `PlatformCredentialsValid`.
    PlatformCredentials {
        /// True: it works, and is the one that is wanted.
        Valid,
        /// It works, another one is wanted, and that could not be made.
        RotationFailed,
        /// There is none that works, and nobody by whom one can be made.
        OwnerInvalid,
        /// It cannot start: the request is unreadable, or the name of its Secret is in use.
        Blocked,
        /// Unknown: the identity service does not answer.
        Unreachable,
        /// Unknown: the cluster is gone, and it is being deleted.
        Leaving,
        /// Unknown: the hub does not report this.
        NotReported,
    }
}

words! {
    /// Reasons of `SpecApplied`.
    SpecLevel {
        /// True: the cluster matches the claim.
        UpToDate,
        /// The hub is at it.
        Applying,
        /// The claim asks for what cannot be had; the cluster stays as it is.
        Rejected,
        /// It is asked for once something else is done.
        Queued,
        /// The job that brings it about failed; it is tried again.
        JobFailed,
        /// The claim asks for a change of what cannot change; the cluster stays as it is.
        Immutable,
        /// The template is not in the catalogue any more, or cannot be used; the cluster stays as it is.
        TemplateNotFound,
        /// Unknown: no request has been sent to the hub yet, or it is not remembered what.
        NotObserved,
    }
}

words! {
    /// Reasons of `TearDownComplete` that are ours; a cluster that is gone has the reason of `ProwJobCompleted`.
    TearDown {
        /// Teardown was not requested.
        NotRequested,
        /// It is under way.
        InProgress,
        /// It does not come about, and somebody has to help.
        Blocked,
    }
}
