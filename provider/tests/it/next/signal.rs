//! A build cluster that does not take the signal: that is said, it is tried again, and nothing waits for it for ever.

use provider_testplatform::{
    build_clusters::JobSite,
    controllers::ephemeral_cluster::{
        conditions::{CLUSTER_READY, PROW_JOB_COMPLETED, TEST_COMPLETED},
        operation::{Operation, Plan},
        prow_job::JobState,
        status::{self, Phase, Status},
    },
    credentials::NamespaceCredentials,
};
use rstest::rstest;
use testplatform_apis::names::{
    ephemeral_cluster::{self as theirs, FINALIZER},
    ours,
};
use testplatform_runtime::reconcile::Action;

use crate::next::fixture::{
    Case, complete, credentials, minutes, namespace, newborn, pending, ready, served, unreachable,
    upstream_job,
};

fn signals(actions: &[Operation]) -> usize {
    actions.iter().filter(|action| matches!(action, Operation::SignalWaitStep { .. })).count()
}

/// How many signals are for the last time.
fn last_signals(actions: &[Operation]) -> usize {
    actions.iter().filter(|action| matches!(action, Operation::SignalWaitStepOrAbort { .. })).count()
}

/// Deleted ten minutes after it was made: its job is told again and again for four hours, and then for the last time.
fn is_abandoned_in_time(case: &Case) {
    let in_time = case.clone().at(10 + 239).step();
    assert_eq!((signals(&in_time.afterwards), last_signals(&in_time.afterwards)), (1, 0));
    assert!(!aborts(&in_time));
    assert_eq!(in_time.requeue, Action::requeue_after(minutes(1)), "it is not forgotten");
    let late = case.clone().at(10 + 240);
    assert_eq!(late.clone().cached().step().requeue, Action::BypassCaches);
    let step = late.step();
    assert_eq!((signals(&step.afterwards), last_signals(&step.afterwards)), (0, 1));
    assert!(!aborts(&step), "it may never have been tried");
    assert!(!late.settled().object.has_finalizer(FINALIZER));
}

fn aborts(step: &Plan) -> bool {
    step.actions.iter().any(|action| matches!(action, Operation::AbortProwJob { .. }))
}

fn phase(case: &Case) -> Option<Phase> {
    case.object.status.value.phase
}

#[test]
fn refused_signal_is_reported_and_retried() {
    let case = ready().torn_down().untold();
    assert_eq!(phase(&case), Some(Phase::Deprovisioning));
    assert_eq!(case.said(TEST_COMPLETED), ("False", "SignalFailed"));
    assert_eq!(case.condition(TEST_COMPLETED).unwrap().message, "quota");
    let step = case.step();
    // The status does not wait for it any more, and says no more than is so.
    assert_eq!((signals(&step.actions), signals(&step.afterwards)), (0, 1));
    assert!(!status::differs(&case.object.status.value, &step.status.unwrap()));
    assert_eq!(case.settled().said(TEST_COMPLETED), ("True", "Signalled"));
}

#[test]
fn refused_signal_becomes_overdue_in_full_time() {
    let case = ready().torn_down().untold();
    assert_eq!(case.said(PROW_JOB_COMPLETED), ("", ""));
    let late = case.at(10 + 240).step();
    assert!(!aborts(&late) && signals(&late.afterwards) == 1);
    let conditions = late.status.unwrap().conditions;
    let completed = conditions.iter().find(|c| c.type_ == PROW_JOB_COMPLETED).unwrap();
    assert_eq!((&*completed.status, &*completed.reason), ("False", "DeprovisionTimeout"));
}

#[test]
fn deletion_does_not_wait_for_a_refused_signal_for_ever() {
    is_abandoned_in_time(&ready().deleted().untold());
}

/// Nobody could try before: it is told, and from then on there is as much time as there always is.
#[test]
fn object_deleted_long_ago_is_signalled_first() {
    let case = ready().deleted().at(10 + 300);
    assert_eq!(signals(&case.step().actions), 1);
    let refused = case.untold().at(10 + 300 + 239).step();
    assert_eq!((signals(&refused.afterwards), last_signals(&refused.afterwards)), (1, 0));
}

