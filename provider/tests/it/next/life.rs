//! A life from birth to end, its deadlines, and what is written on the way.

use provider_testplatform::{
    build_clusters::JobSite,
    controllers::ephemeral_cluster::{
        conditions::{CLUSTER_READY, CREDENTIALS_IN_SYNC, PROW_JOB_COMPLETED, TEST_COMPLETED, find},
        diagnostics,
        operation::{Operation, Plan},
        prow_job::{JobState, name_for},
        status::{self, Phase, Status},
    },
    credentials::{NamespaceCredentials, Published},
};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{
    foreign::ephemeral_cluster::conditions::KUBECONFIG_WITHDRAWN,
    names::{ephemeral_cluster::FINALIZER, ours},
};
use testplatform_runtime::reconcile::Action;

use crate::next::fixture::{
    Case, NAMESPACE, UID, born, complete, credentials, minutes, namespace, newborn, no_namespace, pending,
    ready, served, terminating, unreachable,
};

fn kinds(step: &Plan) -> Vec<&'static str> {
    step.actions
        .iter()
        .map(|action| match action {
            Operation::AddFinalizer => "AddFinalizer",
            Operation::RemoveFinalizer => "RemoveFinalizer",
            Operation::SetAnnotations(_) => "Annotate",
            Operation::CreateProwJob(_) => "CreateProwJob",
            Operation::ClaimProwJob { .. } => "ClaimProwJob",
            Operation::AbortProwJob { .. } => "AbortProwJob",
            Operation::SignalWaitStep { .. } => "Signal",
            Operation::SignalWaitStepOrAbort { .. } => "SignalOrAbort",
            Operation::PublishCredentials(_) => "PublishCredentials",
            Operation::IssueCredentials(_) => "IssueCredentials",
            Operation::WithdrawCredentials => "WithdrawCredentials",
            Operation::EmitEvent(_) => "Emit",
        })
        .collect()
}

/// Reasons of the events about the status.
fn reasons(step: &Plan) -> Vec<&str> {
    step.events.iter().map(|event| event.reason.as_str()).collect()
}

#[test]
fn cached_absence_creates_nothing() {
    assert_eq!(newborn().cached().step(), Plan { requeue: Action::BypassCaches, ..Plan::default() });
}

#[test]
fn finalizer_is_set_before_the_job() {
    let step = newborn().step();
    assert_eq!(kinds(&step), ["AddFinalizer", "CreateProwJob", "Emit"]);
    let status = step.status.unwrap();
    assert_eq!((status.phase, status.prow_job_id), (Some(Phase::Provisioning), name_for(UID)));
    assert_eq!(status.observed_generation, Some(1));
}

#[test]
fn the_whole_life() {
    let case = ready();
    assert_eq!(case.object.status.value.secret_ref, "demo-x7k2p-credentials");
    assert_eq!(case.object.status.value.prow_job_url, "https://prow.example/view/1");
    assert_eq!(case.object.annotation(ours::CREDENTIALS_REVISION), Some("17"));
    let torn_down = case.torn_down();
    assert_eq!(kinds(&torn_down.step()), ["Signal"]);
    assert_eq!(reasons(&torn_down.step()), ["Deprovisioning"]);
    let ended = torn_down.settled().in_state(JobState::Success);
    // The end is written before the finalizer goes.
    assert_eq!(kinds(&ended.step()), ["WithdrawCredentials"]);
    assert_eq!(reasons(&ended.step()), ["Deprovisioned"]);
    let over = ended.settled();
    assert_eq!(over.object.status.value.phase, Some(Phase::Deprovisioned));
    assert_eq!(over.object.status.value.secret_ref, "demo-x7k2p-credentials");
    assert_eq!(over.world.published, Published::Absent);
    assert!(!over.object.has_finalizer(FINALIZER));
    assert_eq!(over.object.annotation(ours::DIAGNOSTICS), None);
}

#[test]
fn object_created_for_teardown_gets_no_job() {
    let case = newborn().torn_down().settled();
    assert!(case.world.jobs.is_empty());
    assert_eq!(case.object.status.value.phase, Some(Phase::Deprovisioned));
    assert_eq!(case.said(PROW_JOB_COMPLETED), ("True", "ProwJobCompleted"));
}

