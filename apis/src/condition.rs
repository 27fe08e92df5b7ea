//! Conditions of the claim: types and reasons as enums, so that a new one is a change of this file.

use std::fmt;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident $(= $word:literal)?,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => words!(@word $variant $($word)?),)* }
            }

            /// The value for a word on the wire.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.as_str() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
    (@word $variant:ident $word:literal) => { $word };
    (@word $variant:ident) => { stringify!($variant) };
}

/// Prefix of the message about a change that the hub refused. The kubectl plugin recognizes it.
pub const REFUSED: &str = "the hub refuses";

mod assignment;
mod event;
mod pool;
mod space;
mod template;

pub use assignment::{Assigned, Running};
pub use event::{Chosen, EventReason, FatalReason, Mirrored};
pub use pool::{
    Drained, NameUnique, PoolConditionType, PoolCurrency, PoolHealth, PoolRequested, RefreshRecommended,
    Refreshing, Releasable,
};
pub use space::{SPACE_READY, SpaceReady};
pub use template::{
    ControlPlaneLevel, HubSelection, Infrastructure, NodesLevel, PlatformCredentials, SetupLevel, SpecLevel,
    TearDown, TemplateConditionType,
};

words! {
    /// The conditions that are ours to set, in the order in which they are emitted.
    ConditionType {
        /// The hub's own word for the phase, in the message; status always True. Unmodified Tekton tasks read it.
        EphemeralClusterPhase = "_EphemeralClusterPhase",
        /// URL of the Prow job, in the message; status always True. Unmodified Tekton tasks read it.
        ProwJobUrl = "_ProwJobURL",
        /// True: the kubeconfig is there. Given in the same response that makes the composite ready.
        ClusterReady,
        /// True: nothing is left that incurs cost.
        ProwJobCompleted,
        /// Whether the kubeconfig has reached the claim.
        CredentialsPublished,
        /// Whether what the claim asks for can be had.
        RequestAccepted,
        /// Whether what is on the hub is what we asked for.
        RemoteConsistent,
    }
}

words! {
    /// Status of a condition.
    ConditionStatus { #[doc = "It holds."] True, #[doc = "It does not."] False, #[doc = "Nobody knows."] Unknown, }
}

words! {
    /// Reasons of `ClusterReady`.
    ClusterReady {
        /// True: the cluster is there and its kubeconfig too.
        Ready,
        /// True: as Ready; the end of its lifetime is near.
        Expiring,
        /// True: it was ready, and the hub now reports trouble. The credentials stay.
        Degraded,
        /// True until the end of a teardown, if it was ready before.
        Deprovisioning,
        /// Nothing was asked of the hub yet, or the hub has not taken it up.
        Pending,
        /// The hub is at it.
        Provisioning,
        /// As Provisioning, and slower than 90 % of similar clusters.
        Late,
        /// The hub says that the cluster is there; its kubeconfig has not arrived yet.
        WaitingForCredentials,
        /// The cluster is there; what its template sets up in it is not yet.
        SettingUp,
        /// The cluster is there; what its template sets up in it was not ready in time, and may yet come to be.
        SetupFailed,
        /// The cluster is gone, as asked.
        Deprovisioned,
        /// There will be no cluster.
        Failed,
    }
}

/// Reason of `ProwJobCompleted` by which clients recognize success. Konflux's task for deprovisioning takes every other reason for a
/// failure (konflux-tasks, commit 2c20db0). The way it ended precedes the message.
pub const ENDED_WELL: &str = "ProwJobCompleted";

/// Splits a True condition `ProwJobCompleted` into the way it ended and its message.
///
/// ```
/// # use testplatform_apis::condition::split_completion;
/// assert_eq!(split_completion("ProwJobCompleted", "TornDown: nothing is left"), ("TornDown", "nothing is left"));
/// assert_eq!(split_completion("ProwJobCompleted", "prowjob state: success"), ("ProwJobCompleted", "prowjob state: success"));
/// assert_eq!(split_completion("ProwJobFailure", "Error: exit 1"), ("ProwJobFailure", "Error: exit 1"));
/// ```
pub fn split_completion<'a>(reason: &'a str, message: &'a str) -> (&'a str, &'a str) {
    let is_word = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(|c| c.is_ascii_alphanumeric())
    };
    match message.split_once(": ") {
        Some((word, words)) if reason == ENDED_WELL && is_word(word) => (word, words),
        _ => (reason, message),
    }
}

/// Reason and message of a True condition `ProwJobCompleted` after success: the inverse of [`split_completion`].
pub fn ended_well(how: &str, words: &str) -> (&'static str, String) {
    let message = if how == ENDED_WELL { words.to_owned() } else { format!("{how}: {words}") };
    (ENDED_WELL, message)
}

