//! Jobs, Secrets and statuses of others; the other two entries, `proxy` and `orphan`.

use provider_testplatform::{
    build_clusters::JobSite,
    controllers::ephemeral_cluster::{
        conditions::{CLUSTER_READY, PROW_JOB_COMPLETED, PROW_JOB_CREATING, TEST_COMPLETED},
        object::EphemeralCluster,
        operation::{Operation, Plan},
        orphan, plan,
        prow_job::{JobState, name_for},
        proxy,
        settings::Settings,
        status::{Condition, Phase, Status},
    },
    credentials::Published,
};
use rstest::rstest;
use serde_json::json;
use testplatform_apis::names::{ephemeral_cluster as theirs, ours};
use testplatform_runtime::reconcile::Action;

use crate::next::fixture::{
    CLUSTER, Case, NAMESPACE, UID, born, complete, job, minutes, newborn, no_namespace, pending, ready,
    served, unreachable, upstream_job,
};

fn labelled(case: &mut Case, key: &str, value: &str) {
    case.job().prow_job.metadata.labels.get_or_insert_default().insert(key.into(), value.into());
}

#[test]
fn a_job_of_the_upstream_controller_is_taken_over() {
    let mut case = newborn().cached();
    case.world.jobs = vec![upstream_job("6f1f", JobState::Pending, complete())];
    // An old copy could be of an object that is gone, and the job of the one that has its name now.
    assert_eq!(case.step().requeue, Action::BypassCaches);
    let case = case.at(5).settled();
    assert_eq!(case.object.status.value.prow_job_id, "6f1f");
    assert_eq!(case.object.status.value.phase, Some(Phase::Ready));
    assert!(case.object.has_finalizer(theirs::FINALIZER));
    let claimed = &case.world.jobs[0].prow_job;
    assert_eq!(claimed.label(ours::EPHEMERAL_CLUSTER_UID), Some(UID));
    assert_eq!(claimed.annotation(theirs::KONFLUX_TENANT), Some("tenant-a"));
}

#[rstest]
#[case::of_another_uid(Some("another"), 1)]
#[case::older_than_the_object(None, -1)]
fn job_of_an_earlier_namesake_is_left_alone(#[case] uid: Option<&str>, #[case] made: i64) {
    let mut case = newborn();
    case.world.jobs = vec![upstream_job("6f1f", JobState::Pending, complete())];
    let since = born() + minutes(made);
    case.job().prow_job.metadata.creation_timestamp.as_mut().unwrap().0 = since;
    if let Some(uid) = uid {
        labelled(&mut case, ours::EPHEMERAL_CLUSTER_UID, uid);
    }
    let case = case.settled();
    assert_eq!(case.object.status.value.prow_job_id, name_for(UID));
    assert_eq!(case.world.published, Published::Absent);
    assert_eq!(case.world.jobs[0].prow_job.state(), JobState::Pending);
}

/// The upstream controller serves one namespace only.
#[test]
fn upstream_job_belongs_to_one_namespace() {
    let mut case = newborn();
    case.object.metadata.namespace = Some("canaries".into());
    case.world.jobs = vec![upstream_job("6f1f", JobState::Pending, complete())];
    let case = case.settled();
    assert_eq!(case.object.status.value.prow_job_id, name_for(UID));
    assert_eq!(case.world.jobs[0].prow_job.state(), JobState::Pending);
}

#[test]
fn credentials_that_are_held_back_do_not_stop_the_lifetime() {
    let mut case = ready().annotated(ours::LIFETIME, "1h").settled();
    let expires = case.object.status.value.expires_at;
    assert!(expires.is_some());
    case.object
        .metadata
        .annotations
        .as_mut()
        .unwrap()
        .insert(theirs::KONFLUX_TENANT.into(), "another".into());
    let case = case.at(40).settled();
    assert_eq!(case.said(CLUSTER_READY), ("False", "OwnershipMismatch"));
    assert_eq!(case.object.status.value.expires_at, expires);
    let case = case.at(180).settled();
    assert_eq!(case.object.status.value.phase, Some(Phase::Deprovisioning));
}

#[test]
fn refusal_of_an_api_server_is_reported_once() {
    let case = newborn();
    let action = Operation::CreateProwJob(Box::default());
    let failed = |object: &EphemeralCluster, said: &str| {
        plan::failed(object, &Plan::default(), &action, said, case.now)
    };
    let said = failed(&case.object, &format!("request 1 {}", "ä".repeat(4000))).unwrap();
    assert!(said.conditions.iter().all(|c| c.message.len() <= 1024));
    let mut object = case.object.clone();
    object.status.value = said;
    assert_eq!(failed(&object, "request 2"), None, "or each try would make the next one");
}