#[test]
fn object_deleted_before_its_job_is_released() {
    let mut case = newborn().deleted();
    case.object.metadata.finalizers = Some(vec![FINALIZER.into()]);
    assert_eq!(kinds(&case.step()), ["RemoveFinalizer"]);
    assert_eq!(case.cached().step().requeue, Action::BypassCaches);
}

#[test]
fn a_deletion_waits_for_the_job() {
    let case = ready().deleted().settled();
    assert_eq!(case.said(TEST_COMPLETED), ("True", "Signalled"));
    assert!(case.object.has_finalizer(FINALIZER));
    let ended = case.in_state(JobState::Failure);
    assert_eq!(kinds(&ended.step()), ["WithdrawCredentials", "RemoveFinalizer"]);
    assert_eq!(ended.step().status, None);
}

#[test]
fn a_deletion_does_not_wait_for_ever_for_a_build_cluster() {
    let case = served(JobState::Pending, unreachable()).deleted().settled();
    assert_eq!(case.said(TEST_COMPLETED), ("False", "BuildClusterUnreachable"));
    let hours_later = case.clone().at(10 + 239).settled();
    assert!(hours_later.object.has_finalizer(FINALIZER));
    let let_go = case.at(10 + 240).settled();
    assert_eq!(let_go.world.jobs[0].prow_job.state(), JobState::Aborted);
    assert!(!let_go.object.has_finalizer(FINALIZER));
}

#[test]
fn a_running_deprovision_is_never_cut_short() {
    let case = ready().torn_down().settled().at(24 * 60).settled();
    assert_eq!(case.said(PROW_JOB_COMPLETED), ("False", "DeprovisionTimeout"));
    assert_eq!(case.world.jobs[0].prow_job.state(), JobState::Pending);
    let deleted = case.deleted().at(48 * 60).settled();
    assert_eq!(deleted.world.jobs[0].prow_job.state(), JobState::Pending);
}

#[rstest]
#[case::unreachable(unreachable(), "BuildClusterUnreachable")]
#[case::no_namespace(no_namespace(), "NamespacePending")]
#[case::terminating(terminating(), "NamespacePending")]
#[case::source_gone(pending(), "CredentialsPending")]
#[case::unreadable(namespace(NamespaceCredentials::Unreadable("forbidden".into())), "CredentialsUnreadable")]
#[case::refused(namespace(NamespaceCredentials::Refused), "KubeconfigRejected")]
fn ready_stays_when_its_source_cannot_be_seen(#[case] site: JobSite, #[case] reason: &str) {
    let case = ready().on(site).settled();
    assert_eq!(case.object.status.value.phase, Some(Phase::Ready));
    assert_eq!(case.said(CLUSTER_READY), ("True", "CredentialsPublished"));
    assert_eq!(case.said(CREDENTIALS_IN_SYNC), ("False", reason));
    assert!(matches!(case.world.published, Published::Ours { .. }));
}

#[test]
fn published_credentials_follow_their_source() {
    let case = ready().on(namespace(NamespaceCredentials::Complete(credentials("a-2")))).settled();
    let published = Published::Ours { revision: "17".into(), source_revision: Some("a-2".into()) };
    assert_eq!(case.world.published, published);
    let mut lost = case;
    lost.world.published = Published::Absent;
    assert_eq!(lost.settled().world.published, published);
}

#[rstest]
#[case::in_time("30m", 10 + 44, false)]
#[case::over("30m", 10 + 45, true)]
#[case::longer_than_allowed("1000h", 10 + 180 + 15, true)]
#[case::no_duration("soon", 10_000, false)]
#[case::negative("-1h", 10_000, false)]
fn a_lifetime_ends_in_a_teardown(#[case] lifetime: &str, #[case] now: i64, #[case] over: bool) {
    let case =
        ready().annotated(ours::MAX_LIFETIME, "3h").annotated(ours::LIFETIME, lifetime).at(now).settled();
    assert_eq!(case.object.status.value.phase == Some(Phase::Deprovisioning), over);
    assert_eq!(case.said(TEST_COMPLETED).0 == "True", over);
}