words! {
    /// Ways to end that are ours, and reasons of `ProwJobCompleted` until then; a finished job's own reason is repeated instead. After
    /// success the reason is [`ENDED_WELL`].
    JobCompleted {
        /// No job yet.
        NotStarted,
        /// The job runs.
        Running,
        /// The end was asked for and is under way.
        TearingDown,
        /// True: the cluster was torn down because the claim said so.
        TornDown,
        /// True: the cluster was torn down at the end of its lifetime.
        Expired,
        /// True: there was never anything that costs money.
        NothingToTearDown,
        /// True: the remote object is gone.
        RemoteDeleted,
        /// True: another object has the remote object's name.
        RemoteReplaced,
    }
}

words! {
    /// Reasons of `CredentialsPublished`.
    Credentials {
        /// True: both keys have a value.
        Published,
        /// True: the kubeconfig is there, the kubeadmin password is empty.
        PublishedWithoutPassword,
        /// The hub has not taken up the request yet.
        NotAssigned,
        /// There is no cluster to have credentials for: not yet, or not any more.
        NotRunning,
        /// The Secret that the hub names was not read yet, or does not exist.
        SecretMissing,
        /// The Secret has no kubeconfig, or an empty one.
        KeyMissing,
        /// The cluster does not say yet where its credentials are.
        MetadataMissing,
        /// The kubeconfig is not one that may be handed on.
        KubeconfigRejected,
        /// The cluster that the hub assigned is somebody else's.
        OwnershipMismatch,
        /// The Secret that the owner asks for exists and is something else's.
        SecretTaken,
    }
}

words! {
    /// Reasons of `RequestAccepted`. In the order of weight: of several, the first is the reason.
    Request {
        /// The claim is invalid, in a field that cannot change any more.
        InvalidClaim,
        /// The hub refuses a field that it does not know.
        UnknownField,
        /// The hub refuses the request.
        HubRefused,
        /// The EnvironmentConfig that names this Konflux cluster does not exist.
        EnvironmentConfigMissing,
        /// The EnvironmentConfig that names this Konflux cluster cannot be used.
        EnvironmentConfigInvalid,
        /// The EnvironmentConfig with the catalogue of pools does not exist.
        PoolsMissing,
        /// The catalogue of pools, or the entry that the claim names, cannot be used.
        CatalogueInvalid,
        /// The catalogue has no template of the name that the claim says, or it is switched off.
        TemplateNotFound,
        /// The template is not offered to the claim's namespace.
        TemplateNotAllowed,
        /// The template does not have the version or the image that the claim asks for.
        VersionUnsupported,
        /// The claim sets a field that the template cannot honour, or to a value that it does not allow.
        FieldRefused,
        /// A parameter is not one of the template's, or has a value that it does not allow.
        InvalidParameter,
        /// The node groups are not such as the template allows.
        InvalidNodeGroups,
        /// A Secret that the claim brings may not be read by the carrier.
        SecretForbidden,
        /// A Secret that the claim brings does not exist.
        SecretNotFound,
        /// A Secret that the claim brings lacks a key.
        SecretIncomplete,
        /// The Secrets that the claim brings are on their way to the hub, or what is to hold them there is not created yet.
        SecretsNotCarried,
        /// The cluster's own credential of its cloud is not created yet.
        PlatformCredentialsNotReady,
        /// The template's prerequisites on the hub are not ready yet.
        PrerequisitesNotReady,
        /// The hub does not know a field that the platform writes.
        FieldNotDeclared,
        /// No pool fits what the claim asks for, or the hub has no pool of the name that the catalogue says.
        PoolNotFound,
        /// Pools fit, and none is offered to the claim's namespace.
        PoolNotAllowed,
        /// The pool is being deleted.
        PoolDeleting,
        /// The pool has no cluster left to give, and may make no more.
        NoCapacity,
        /// Every hub with a pool that fits is full or takes no new claims.
        HubFull,
        /// The hubs were not read yet.
        HubsNotRead,
        /// There is no hub of the name that the claim says.
        PinnedHubMissing,
        /// No hub has what the claim asks for.
        NoHubMatches,
        /// Hubs fit, and none is offered to the claim's namespace.
        TenantNotAllowed,
        /// The claim's namespace has as many clusters as it may have; earlier claims come first.
        QuotaExceeded,
        /// A TestCluster that is to take a cluster over waits for it.
        TakeOverWaits,
        /// True: the cluster was let go, and is another object's to end.
        HandedOver,
        /// True: the cluster is to be handed over, and something is missing for that.
        HandOverWaits,
        /// True: a field was changed that cannot change; the cluster stays as it is.
        ChangeIgnored,
        /// True: `spec.lifetime` is no duration of at least a minute; what held before goes on.
        LifetimeIgnored,
        /// True: `spec.lifetime` is longer than what may be had.
        LifetimeClamped,
        /// True: `spec.lifetime` is longer than the hub lets a cluster live.
        LifetimeBeyondHub,
        /// True: a Secret that the claim brought cannot be read any more; the hub keeps what it has.
        SecretsOutdated,
        /// True: the template, or the release of it, is deprecated.
        TemplateDeprecated,
        /// True: an annotation is not a legal run name and was left out.
        AnnotationIgnored,
        /// True: fields that this version does not know were handed to the hub.
        UnknownFieldForwarded,
        /// True: a composite without a claim, an administrator's.
        NoTenant,
        /// True.
        Accepted,
    }
}

