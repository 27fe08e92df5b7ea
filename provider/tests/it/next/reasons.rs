//! One case per reason.

use std::collections::BTreeSet;

use provider_testplatform::{
    build_clusters::JobSite,
    controllers::ephemeral_cluster::{
        conditions::ConditionReason,
        observed_state::Draft,
        operation::Operation,
        plan,
        prow_job::JobState,
        status::{Phase, Status},
    },
    credentials::{NamespaceCredentials, Published},
};
use testplatform_apis::{
    condition::split_completion,
    foreign::ephemeral_cluster::TROUBLES,
    names::{ephemeral_cluster as theirs, ours},
};

use crate::next::fixture::{
    Case, complete, credentials, namespace, newborn, no_namespace, pending, ready, refusal, served, unknown,
    unreachable,
};

const CREATING: &str = "ProwJobCreating";
const READY: &str = "ClusterReady";
const IN_SYNC: &str = "CredentialsInSync";
const TOLD: &str = "TestCompleted";
const COMPLETED: &str = "ProwJobCompleted";

fn foreign(mut case: Case) -> Case {
    case.world.published = Published::Foreign("Secret demo-x7k2p-credentials belongs to nobody".into());
    case
}

fn unreadable_spec() -> Case {
    let mut case = newborn();
    case.object.spec.error = Some("invalid type".into());
    case
}

fn unreadable_source() -> Case {
    served(JobState::Pending, namespace(NamespaceCredentials::Unreadable("forbidden".into())))
}

fn failed(case: &Case, action: &Operation) -> Status {
    plan::failed(&case.object, &case.step(), action, "no", case.now).unwrap()
}

/// The status, and the condition that has the reason.
fn case(reason: ConditionReason) -> (Status, &'static str, &'static str) {
    let settled = |case: Case| case.settled().object.status.value;
    let running = |site: JobSite| served(JobState::Pending, site);
    let told = || ready().torn_down().settled();
    match reason {
        ConditionReason::Creating => (newborn().step().status.unwrap(), CREATING, "True"),
        ConditionReason::ProwJobCreated => (settled(ready()), CREATING, "False"),
        ConditionReason::ProwJobCreateFailed => {
            let create = Operation::CreateProwJob(Box::default());
            (failed(&newborn(), &create), CREATING, "False")
        }
        ConditionReason::HeldByOtherController => {
            (settled(newborn().written_by_another(0).at(2)), CREATING, "Unknown")
        }
        ConditionReason::EphemeralClusterValidationFailure => (settled(unreadable_spec()), CREATING, "False"),
        ConditionReason::CredentialsPublished => (settled(ready()), READY, "True"),
        ConditionReason::KubeconfigWithdrawn => {
            let mut withdrawn = ready().on(namespace(NamespaceCredentials::Rejected("no token".into())));
            withdrawn.world.published = Published::Absent;
            (settled(withdrawn), IN_SYNC, "False")
        }
        ConditionReason::CredentialsPending => (settled(running(pending())), READY, "False"),
        ConditionReason::CredentialsUnreadable => (settled(unreadable_source()), READY, "False"),
        ConditionReason::KubeconfigRejected => {
            (settled(ready().on(namespace(NamespaceCredentials::Refused))), IN_SYNC, "False")
        }
        ConditionReason::CredentialsNotOwned => {
            let case = foreign(running(pending())).on(complete());
            (settled(case), READY, "False")
        }
        ConditionReason::PublishFailed => {
            let publish = Operation::PublishCredentials(credentials("a-1"));
            (failed(&running(pending()), &publish), READY, "False")
        }
        ConditionReason::ProwJobScheduling => {
            (settled(served(JobState::Scheduling, JobSite::Unscheduled)), READY, "False")
        }
        ConditionReason::NamespacePending => (settled(running(no_namespace())), READY, "False"),
        ConditionReason::BuildClusterUnreachable => (settled(ready().on(unreachable())), IN_SYNC, "False"),
        ConditionReason::BuildClusterUnknown => (settled(running(unknown()).torn_down()), TOLD, "False"),
        ConditionReason::OwnershipMismatch => {
            (settled(ready().annotated(theirs::KONFLUX_TENANT, "tenant-b")), READY, "False")
        }
        ConditionReason::Signalled => (settled(told()), TOLD, "True"),
        ConditionReason::SignalFailed => (ready().torn_down().untold().object.status.value, TOLD, "False"),
        ConditionReason::Deprovisioned => (settled(told().in_state(JobState::Success)), READY, "False"),
        ConditionReason::ProwJobCompleted => (settled(told().in_state(JobState::Success)), COMPLETED, "True"),
        ConditionReason::ProwJobFailure => {
            (settled(running(pending()).in_state(JobState::Error)), COMPLETED, "True")
        }
        ConditionReason::ProwJobAborted => {
            (settled(running(no_namespace()).torn_down().settled().at(20)), COMPLETED, "True")
        }
        ConditionReason::EndedWithoutSignal => {
            (settled(ready().in_state(JobState::Success)), COMPLETED, "True")
        }
        ConditionReason::DeprovisionFailed => {
            (settled(told().in_state(JobState::Failure)), COMPLETED, "True")
        }
        ConditionReason::DeprovisionTimeout => (settled(told().at(300)), COMPLETED, "False"),
        ConditionReason::ProwJobGone => (settled(ready().gone()), COMPLETED, "True"),
        ConditionReason::NothingToTearDown => (settled(newborn().torn_down()), COMPLETED, "True"),
        ConditionReason::NeverScheduled => {
            (settled(served(JobState::Scheduling, JobSite::Unscheduled).at(61)), COMPLETED, "True")
        }
        ConditionReason::ProvisionTimeout => (settled(running(pending()).at(255)), READY, "False"),
    }
}