/// The hub was ready at minute 10, and the claim had its kubeconfig 40 minutes later.
#[test]
fn a_lifetime_counts_from_a_late_delivery() {
    let delivered = |at: &str| ready().annotated(ours::LIFETIME, "30m").annotated(ours::DELIVERED_AT, at);
    let late = delivered(&(born() + minutes(50)).to_string()).at(10 + 45).settled();
    assert_eq!(late.object.status.value.phase, Some(Phase::Ready));
    assert_eq!(late.object.status.value.expires_at, Some(born() + minutes(80)));
    assert_eq!(late.at(80 + 15).settled().object.status.value.phase, Some(Phase::Deprovisioning));
    for other in ["soon", "1970-01-01T00:00:00Z"] {
        let case = delivered(other).at(10 + 45).settled();
        assert_eq!(case.object.status.value.phase, Some(Phase::Deprovisioning), "{other}");
    }
}

/// The function's clock may be ahead, and its deadline later than the provider's.
#[test]
fn a_delivery_in_the_future_counts_as_the_provision_deadline() {
    let ahead = || {
        ready()
            .annotated(ours::PROVISION_TIMEOUT, "3h")
            .annotated(ours::LIFETIME, "30m")
            .annotated(ours::DELIVERED_AT, "2926-01-01T00:00:00Z")
    };
    let deadline = born() + minutes(180 + 15);
    let kept = ahead().at(180).settled();
    assert_eq!(kept.object.status.value.expires_at, Some(deadline + minutes(30)));
    for now in [180 + 15 + 44, 180 + 15 + 46] {
        let case = ahead().at(now).settled();
        let over = now > 180 + 15 + 45;
        assert_eq!(case.object.status.value.phase == Some(Phase::Deprovisioning), over, "{now}");
    }
}

/// Until the claim has its kubeconfig the function writes the end of provisioning.
#[test]
fn a_lifetime_does_not_end_before_a_kubeconfig_can_be_delivered() {
    let latest = born() + minutes(180);
    let case = ready()
        .annotated(ours::PROVISION_TIMEOUT, "3h")
        .annotated(ours::LIFETIME, "30m")
        .annotated(ours::DELIVERED_AT, &latest.to_string());
    let kept = case.at(10 + 45).settled();
    assert_eq!(kept.object.status.value.phase, Some(Phase::Ready));
    assert_eq!(kept.object.status.value.expires_at, Some(latest + minutes(30)));
    assert_eq!(kept.at(180 + 45).settled().object.status.value.phase, Some(Phase::Deprovisioning));
}

/// As at the first start of a version that is stricter than the one that published it.
#[test]
fn a_withdrawn_kubeconfig_is_reported_as_such() {
    let rejected =
        || namespace(NamespaceCredentials::Rejected("key kubeconfig of Secret s runs a program".into()));
    let mut withdrawn = ready().on(rejected());
    withdrawn.world.published = Published::Absent;
    let case = withdrawn.settled();
    assert_eq!(case.said(CLUSTER_READY), ("True", "CredentialsPublished"));
    // The function reads the word.
    assert_eq!(case.said(CREDENTIALS_IN_SYNC), ("False", KUBECONFIG_WITHDRAWN));
    // A later reason does not end the withdrawal.
    let away = case.clone().on(unreachable()).settled();
    assert_eq!(away.said(CREDENTIALS_IN_SYNC), ("False", KUBECONFIG_WITHDRAWN));
    let back = away.on(complete());
    // Not before the new Secret is observed, because the function goes by its revision.
    let publishing = back.step();
    let said =
        publishing.status.as_ref().map_or(&back.object.status.value.conditions, |status| &status.conditions);
    assert_eq!(find(said, CREDENTIALS_IN_SYNC).unwrap().reason, KUBECONFIG_WITHDRAWN);
    assert_eq!(back.settled().said(CREDENTIALS_IN_SYNC), ("True", "CredentialsPublished"));
    // One that replaces a good one is not published, and the good one stays.
    let kept = ready().on(rejected()).settled();
    assert_eq!(kept.said(CREDENTIALS_IN_SYNC), ("False", "CredentialsPending"));
    assert!(matches!(kept.world.published, Published::Ours { .. }));
    // Steps upload files that they have not finished.
    let early = served(JobState::Pending, rejected());
    assert_eq!(early.said(CLUSTER_READY), ("False", "CredentialsPending"));
}