words! {
    /// Reasons of `RemoteConsistent`.
    Remote {
        /// True: what is on the hub is what we asked for.
        InSync,
        /// Unknown: the hub has not reported a status yet.
        NotObserved,
        /// Unknown: nothing is left that tells on which hub the cluster is; an administrator has to help.
        PlaceUnknown,
        /// The remote object vanished.
        RemoteDeleted,
        /// Another object has its name.
        RemoteReplaced,
        /// It vanished before it was taken up, and is asked for once more.
        Recreating,
        /// The hub does not know a field of ours.
        UnknownField,
        /// The hub refuses what we ask for.
        HubRefused,
        /// The hub cannot be reached, or does not let us in.
        HubUnreachable,
        /// The hub's API server answers with an error of its own.
        HubFailing,
        /// The hub serves no objects of the kind.
        KindNotServed,
        /// The Object is paused by an administrator.
        Paused,
        /// The hub's report is unreadable.
        Unreadable,
    }
}

words! {
    /// Reason why a claim Failed. Final; also the value of the annotation that backs it up.
    Failure {
        /// The claim is invalid, in a field that cannot change any more.
        InvalidClaim,
        /// The hub does not know a field of the request.
        UnknownField,
        /// The hub refused the request for good.
        HubRefused,
        /// The job that makes the cluster failed.
        ProwJobFailed,
        /// It was not ready within the provision timeout.
        ProvisionTimeout,
        /// The remote object vanished.
        RemoteDeleted,
        /// Another object took the remote object's name.
        RemoteReplaced,
        /// The cluster was deleted, and what asked for it stays.
        ClusterDeleted,
        /// The Object that carried the remote object is gone.
        WriterLost,
        /// It Failed in an earlier pass, and why is not known any more.
        Earlier,
    }
}

/// One condition of the claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its type; one of [`ConditionType`], or one that the hub reports.
    pub type_: String,
    /// Its status.
    pub status: ConditionStatus,
    /// A CamelCase word. The two pseudo-conditions have none.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

impl Condition {
    /// A condition of a pool.
    pub fn of_pool(
        type_: PoolConditionType,
        status: ConditionStatus,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { type_: type_.as_str().into(), status, reason: reason.into(), message: message.into() }
    }

    /// A condition that only claims with a template have.
    pub fn of_template(
        type_: TemplateConditionType,
        status: ConditionStatus,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { type_: type_.as_str().into(), status, reason: reason.into(), message: message.into() }
    }

    /// A condition of ours.
    pub fn new(
        type_: ConditionType,
        status: ConditionStatus,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { type_: type_.as_str().into(), status, reason: reason.into(), message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camel(word: &str) -> bool {
        word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(|c| c.is_ascii_alphanumeric())
    }

    #[test]
    fn reasons_are_camel_case_and_parse_back() {
        let reasons = [
            ClusterReady::ALL.iter().map(|r| r.as_str()).collect::<Vec<_>>(),
            JobCompleted::ALL.iter().map(|r| r.as_str()).collect(),
            Credentials::ALL.iter().map(|r| r.as_str()).collect(),
            Assigned::ALL.iter().map(|r| r.as_str()).collect(),
            Running::ALL.iter().map(|r| r.as_str()).collect(),
            Request::ALL.iter().map(|r| r.as_str()).collect(),
            Remote::ALL.iter().map(|r| r.as_str()).collect(),
            EventReason::ALL.iter().map(|r| r.as_str()).collect(),
            FatalReason::ALL.iter().map(|r| r.as_str()).collect(),
            Chosen::ALL.iter().map(|r| r.as_str()).collect(),
            Mirrored::ALL.iter().map(|r| r.as_str()).collect(),
            PoolRequested::ALL.iter().map(|r| r.as_str()).collect(),
            PoolHealth::ALL.iter().map(|r| r.as_str()).collect(),
            Refreshing::ALL.iter().map(|r| r.as_str()).collect(),
            Releasable::ALL.iter().map(|r| r.as_str()).collect(),
            Drained::ALL.iter().map(|r| r.as_str()).collect(),
            HubSelection::ALL.iter().map(|r| r.as_str()).collect(),
            Infrastructure::ALL.iter().map(|r| r.as_str()).collect(),
            ControlPlaneLevel::ALL.iter().map(|r| r.as_str()).collect(),
            NodesLevel::ALL.iter().map(|r| r.as_str()).collect(),
            SetupLevel::ALL.iter().map(|r| r.as_str()).collect(),
            SpecLevel::ALL.iter().map(|r| r.as_str()).collect(),
            TearDown::ALL.iter().map(|r| r.as_str()).collect(),
        ];
        for reason in reasons.concat() {
            assert!(camel(reason), "{reason}");
        }
        for request in Request::ALL {
            assert_eq!(Request::parse(request.as_str()), Some(*request));
        }
        assert_eq!(ConditionType::parse("_ProwJobURL"), Some(ConditionType::ProwJobUrl));
    }
}