#[test]
fn reason_of_the_end_survives_a_refused_signal() {
    let case = served(JobState::Pending, pending()).at(255).untold();
    assert_eq!(phase(&case), Some(Phase::Deprovisioning), "nobody waits for what has failed");
    assert_eq!(case.said(CLUSTER_READY), ("False", "ProvisionTimeout"));
    let told = case.settled();
    assert_eq!(phase(&told), Some(Phase::Failed));
    assert_eq!(told.said(TEST_COMPLETED), ("True", "Signalled"));
}

/// Since when it ends, whatever kept it from being told.
#[test]
fn returning_build_cluster_does_not_restart_the_deadline() {
    let away = served(JobState::Pending, unreachable()).torn_down().settled();
    let since = away.condition(TEST_COMPLETED).unwrap().last_transition_time;
    let refused = away.at(60).on(complete()).untold();
    assert_eq!(refused.said(TEST_COMPLETED), ("False", "SignalFailed"));
    assert_eq!(refused.condition(TEST_COMPLETED).unwrap().last_transition_time, since);
    let away = refused.on(unreachable()).settled();
    assert_eq!(away.said(TEST_COMPLETED), ("False", "BuildClusterUnreachable"));
}

#[test]
fn orphaned_namespace_is_given_up_like_an_unreachable_one() {
    let mut case = ready().gone();
    case.world.orphaned_site = Some(pending());
    let case = case.untold();
    assert_eq!(phase(&case), Some(Phase::Deprovisioning));
    assert_eq!(case.said(CLUSTER_READY), ("False", "ProwJobGone"));
    assert_eq!(case.said(PROW_JOB_COMPLETED), ("", ""), "nothing is over yet");
    let step = case.step();
    assert_eq!((signals(&step.actions), signals(&step.afterwards)), (0, 1));
    assert_eq!(step.status.unwrap().phase, Some(Phase::Deprovisioning));
    let told = case.clone().settled();
    assert_eq!((phase(&told), told.said(TEST_COMPLETED)), (Some(Phase::Failed), ("True", "Signalled")));
    assert_eq!(case.at(10 + 240).step().status.unwrap().phase, Some(Phase::Failed));
}

#[test]
fn second_job_delays_nothing() {
    let mut case = ready();
    case.world.jobs.push(upstream_job("6f1f", JobState::Pending, complete()));
    let step = case.step();
    assert_eq!(step.actions, []);
    assert!(matches!(&step.afterwards[..], [Operation::SignalWaitStep { .. }, Operation::EmitEvent(_)]));
    let torn_down = case.torn_down().step();
    assert_eq!((signals(&torn_down.actions), signals(&torn_down.afterwards)), (1, 1));
    assert_eq!(torn_down.status.unwrap().phase, Some(Phase::Deprovisioning));
}

#[test]
fn deletion_does_not_wait_for_a_second_job_for_ever() {
    let mut case = ready();
    case.world.jobs.push(upstream_job("6f1f", JobState::Pending, complete()));
    is_abandoned_in_time(&case.clone().deleted().in_state(JobState::Success));
    let torn_down = case.torn_down().in_state(JobState::Success).at(24 * 60).step();
    assert_eq!((signals(&torn_down.afterwards), last_signals(&torn_down.afterwards)), (1, 0));
}

#[test]
fn unreadable_status_does_not_block_deletion() {
    let mut case = ready().deleted();
    case.object.status.error = Some("conditions: invalid type".into());
    case.object.status.value = Status::default();
    is_abandoned_in_time(&case);
}

/// The finalizer goes when what was said of the signal is stored, not with the signal.
#[test]
fn deletion_waits_for_an_orphaned_namespace() {
    let mut case = ready().deleted().gone();
    case.world.orphaned_site = Some(pending());
    let step = case.step();
    assert_eq!(signals(&step.actions), 1);
    assert!(!step.actions.contains(&Operation::RemoveFinalizer));
    assert!(!case.clone().settled().object.has_finalizer(FINALIZER));
    let refused = case.untold();
    assert_eq!(refused.said(TEST_COMPLETED), ("False", "SignalFailed"));
    let in_time = refused.clone().at(10 + 239).step();
    assert_eq!((in_time.actions, signals(&in_time.afterwards)), (vec![], 1));
    assert!(!refused.clone().settled().object.has_finalizer(FINALIZER), "it is taken in time");
    let late = refused.at(10 + 240);
    assert_eq!(late.clone().cached().step().requeue, Action::BypassCaches);
    assert!(late.step().actions.contains(&Operation::RemoveFinalizer));
}

