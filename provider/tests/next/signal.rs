//! A build cluster that does not take the signal: that is said, it is tried again, and nothing waits for it for ever.

use provider_testplatform::{
    ephemeral_cluster::{
        conditions::{CLUSTER_READY, PROW_JOB_COMPLETED, TEST_COMPLETED},
        prow_job::State,
        status::{self, Phase},
        world::Site,
    },
    step::{Action, Requeue, Step},
};
use testplatform_apis::names::ephemeral_cluster::FINALIZER;

use crate::fixture::{Case, complete, pending, ready, served, unreachable, upstream_job};

fn signals(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action, Action::Signal { .. })).count()
}

fn aborts(step: &Step) -> bool {
    step.actions.iter().any(|action| matches!(action, Action::AbortProwJob { .. }))
}

fn phase(case: &Case) -> Option<Phase> {
    case.object.status.value.phase
}

#[test]
fn it_is_said_and_tried_again() {
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
fn it_becomes_overdue_and_is_not_cut_short() {
    let case = ready().torn_down().untold();
    assert_eq!(case.said(PROW_JOB_COMPLETED), ("", ""));
    let late = case.at(10 + 240).step();
    assert!(!aborts(&late) && signals(&late.afterwards) == 1);
    let conditions = late.status.unwrap().conditions;
    let completed = conditions.iter().find(|c| c.type_ == PROW_JOB_COMPLETED).unwrap();
    assert_eq!((&*completed.status, &*completed.reason), ("False", "DeprovisionTimeout"));
}

#[test]
fn a_deletion_does_not_wait_for_it_for_ever() {
    let case = ready().deleted().untold();
    let in_time = case.clone().at(10 + 239).step();
    assert!(!aborts(&in_time) && signals(&in_time.afterwards) == 1);
    let late = case.at(10 + 240);
    assert_eq!(late.clone().cached().step().requeue, Requeue::Anew);
    assert!(aborts(&late.step()) && signals(&late.step().afterwards) == 0);
    assert!(!late.settled().object.has_finalizer(FINALIZER));
}

#[test]
fn why_it_ends_is_not_forgotten() {
    let case = served(State::Pending, pending()).at(255).untold();
    assert_eq!(phase(&case), Some(Phase::Deprovisioning), "nobody waits for what has failed");
    assert_eq!(case.said(CLUSTER_READY), ("False", "ProvisionTimeout"));
    let told = case.settled();
    assert_eq!(phase(&told), Some(Phase::Failed));
    assert_eq!(told.said(TEST_COMPLETED), ("True", "Signalled"));
}

/// Since when it ends, whatever kept it from being told.
#[test]
fn a_build_cluster_that_comes_back_and_refuses_it_does_not_begin_the_time_anew() {
    let away = served(State::Pending, unreachable()).torn_down().settled();
    let since = away.condition(TEST_COMPLETED).unwrap().last_transition_time;
    let refused = away.at(60).on(complete()).untold();
    assert_eq!(refused.said(TEST_COMPLETED), ("False", "SignalFailed"));
    assert_eq!(refused.condition(TEST_COMPLETED).unwrap().last_transition_time, since);
    let away = refused.on(unreachable()).settled();
    assert_eq!(away.said(TEST_COMPLETED), ("False", "BuildClusterUnreachable"));
}

#[test]
fn what_a_job_left_behind_is_given_up_as_what_is_out_of_reach_is() {
    let mut case = ready().gone();
    case.world.left_behind = Some(pending());
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
fn a_job_that_is_one_too_many_keeps_nothing_waiting() {
    let mut case = ready();
    case.world.jobs.push(upstream_job("6f1f", State::Pending, complete()));
    let step = case.step();
    assert_eq!(step.actions, []);
    assert!(matches!(&step.afterwards[..], [Action::Signal { .. }, Action::Emit(_)]));
    let torn_down = case.torn_down().step();
    assert_eq!((signals(&torn_down.actions), signals(&torn_down.afterwards)), (1, 1));
    assert_eq!(torn_down.status.unwrap().phase, Some(Phase::Deprovisioning));
}

#[test]
fn what_was_told_once_stays_told() {
    let mut case = ready().torn_down().settled();
    let Site::Namespace { signalled, .. } = &mut case.job().site else { panic!("no namespace") };
    *signalled = false;
    let step = case.step();
    assert_eq!((signals(&step.actions), signals(&step.afterwards)), (0, 1));
    assert!(!status::differs(&case.object.status.value, &step.status.unwrap()));
}