/// A claim that asked for none at birth, or that another version held meanwhile: the function promises what it writes.
#[test]
fn longer_lifetime_without_a_maximum_ends_nothing() {
    let case = ready().annotated(ours::LIFETIME, "8h").at(10 + 180).settled();
    assert_eq!(case.object.status.value.phase, Some(Phase::Ready));
    assert_eq!(case.object.status.value.expires_at, Some(born() + minutes(10 + 480)));
    let over = case.at(10 + 480 + 15).settled();
    assert_eq!(over.object.status.value.phase, Some(Phase::Deprovisioning));
}

#[test]
fn the_end_of_the_lifetime_is_shown_and_forgotten() {
    let case = ready().annotated(ours::LIFETIME, "30m").settled();
    assert_eq!(case.object.status.value.expires_at, Some(born() + minutes(40)));
    assert_eq!(case.step().requeue, Action::requeue_after(minutes(45)));
    let mut without = case.clone();
    without.object.metadata.annotations.as_mut().unwrap().remove(ours::LIFETIME);
    let desired = without.step().status.unwrap();
    // A merge patch keeps what it does not name.
    let patch = status::patch(&without.object.status.value, &desired).unwrap();
    assert_eq!(patch["status"]["expiresAt"], Value::Null);
    assert!(patch["status"].as_object().unwrap().contains_key("expiresAt"));
}

#[test]
fn fields_that_the_crd_drops_are_no_reason_to_write() {
    let mut pruned = ready().annotated(ours::LIFETIME, "30m").settled().object.status.value;
    let desired = pruned.clone();
    (pruned.observed_generation, pruned.expires_at) = (None, None);
    assert!(!status::differs(&pruned, &desired));
    let older = Status { observed_generation: Some(0), ..desired.clone() };
    assert!(status::differs(&older, &desired));
}

#[test]
fn no_cluster_in_time_fails_once_its_end_has_begun() {
    let late = served(JobState::Pending, pending()).at(254).settled();
    assert_eq!(late.object.status.value.phase, Some(Phase::Provisioning));
    let timed_out = late.at(255).settled();
    assert_eq!(timed_out.object.status.value.phase, Some(Phase::Failed));
    assert_eq!(timed_out.said(TEST_COMPLETED), ("True", "Signalled"));
    let away = served(JobState::Pending, unreachable()).at(255).settled();
    assert_eq!(away.object.status.value.phase, Some(Phase::Deprovisioning));
    assert_eq!(away.on(pending()).settled().object.status.value.phase, Some(Phase::Failed));
}

#[test]
fn credentials_that_come_at_the_last_moment_count() {
    let last = served(JobState::Pending, pending()).at(255).on(complete()).settled();
    assert_eq!(last.object.status.value.phase, Some(Phase::Ready));
}

#[rstest]
#[case::scheduling(JobState::Scheduling, JobSite::Unscheduled, true)]
#[case::triggered(JobState::Triggered, no_namespace(), true)]
#[case::triggered_out_of_reach(JobState::Triggered, unreachable(), true)]
#[case::unknown(JobState::Unknown, no_namespace(), true)]
#[case::unknown_out_of_reach(JobState::Unknown, unreachable(), false)]
#[case::with_a_namespace(JobState::Triggered, pending(), false)]
#[case::with_a_pod(JobState::Pending, no_namespace(), false)]
fn a_job_that_finds_no_build_cluster_is_aborted(
    #[case] state: JobState,
    #[case] site: JobSite,
    #[case] aborted: bool,
) {
    let in_time = served(state, site).at(60).settled();
    assert_eq!(in_time.world.jobs[0].prow_job.state(), state);
    let case = in_time.at(61).settled();
    assert_eq!(case.world.jobs[0].prow_job.state() == JobState::Aborted, aborted);
    assert_eq!(case.object.status.value.phase == Some(Phase::Failed), aborted);
}

