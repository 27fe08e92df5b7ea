//! Conditions: the words that they are made of, and how they are carried from pass to pass.

use jiff::Timestamp;
pub use testplatform_apis::foreign::ephemeral_cluster::conditions::{
    CLUSTER_READY, PROW_JOB_COMPLETED, PROW_JOB_CREATING, TEST_COMPLETED,
};

use super::status::Condition;

/// Once it was ready: whether what is published is known to be what the cluster has. Ready itself does not depend on it,
/// so losing sight of a build cluster takes nobody's cluster away.
pub const CREDENTIALS_IN_SYNC: &str = "CredentialsInSync";

/// Why a condition is as it is. The refusals of a ProwJob are not among them: they come with the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The ProwJob is being created.
    Creating,
    /// There is a ProwJob.
    ProwJobCreated,
    /// The API server did not take the ProwJob; tried again.
    ProwJobCreateFailed,
    /// Another controller wrote the status lately: it may be creating a ProwJob itself.
    HeldByOtherController,
    /// The spec cannot be read.
    EphemeralClusterValidationFailure,
    /// The credentials are published.
    CredentialsPublished,
    /// They are not complete yet.
    CredentialsPending,
    /// They could not be read where they come from.
    CredentialsUnreadable,
    /// The cluster does not take the kubeconfig that would take the place of the published one.
    KubeconfigRejected,
    /// Somebody else's Secret has the name of the one to publish.
    CredentialsNotOwned,
    /// The Secret could not be written; tried again.
    PublishFailed,
    /// The ProwJob has no build cluster yet.
    ProwJobScheduling,
    /// ci-operator has no namespace, not yet or not any more.
    NamespacePending,
    /// The build cluster does not answer.
    BuildClusterUnreachable,
    /// There is no kubeconfig for the build cluster.
    BuildClusterUnknown,
    /// The ProwJob was made for another tenant, Konflux cluster or EphemeralCluster.
    OwnershipMismatch,
    /// The signal to end is there.
    Signalled,
    /// The signal could not be written; tried again.
    SignalFailed,
    /// The cluster is gone, as asked.
    Deprovisioned,
    /// The ProwJob ended well after the signal.
    ProwJobCompleted,
    /// The ProwJob ended badly before there was a cluster.
    ProwJobFailure,
    /// The ProwJob was aborted by this provider, because it had nothing that would have to be torn down.
    ProwJobAborted,
    /// The ProwJob ended before anybody asked for it.
    EndedWithoutSignal,
    /// The ProwJob ended badly after the signal: something may have been left behind.
    DeprovisionFailed,
    /// The ProwJob has not ended for long after the signal.
    DeprovisionTimeout,
    /// The ProwJob does not exist any more.
    ProwJobGone,
    /// There never was a ProwJob, and there will be none.
    NothingToTearDown,
    /// The ProwJob found no build cluster in time.
    NeverScheduled,
    /// There was no cluster in time.
    ProvisionTimeout,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 29] = [
        Self::Creating,
        Self::ProwJobCreated,
        Self::ProwJobCreateFailed,
        Self::HeldByOtherController,
        Self::EphemeralClusterValidationFailure,
        Self::CredentialsPublished,
        Self::CredentialsPending,
        Self::CredentialsUnreadable,
        Self::KubeconfigRejected,
        Self::CredentialsNotOwned,
        Self::PublishFailed,
        Self::ProwJobScheduling,
        Self::NamespacePending,
        Self::BuildClusterUnreachable,
        Self::BuildClusterUnknown,
        Self::OwnershipMismatch,
        Self::Signalled,
        Self::SignalFailed,
        Self::Deprovisioned,
        Self::ProwJobCompleted,
        Self::ProwJobFailure,
        Self::ProwJobAborted,
        Self::EndedWithoutSignal,
        Self::DeprovisionFailed,
        Self::DeprovisionTimeout,
        Self::ProwJobGone,
        Self::NothingToTearDown,
        Self::NeverScheduled,
        Self::ProvisionTimeout,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "Creating",
            Self::ProwJobCreated => "ProwJobCreated",
            Self::ProwJobCreateFailed => "ProwJobCreateFailed",
            Self::HeldByOtherController => "HeldByOtherController",
            Self::EphemeralClusterValidationFailure => "EphemeralClusterValidationFailure",
            Self::CredentialsPublished => "CredentialsPublished",
            Self::CredentialsPending => "CredentialsPending",
            Self::CredentialsUnreadable => "CredentialsUnreadable",
            Self::KubeconfigRejected => "KubeconfigRejected",
            Self::CredentialsNotOwned => "CredentialsNotOwned",
            Self::PublishFailed => "PublishFailed",
            Self::ProwJobScheduling => "ProwJobScheduling",
            Self::NamespacePending => "NamespacePending",
            Self::BuildClusterUnreachable => "BuildClusterUnreachable",
            Self::BuildClusterUnknown => "BuildClusterUnknown",
            Self::OwnershipMismatch => "OwnershipMismatch",
            Self::Signalled => "Signalled",
            Self::SignalFailed => "SignalFailed",
            Self::Deprovisioned => "Deprovisioned",
            Self::ProwJobCompleted => "ProwJobCompleted",
            Self::ProwJobFailure => "ProwJobFailure",
            Self::ProwJobAborted => "ProwJobAborted",
            Self::EndedWithoutSignal => "EndedWithoutSignal",
            Self::DeprovisionFailed => "DeprovisionFailed",
            Self::DeprovisionTimeout => "DeprovisionTimeout",
            Self::ProwJobGone => "ProwJobGone",
            Self::NothingToTearDown => "NothingToTearDown",
            Self::NeverScheduled => "NeverScheduled",
            Self::ProvisionTimeout => "ProvisionTimeout",
        }
    }

    /// The verdict that ClusterReady=False with this word is: there was and will be no cluster, although nobody asked for
    /// its end. Decided once, and remembered by that condition until the job has ended.
    pub fn verdict(word: &str) -> Option<Self> {
        [Self::ProvisionTimeout, Self::NeverScheduled, Self::ProwJobGone]
            .into_iter()
            .find(|reason| reason.as_str() == word)
    }
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    /// `True`
    True,
    /// `False`
    False,
    /// `Unknown`
    Unknown,
}

