//! The deliberate differences from upstream (spec 2.5), each pinned.

use provider_testplatform::controllers::ephemeral_cluster::{
    conditions::{CLUSTER_READY, PROW_JOB_COMPLETED, PROW_JOB_CREATING, TEST_COMPLETED},
    operation::Operation,
    plan,
    prow_job::JobState,
    status::{self, Phase},
};

use crate::next::fixture::{born, complete, minutes, newborn, no_namespace, ready, served, unreachable};

/// Which part of the EphemeralCluster an action writes.
fn part(action: &Operation) -> Option<&'static str> {
    match action {
        Operation::AddFinalizer | Operation::RemoveFinalizer => Some("metadata.finalizers"),
        Operation::SetAnnotations(_) => Some("metadata.annotations"),
        Operation::CreateProwJob(_)
        | Operation::ClaimProwJob { .. }
        | Operation::AbortProwJob { .. }
        | Operation::SignalWaitStep { .. }
        | Operation::SignalWaitStepOrAbort { .. }
        | Operation::PublishCredentials(_)
        | Operation::IssueCredentials(_)
        | Operation::WithdrawCredentials
        | Operation::EmitEvent(_) => None,
    }
}

#[test]
fn the_spec_is_never_written() {
    let step = newborn().step();
    let parts: Vec<_> = step.actions.iter().filter_map(part).collect();
    assert_eq!(parts, ["metadata.finalizers"]);
    let patch = status::patch(&newborn().object.status.value, &step.status.unwrap()).unwrap();
    assert_eq!(patch.as_object().unwrap().keys().collect::<Vec<_>>(), ["status"]);
}

#[test]
fn the_phase_is_set_when_the_creation_fails() {
    let case = newborn();
    let step = case.step();
    let create = step.actions.iter().find(|a| matches!(a, Operation::CreateProwJob(_))).unwrap();
    let status =
        plan::failed(&case.object, &step, create, "the hub did not take the ProwJob", case.now).unwrap();
    assert_eq!(status.phase, Some(Phase::Provisioning));
    assert_eq!(status.conditions[0].type_, PROW_JOB_CREATING);
    assert_eq!(status.conditions[0].reason, "ProwJobCreateFailed");
    // And it is tried again.
    let mut again = case;
    again.object.status.value = status;
    assert!(again.step().actions.iter().any(|a| matches!(a, Operation::CreateProwJob(_))));
}

#[test]
fn the_end_before_there_is_a_namespace_is_no_failure() {
    let case = served(JobState::Pending, no_namespace()).torn_down().settled();
    assert_eq!(case.object.status.value.phase, Some(Phase::Deprovisioning));
    // In time a namespace appears, and takes the signal.
    let told = case.clone().at(12).on(complete()).settled();
    assert_eq!(told.said(TEST_COMPLETED), ("True", "Signalled"));
    // In time none appears, and the job has nothing to tear down.
    let aborted = case.at(16).settled();
    assert_eq!(aborted.object.status.value.phase, Some(Phase::Deprovisioned));
    assert_eq!(aborted.said(PROW_JOB_COMPLETED), ("True", "ProwJobCompleted"));
}

#[test]
fn a_condition_that_stays_true_keeps_its_time() {
    let case = ready().at(30).on(unreachable()).settled().at(60).on(complete()).settled();
    let torn_down = case.torn_down().settled().at(90).settled();
    let since = torn_down.condition(CLUSTER_READY).unwrap().last_transition_time;
    assert_eq!(since, Some(born() + minutes(10)));
    let told = torn_down.condition(TEST_COMPLETED).unwrap().last_transition_time;
    assert_eq!(told, Some(born() + minutes(60)));
}

#[test]
fn missing_job_is_reported() {
    let case = ready().gone().settled();
    assert_eq!(case.object.status.value.phase, Some(Phase::Failed));
    assert_eq!(case.said(PROW_JOB_COMPLETED), ("True", "ProwJobGone"));
}

#[test]
fn unreadable_object_is_served_once_readable() {
    let mut case = newborn();
    case.object.status.error = Some("invalid type".into());
    let case = case.settled();
    assert!(case.world.jobs.is_empty());
    let mut readable = case;
    readable.object.status.error = None;
    assert_eq!(readable.settled().world.jobs.len(), 1);
}
