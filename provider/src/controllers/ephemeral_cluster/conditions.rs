//! Conditions: the words that they are made of, and how they are carried from pass to pass.

use jiff::Timestamp;
pub use testplatform_apis::foreign::ephemeral_cluster::conditions::{
    CLUSTER_READY, CREDENTIALS_IN_SYNC, PROW_JOB_COMPLETED, PROW_JOB_CREATING, TEST_COMPLETED,
};
use testplatform_runtime::time::truncate_to_seconds;

use super::status::Condition;

/// Why a condition is as it is. The refusals of a ProwJob are not among them: they come with the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionReason {
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
    /// The published kubeconfig is not one that may be handed on, and was withdrawn.
    KubeconfigWithdrawn,
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
    /// The cluster was deleted on request.
    Deprovisioned,
    /// The ProwJob ended well after the signal.
    ProwJobCompleted,
    /// The ProwJob ended badly before there was a cluster.
    ProwJobFailure,
    /// The ProwJob was aborted by this provider, because it had nothing that would have to be torn down.
    ProwJobAborted,
    /// The ProwJob ended without a request.
    EndedWithoutSignal,
    /// The ProwJob failed after the signal: resources may be left.
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

impl ConditionReason {
    /// All of them.
    pub const ALL: [Self; 30] = [
        Self::Creating,
        Self::ProwJobCreated,
        Self::ProwJobCreateFailed,
        Self::HeldByOtherController,
        Self::EphemeralClusterValidationFailure,
        Self::CredentialsPublished,
        Self::CredentialsPending,
        Self::CredentialsUnreadable,
        Self::KubeconfigRejected,
        Self::KubeconfigWithdrawn,
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
            Self::KubeconfigWithdrawn => "KubeconfigWithdrawn",
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

    /// Parses the decision behind ClusterReady=False with this reason: there was and will be no cluster, although nobody requested its end. It
    /// is decided once, and that condition keeps it until the job has ended.
    pub fn parse_decision(word: &str) -> Option<Self> {
        [Self::ProvisionTimeout, Self::NeverScheduled, Self::ProwJobGone]
            .into_iter()
            .find(|reason| reason.as_str() == word)
    }
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// `True`
    True,
    /// `False`
    False,
    /// `Unknown`
    Unknown,
}

impl ConditionStatus {
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
        self.status == ConditionStatus::True.as_str()
    }

    /// Whether it is False.
    pub fn is_false(&self) -> bool {
        self.status == ConditionStatus::False.as_str()
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
    status: ConditionStatus,
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
        reason: word(type_, reason),
        message: truncate_message(message),
        last_transition_time: Some(since.unwrap_or_else(|| truncate_to_seconds(now))),
        observed_generation: None,
    };
    match conditions.iter_mut().find(|c| c.type_ == type_) {
        Some(place) => *place = condition,
        None => conditions.push(condition),
    }
}

/// Conditions at the start of a reconcile: one of each type, in the form that every upstream CRD admits. Newer CRDs have Kubernetes conditions
/// with CamelCase reasons, and reject the whole status for any other.
pub fn carry_over(stored: &[Condition], now: Timestamp) -> Vec<Condition> {
    let mut carried: Vec<Condition> = Vec::new();
    for condition in stored {
        if find(&carried, &condition.type_).is_none() {
            let known = [ConditionStatus::True, ConditionStatus::False]
                .map(ConditionStatus::as_str)
                .contains(&condition.status.as_str());
            let mut condition = condition.clone();
            condition.reason = word(&condition.type_, &condition.reason);
            condition.message = truncate_message(condition.message);
            condition.last_transition_time.get_or_insert_with(|| truncate_to_seconds(now));
            if !known {
                condition.status = ConditionStatus::Unknown.as_str().into();
            }
            carried.push(condition);
        }
    }
    carried
}

/// The sentence that older upstream controllers wrote as a reason.
const CREATED: &str = "ProwJob has been properly created";