#[test]
fn every_reason_has_a_case() {
    for reason in ConditionReason::ALL {
        let (status, type_, is) = case(reason);
        let condition = status.conditions.iter().find(|c| c.type_ == type_).unwrap();
        let (how, _) = split_completion(&condition.reason, &condition.message);
        let how = if type_ == COMPLETED { how } else { &condition.reason };
        assert_eq!((condition.status.as_str(), how), (is, reason.as_str()), "{status:#?}");
        if type_ == COMPLETED && is == "True" {
            // Konflux's task for deprovisioning takes every other reason for a failure.
            let is_well = status.phase == Some(Phase::Deprovisioned);
            assert_eq!(condition.reason == "ProwJobCompleted", is_well, "{status:#?}");
        }
        assert!(!condition.message.is_empty(), "{reason:?} has no sentence");
        assert!(status.phase.is_some(), "{reason:?} leaves no phase");
    }
    let words: BTreeSet<_> = ConditionReason::ALL.iter().map(|r| r.as_str()).collect();
    assert_eq!(words.len(), ConditionReason::ALL.len());
    for trouble in TROUBLES {
        assert!(words.contains(trouble), "the function knows {trouble}, and nobody says it");
    }
}

#[test]
fn a_refusal_is_final_even_when_its_cause_is_gone() {
    let refused = newborn().drafted(Draft::Refused(refusal("EphemeralClusterValidationFailure"))).settled();
    assert_eq!(refused.object.status.value.phase, Some(Phase::Failed));
    assert_eq!(refused.said(CREATING), ("False", "EphemeralClusterValidationFailure"));
    // The function reads a completed job as one that there was.
    assert_eq!(refused.said(COMPLETED), ("", ""));
    let mut again = refused.drafted(newborn().world.draft.unwrap());
    again.object.metadata.generation = Some(2);
    let again = again.settled();
    assert_eq!(again.object.status.value.phase, Some(Phase::Failed));
    assert!(again.world.jobs.is_empty());
}

#[test]
fn postponed_request_is_served_later_until_its_timeout() {
    let later = newborn().drafted(Draft::Later(refusal("ClusterProfilesUnavailable"))).settled();
    assert_eq!(later.object.status.value.phase, Some(Phase::Provisioning));
    assert_eq!(later.said(CREATING), ("False", "ClusterProfilesUnavailable"));
    let served = later.clone().drafted(newborn().world.draft.unwrap()).settled();
    assert_eq!(served.world.jobs.len(), 1);
    let late = later.at(255).settled();
    assert_eq!(late.object.status.value.phase, Some(Phase::Failed));
    assert_eq!(late.said(COMPLETED), ("True", "ProvisionTimeout"));
}

#[test]
fn a_long_timeout_does_not_outlive_the_memory_of_prow() {
    let case = newborn().annotated(ours::PROVISION_TIMEOUT, "72h");
    assert_eq!(case.clone().at(60 * 24 - 1).settled().world.jobs.len(), 1);
    assert!(case.at(60 * 24).settled().world.jobs.is_empty());
}