/// Of a hub whose CRD was updated the stored conditions may be ones that it admits no more, and it refuses them as a whole.
#[test]
fn a_failure_is_reported_beside_conditions_that_every_crd_admits() {
    let mut case = ready();
    case.object.status.value.conditions = serde_json::from_value(json!([
        { "type": PROW_JOB_CREATING, "status": "False", "reason": "ProwJob has been properly created" },
        { "type": CLUSTER_READY, "status": "True" },
    ]))
    .unwrap();
    let case = case.torn_down();
    let step = case.step();
    let signal = Operation::SignalWaitStep { cluster: CLUSTER.into(), namespace: NAMESPACE.into() };
    let status = plan::failed(&case.object, &step, &signal, "quota", case.now).unwrap();
    assert_eq!(status.conditions.len(), 3);
    for condition in &status.conditions {
        assert!(!condition.reason.is_empty() && !condition.reason.contains(' '), "{condition:?}");
        assert!(condition.last_transition_time.is_some(), "{condition:?}");
    }
}

#[test]
fn a_status_that_names_the_job_of_another_object_fails() {
    let mut case = ready();
    labelled(&mut case, ours::EPHEMERAL_CLUSTER_UID, "another");
    let case = case.settled();
    assert_eq!(case.object.status.value.phase, Some(Phase::Failed));
    assert_eq!(case.said(CLUSTER_READY), ("False", "OwnershipMismatch"));
    assert_eq!(case.world.published, Published::Absent);
    assert_eq!(case.world.jobs[0].prow_job.state(), JobState::Pending);
}

#[test]
fn second_job_is_ended() {
    let mut case = newborn();
    case.world.jobs =
        vec![upstream_job("6f1f", JobState::Pending, complete()), job(JobState::Pending, no_namespace())];
    let case = case.at(20).settled();
    assert_eq!(case.object.status.value.prow_job_id, name_for(UID));
    assert_eq!(case.world.published, Published::Absent);
    assert!(matches!(case.world.jobs[0].site, JobSite::Namespace { signalled: true, .. }));
    // Nothing is over while the other costs money.
    let ended = case.torn_down().settled().at(40).settled();
    assert_eq!(ended.world.jobs[1].prow_job.state(), JobState::Aborted);
    assert_eq!(ended.said(PROW_JOB_COMPLETED), ("", ""));
    assert_eq!(ended.object.status.value.phase, Some(Phase::Deprovisioning));
    assert!(ended.object.has_finalizer(theirs::FINALIZER));
    let over = ended.in_state(JobState::Success).settled();
    assert_eq!(over.object.status.value.phase, Some(Phase::Deprovisioned));
    assert!(!over.object.has_finalizer(theirs::FINALIZER));
}

#[test]
fn jobs_that_upstream_gave_up_on_are_ended() {
    let mut case = newborn();
    case.object.status.value = Status {
        phase: Some(Phase::Failed),
        conditions: vec![Condition {
            type_: PROW_JOB_CREATING.into(),
            status: "False".into(),
            reason: "TooManyProwJobsBound".into(),
            message: "Too many ProwJobs bound, this is a bug".into(),
            last_transition_time: Some(born()),
            observed_generation: None,
        }],
        ..Status::default()
    };
    case.world.jobs =
        ["a", "b"].map(|name| upstream_job(name, JobState::Pending, no_namespace())).into_iter().collect();
    let case = case.at(5).settled().at(20).settled();
    assert!(case.world.jobs.iter().all(|job| job.prow_job.state() == JobState::Aborted));
    assert_eq!(case.object.status.value.phase, Some(Phase::Failed));
    assert_eq!(case.said(PROW_JOB_CREATING), ("False", "TooManyProwJobsBound"));
    assert_eq!(case.said(PROW_JOB_COMPLETED).0, "True");
}

#[test]
fn failure_reported_by_upstream_stays_and_is_torn_down() {
    let mut case = ready();
    case.object.status.value.phase = Some(Phase::Failed);
    let case = case.settled();
    assert_eq!(case.object.status.value.phase, Some(Phase::Failed));
    assert_eq!(case.said(TEST_COMPLETED), ("True", "Signalled"));
}

#[test]
fn an_annotation_that_names_another_tenant_gets_no_credentials() {
    let case = ready().annotated(theirs::KONFLUX_TENANT, "tenant-b").settled();
    assert_eq!(case.said(CLUSTER_READY), ("False", "OwnershipMismatch"));
    assert_eq!(case.object.status.value.phase, Some(Phase::Provisioning));
    assert_eq!(case.world.published, Published::Absent);
    let back = case.clone().annotated(theirs::KONFLUX_TENANT, "tenant-a").settled();
    assert_eq!(back.object.status.value.phase, Some(Phase::Ready));
    assert_eq!(case.torn_down().settled().said(TEST_COMPLETED), ("True", "Signalled"));
}

#[test]
fn nothing_is_created_while_another_controller_is_active() {
    let case = newborn().written_by_another(0);
    // Not at once: a write between two of the other's would make its next one fail.
    assert_eq!(case.step(), Plan { requeue: Action::requeue_after(minutes(1)), ..Plan::default() });
    let held = case.at(2).settled();
    assert_eq!(held.said(PROW_JOB_CREATING), ("Unknown", "HeldByOtherController"));
    assert_eq!(held.step().requeue, Action::requeue_after(minutes(8)));
    // Our write can push the other's out of the managed fields.
    let mut alone = held.clone();
    alone.object.other_writer = None;
    assert!(alone.at(9).settled().world.jobs.is_empty());
    assert_eq!(held.at(10).settled().world.jobs.len(), 1);
}