impl Is {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl Condition {
    /// Whether it is True.
    pub fn is_true(&self) -> bool {
        self.status == Is::True.as_str()
    }

    /// Whether it is False.
    pub fn is_false(&self) -> bool {
        self.status == Is::False.as_str()
    }
}

/// The condition of a type, the first if two writers made two of them.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|c| c.type_ == type_)
}

/// Sets a condition. Its time moves only with its status, in whole seconds, because that is what an API server keeps.
pub fn set(
    conditions: &mut Vec<Condition>,
    type_: &str,
    status: Is,
    reason: &str,
    message: String,
    now: Timestamp,
) {
    let status = status.as_str();
    let unchanged = |c: &&Condition| c.status == status && c.last_transition_time.is_some();
    let since = find(conditions, type_).filter(unchanged).and_then(|c| c.last_transition_time);
    let condition = Condition {
        type_: type_.into(),
        status: status.into(),
        reason: reason.into(),
        message,
        last_transition_time: Some(since.unwrap_or_else(|| whole_seconds(now))),
    };
    match conditions.iter_mut().find(|c| c.type_ == type_) {
        Some(place) => *place = condition,
        None => conditions.push(condition),
    }
}

/// What next passes start from: one condition per type.
pub fn carried(stored: &[Condition]) -> Vec<Condition> {
    let mut kept: Vec<Condition> = Vec::new();
    for condition in stored {
        if find(&kept, &condition.type_).is_none() {
            kept.push(condition.clone());
        }
    }
    kept
}

/// The second that a moment lies in.
pub fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