/// A reason as Kubernetes admits it. Source: apimachinery, `pkg/apis/meta/v1/types.go`, `Condition`.
fn word(type_: &str, reason: &str) -> String {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':');
    let is_word = reason.len() <= 1024
        && reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && reason.chars().all(inner);
    if is_word {
        return reason.to_owned();
    }
    if reason == CREATED {
        return "ProwJobProperlyCreated".into();
    }
    let joined: String = reason.chars().filter(char::is_ascii_alphanumeric).take(64).collect();
    if joined.starts_with(|c: char| c.is_ascii_alphabetic()) { joined } else { type_.to_owned() }
}

/// A message no longer than Kubernetes admits. Source: as for reasons.
fn truncate_message(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(32_768));
    message
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::controllers::ephemeral_cluster::status::{Status, patch};

    fn now() -> Timestamp {
        "2026-11-21T10:00:00Z".parse().unwrap()
    }

    /// Checks the requirements of the schema of `metav1.Condition`.
    fn is_admitted(condition: &Value) -> bool {
        let text = |field: &str| condition[field].as_str();
        let word = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "_,:".contains(c))
        };
        text("message").is_some_and(|message| message.chars().count() <= 32_768)
            && text("reason").is_some_and(|reason| word(reason) && reason.len() <= 1024)
            && text("status").is_some_and(|status| ["True", "False", "Unknown"].contains(&status))
            && text("lastTransitionTime").is_some_and(|time| time.parse::<Timestamp>().is_ok())
    }

    #[test]
    fn conditions_of_other_controllers_are_carried_as_every_crd_admits_them() {
        let at = "2026-11-21T09:00:00Z";
        let stored: Status = serde_json::from_value(json!({
            "phase": "Deprovisioning", "prowJobId": "j",
            "conditions": [
                { "type": "ProwJobCreating", "status": "False", "reason": CREATED, "message": "", "lastTransitionTime": at },
                { "type": "ClusterReady", "status": "True" },
                { "type": "ClusterReady", "status": "False" },
                { "type": "TestCompleted", "status": "true", "reason": "(none)", "observedGeneration": 3, "lastTransitionTime": at },
                { "type": "Other", "status": "Unknown", "reason": "Fine", "message": "kept", "lastTransitionTime": at },
                { "type": "Long", "status": "False", "reason": "Raw", "message": "x".repeat(40_000), "lastTransitionTime": at },
            ],
        }))
        .unwrap();
        let carried = Status { conditions: carry_over(&stored.conditions, now()), ..stored.clone() };
        let written = patch(&stored, &carried).unwrap();
        let written = written["status"]["conditions"].as_array().unwrap();
        assert!(written.iter().all(is_admitted), "{written:#?}");
        let shown = |i: usize| json!([written[i]["type"], written[i]["status"], written[i]["reason"]]);
        assert_eq!(shown(0), json!(["ProwJobCreating", "False", "ProwJobProperlyCreated"]));
        assert_eq!(shown(1), json!(["ClusterReady", "True", "ClusterReady"]));
        assert_eq!(shown(2), json!(["TestCompleted", "Unknown", "none"]));
        assert_eq!(written[2]["observedGeneration"], 3);
        assert_eq!((written.len(), &written[3]["message"]), (5, &json!("kept")));
        // Once it is written so, there is no reason to write it again.
        let again = Status { conditions: super::carry_over(&carried.conditions, now()), ..carried.clone() };
        assert_eq!(patch(&carried, &again), None);
    }

    #[test]
    fn own_conditions_are_admitted_too() {
        let mut conditions = vec![];
        for reason in ["", "CredentialsReady", "no word"] {
            for message in [String::new(), "ä".repeat(40_000)] {
                set(&mut conditions, "ClusterReady", ConditionStatus::True, reason, message, now());
                assert!(is_admitted(&json!(conditions[0])), "{conditions:?}");
            }
        }
    }
}