#[test]
fn unreadable_status_is_left_alone() {
    let mut case = ready();
    case.object.status.error = Some("conditions: invalid type".into());
    case.object.status.value = Status::default();
    let untouched = case.clone().settled();
    assert_eq!(untouched.object.status.value, Status::default());
    assert!(untouched.object.annotation(ours::DIAGNOSTICS).is_some());
    assert_eq!(untouched.world.jobs.len(), 1);
    let deleted = case.deleted().settled();
    assert!(matches!(deleted.world.jobs[0].site, JobSite::Namespace { signalled: true, .. }));
    assert!(deleted.object.has_finalizer(theirs::FINALIZER));
    assert!(!deleted.in_state(JobState::Success).settled().object.has_finalizer(theirs::FINALIZER));
}

#[test]
fn status_without_job_name_gets_no_second_job() {
    let mut case = ready();
    case.object.status.value.prow_job_id = String::new();
    case.world.jobs.clear();
    let case = case.settled();
    assert!(case.world.jobs.is_empty());
    assert_eq!(case.object.status.value.phase, Some(Phase::Failed));
}

/// As the upstream controller has it.
fn proxied() -> Case {
    let mut case = ready();
    case.world.jobs = vec![upstream_job("6f1f", JobState::Pending, complete())];
    case.object.status.value.prow_job_id = "6f1f".into();
    case.world.published = Published::Ours { revision: "17".into(), source_revision: None };
    case
}

fn proxy(case: &Case) -> Plan {
    proxy::plan_proxy(&case.object, &case.world, case.now)
}

#[test]
fn a_proxy_keeps_the_credentials_in_step_and_nothing_else() {
    let mut case = proxied();
    assert!(
        matches!(&proxy(&case).actions[..], [Operation::PublishCredentials(c)] if c.source_revision == "a-1")
    );
    case.world.published = Published::Ours { revision: "18".into(), source_revision: Some("a-1".into()) };
    assert!(matches!(&proxy(&case).actions[..], [Operation::SetAnnotations(_)]));
    let case = case.annotated(ours::CREDENTIALS_REVISION, "18");
    assert_eq!(proxy(&case), Plan::default());
    assert_eq!(proxy(&case.clone().on(unreachable())).requeue, Action::requeue_after(minutes(1)));
    assert_eq!(proxy(&case.clone().deleted()), Plan::default());
    let withdrawn = Plan { actions: vec![Operation::WithdrawCredentials], ..Plan::default() };
    assert_eq!(proxy(&case.clone().gone()), withdrawn);
    let mut over = case.clone();
    over.object.status.value.phase = Some(Phase::Deprovisioned);
    assert_eq!(proxy(&over), withdrawn);
    let mut unnamed = case;
    unnamed.object.status.value.secret_ref = String::new();
    assert_eq!(proxy(&unnamed), Plan::default());
}

#[rstest]
#[case::ended(JobState::Success, pending(), 60, "")]
#[case::namespace(JobState::Pending, pending(), 60, "Signal")]
#[case::no_namespace_yet(JobState::Pending, no_namespace(), 6, "")]
#[case::no_namespace(JobState::Pending, no_namespace(), 7, "AbortProwJob")]
#[case::unscheduled(JobState::Scheduling, JobSite::Unscheduled, 6, "AbortProwJob")]
#[case::unreachable(JobState::Pending, unreachable(), 6000, "")]
fn an_orphan_is_ended(
    #[case] state: JobState,
    #[case] site: JobSite,
    #[case] now: i64,
    #[case] expected: &str,
) {
    let step = orphan::plan_orphan(&job(state, site), &Settings::default(), born() + minutes(now));
    let action = match &step.actions[..] {
        [] => "",
        [Operation::SignalWaitStep { .. }] => "Signal",
        [Operation::AbortProwJob { .. }] => "AbortProwJob",
        other => panic!("{other:?}"),
    };
    assert_eq!(action, expected);
    assert_eq!(step.status, None);
}

#[test]
fn events_are_for_transitions() {
    let said = |step: &Plan| {
        let of_actions = step.actions.iter().filter_map(|action| match action {
            Operation::EmitEvent(event) => Some(event),
            _ => None,
        });
        of_actions.chain(&step.events).map(|event| event.reason.clone()).collect::<Vec<_>>()
    };
    assert_eq!(said(&newborn().step()), ["ProwJobCreated"]);
    let case = served(JobState::Pending, pending());
    let mut published = case.clone().on(complete());
    assert_eq!(said(&published.step()), [""; 0], "it is said of a Secret that was seen");
    published.world.published =
        Published::Ours { revision: "17".into(), source_revision: Some("a-1".into()) };
    assert_eq!(said(&published.step()), ["ClusterReady"]);
    assert_eq!(said(&case.in_state(JobState::Failure).step()), ["ProwJobFailure"]);
    assert_eq!(said(&ready().on(unreachable()).step()), ["BuildClusterUnreachable"]);
    assert_eq!(said(&ready().torn_down().step()), ["Deprovisioning"]);
}