/// It may have been given more time since the cache was filled.
#[rstest]
#[case::never_scheduled(served(JobState::Scheduling, JobSite::Unscheduled).at(61), "AbortProwJob")]
#[case::no_cluster_in_time(served(JobState::Pending, pending()).at(255), "Signal")]
#[case::lifetime(ready().annotated(ours::LIFETIME, "30m").settled().at(10 + 45), "Signal")]
fn deadline_ends_an_object_only_after_a_fresh_read(#[case] case: Case, #[case] end: &str) {
    assert_eq!(case.clone().cached().step(), Plan { requeue: Action::BypassCaches, ..Plan::default() });
    assert!(kinds(&case.step()).contains(&end), "{:?}", case.step());
    // It is read anew once: from then on it is written down that the end has begun.
    let begun = case.settled().cached();
    assert_ne!(begun.step().requeue, Action::BypassCaches);
}

#[test]
fn more_time_than_the_cache_knows_of_counts() {
    let old = ready().annotated(ours::LIFETIME, "30m").settled().at(10 + 45);
    let extended = old.clone().annotated(ours::LIFETIME, "1h");
    assert_eq!(old.cached().step().requeue, Action::BypassCaches);
    let step = extended.step();
    assert_eq!((kinds(&step), step.requeue), (vec![], Action::requeue_after(minutes(30))));
}

#[test]
fn taking_the_request_to_end_back_changes_nothing() {
    let mut case = served(JobState::Pending, no_namespace()).torn_down().settled();
    case.object.spec.value.tear_down_cluster = false;
    let case = case.on(complete()).settled();
    assert_eq!(case.said(TEST_COMPLETED), ("True", "Signalled"));
    assert_eq!(case.world.published, Published::Absent);
}

#[test]
fn a_job_deleted_by_hand_leaves_nothing_running() {
    let mut case = ready().gone();
    case.world.orphaned_site = Some(pending());
    assert!(
        matches!(&case.step().actions[..], [Operation::SignalWaitStep { namespace, .. }, ..] if namespace == NAMESPACE)
    );
    // Without a kubeconfig of any build cluster, nobody can tell where it runs.
    for (site, why) in [
        (unreachable(), "BuildClusterUnreachable"),
        (JobSite::Unknown { cluster: String::new() }, "BuildClusterUnknown"),
    ] {
        let mut case = ready().gone();
        case.world.orphaned_site = Some(site);
        let case = case.settled();
        assert_eq!(case.object.status.value.phase, Some(Phase::Deprovisioning));
        assert_eq!(case.said(TEST_COMPLETED), ("False", why));
        assert_eq!(case.at(300).settled().object.status.value.phase, Some(Phase::Failed));
    }
}

#[test]
fn diagnostics_of_a_failure_have_no_foreign_text() {
    let mut case = ready();
    case.job().prow_job.status.value.description = "token=hunter2".into();
    for condition in &mut case.object.status.value.conditions {
        condition.message = "token=hunter2".into();
    }
    let case = case.in_state(JobState::Failure).settled();
    let text = case.object.annotation(ours::DIAGNOSTICS).unwrap().to_owned();
    assert!(!text.contains("hunter2") && text.len() <= diagnostics::MAX, "{text}");
    let noted: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(noted["reason"], "EndedWithoutSignal");
    let prow_job = json!({ "name": name_for(UID), "state": "failure", "url": "https://prow.example/view/1" });
    assert_eq!(noted["prowJob"], prow_job);
    assert_eq!((&noted["buildCluster"], &noted["namespace"]), (&json!("build07"), &json!(NAMESPACE)));
    // The cache shows only that there is one.
    let cached = case.annotated(ours::DIAGNOSTICS, "");
    assert!(cached.step().actions.is_empty());
}

#[test]
fn a_note_is_never_too_long() {
    let mut case: Case = ready().in_state(JobState::Failure);
    let condition = case.object.status.value.conditions[0].clone();
    for n in 0..400 {
        let type_ = format!("{}{n}", "x".repeat(100));
        case.object.status.value.conditions.push(status::Condition { type_, ..condition.clone() });
    }
    let case = case.settled();
    let text = case.object.annotation(ours::DIAGNOSTICS).unwrap();
    assert!(text.len() <= diagnostics::MAX && text.contains("EndedWithoutSignal"));
}