#[test]
fn sent_signal_stays_recorded() {
    let mut case = ready().torn_down().settled();
    let JobSite::Namespace { signalled, .. } = &mut case.job().site else { panic!("no namespace") };
    *signalled = false;
    let step = case.step();
    assert_eq!((signals(&step.actions), signals(&step.afterwards)), (0, 1));
    assert!(!status::differs(&case.object.status.value, &step.status.unwrap()));
    // A namespace that is newer than the one that took it may refuse it.
    is_abandoned_in_time(&case.deleted());
}

/// `true` for an action before the end of a step. It runs before the end, and its failure repeats at every try.
fn keeps_the_end_waiting(action: &Operation) -> bool {
    matches!(
        action,
        Operation::PublishCredentials(_) | Operation::ClaimProwJob { .. } | Operation::WithdrawCredentials
    )
}

/// By a quota, a webhook, or for being too large.
#[rstest]
#[case::lifetime(ready().annotated(ours::LIFETIME, "1h").on(rotated()), 8 * 60)]
#[case::provision_timeout(served(JobState::Pending, pending()).on(complete()), 8 * 60)]
fn a_publication_that_is_refused_keeps_no_end_from_being_begun(#[case] case: Case, #[case] late: i64) {
    let publishes = |step: &Plan| step.actions.iter().any(|a| matches!(a, Operation::PublishCredentials(_)));
    assert!(publishes(&case.step()));
    let step = case.at(late).step();
    assert!(!publishes(&step) && !step.afterwards.iter().any(keeps_the_end_waiting), "{step:?}");
    assert_eq!(signals(&step.actions), 1);
}

fn rotated() -> JobSite {
    namespace(NamespaceCredentials::Complete(credentials("a-2")))
}

#[test]
fn refused_job_does_not_block_teardown() {
    let mut case = newborn();
    case.world.jobs = vec![upstream_job("6f1f", JobState::Pending, pending())];
    let claimed =
        |actions: &[Operation]| actions.iter().position(|a| matches!(a, Operation::ClaimProwJob { .. }));
    let case = case.at(5);
    assert!(claimed(&case.step().actions).is_some(), "before anything is published");
    let step = case.torn_down().step();
    assert!(!step.actions.iter().any(keeps_the_end_waiting), "{step:?}");
    assert_eq!(signals(&step.actions), 1);
    // Told of only if it was done.
    let at = claimed(&step.afterwards).unwrap();
    assert!(
        matches!(&step.afterwards[at + 1], Operation::EmitEvent(event) if event.reason == "ProwJobAdopted")
    );
    assert!(
        !step
            .actions
            .iter()
            .any(|a| matches!(a, Operation::EmitEvent(event) if event.reason == "ProwJobAdopted"))
    );
}

/// Another tenant's credentials are withdrawn nevertheless, and tried until that succeeds.
#[test]
fn a_withdrawal_that_is_refused_keeps_no_end_from_being_begun() {
    let mut case = ready().annotated(ours::LIFETIME, "1h").settled();
    case = case.annotated(theirs::KONFLUX_TENANT, "another");
    let withdraws = |actions: &[Operation]| actions.contains(&Operation::WithdrawCredentials);
    assert!(withdraws(&case.step().actions));
    case = case.at(8 * 60);
    let step = case.step();
    assert_eq!((withdraws(&step.actions), withdraws(&step.afterwards)), (false, true));
    assert_eq!(signals(&step.actions), 1);
    // The end has begun, and it was not done.
    case.object.status.value = step.status.unwrap();
    let again = case.step();
    assert_eq!((withdraws(&again.actions), withdraws(&again.afterwards)), (false, true));
}
