//! When credentials are published, when they stay, and when they are withdrawn.

use std::time::Duration;

use jiff::SignedDuration;
use provider_testplatform::{
    controllers::cluster_claim::{
        observed_state::{CredentialsSource, DeploymentState},
        operation::ClaimOperation,
        plan,
    },
    credentials::{
        Published,
        account::{Issue, admin::AdminKubeconfig, fingerprint::TokenFingerprint},
        publish::reason::ClaimEventReason,
    },
};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{
    account::AccessRequest,
    hive_status::{Blocked, Ownership},
    names::ours,
};
use testplatform_runtime::reconcile::Action;

use crate::cluster_claim::fixture::{
    CLUSTER, Case, NAME, born, cluster, credentials, minutes, published, running, waiting,
};

#[test]
fn at_the_safe_moment_they_are_published() {
    let case = running();
    let step = case.step();
    assert_eq!(step.actions, [ClaimOperation::Publish(credentials("1"))]);
    assert_eq!(step.status, None, "the next pass tells, which knows the Secret");
    assert_eq!(step.requeue, Action::requeue_after(minutes(10)));
    let case = case.settled();
    assert!(case.is_published());
    let told = case.told();
    let report = told.credentials.unwrap();
    assert_eq!((report.secret_name.as_str(), report.password_available), ("demo-x7k2p-credentials", true));
    assert_eq!(told.ownership, Some(Ownership::Confirmed));
    assert_eq!((told.blocking_reason, told.queue, told.supply), (None, None, None));
    assert_eq!(told.power_state.as_deref(), Some("Running"));
    assert_eq!(told.api_url.as_deref(), Some("https://api.c:6443"));
    assert_eq!(told.console_url.as_deref(), Some("https://console.c"));
    assert_eq!(told.version.as_deref(), Some("4.20.3"));
    let annotations = case.claim["metadata"]["annotations"].to_string();
    assert!(!annotations.contains("hunter2") && !annotations.contains("aHVudGVyMg"));
}

#[test]
fn publication_is_reported_once() {
    let mut case = running();
    case.published = Published::Ours { revision: "17".into(), source_revision: Some("1".into()) };
    assert_eq!(case.events(), [ClaimEventReason::CredentialsPublished.as_str()]);
    assert_eq!(case.settled().events(), [""; 0]);
}

/// Each thing that is missing alone keeps them back.
#[rstest]
#[case::not_assigned(waiting(), Blocked::NotAssigned)]
#[case::assigned_and_not_claimed(running().said("Pending", "True", "ClusterAssigned"), Blocked::NotRunning)]
#[case::nobody_looked(running().on_claim("/status/conditions", json!([])), Blocked::NotRunning)]
#[case::no_status(running().on_claim("/status", Value::Null), Blocked::NotRunning)]
#[case::resuming(running().said("ClusterRunning", "False", "Resuming"), Blocked::NotRunning)]
#[case::not_installed(running().on_cluster("/spec/installed", json!(false)), Blocked::NotRunning)]
#[case::no_metadata(
    running().said("Pending", "True", "ClusterAssigned").on_cluster("/spec/clusterMetadata", Value::Null),
    Blocked::MetadataMissing
)]
#[case::no_metadata_json(
    running().said("Pending", "True", "ClusterAssigned").on_cluster("/spec/clusterMetadata/metadataJSONSecretRef", Value::Null),
    Blocked::MetadataMissing
)]
#[case::unconfirmed(running().on_cluster("/spec/clusterPoolRef/claimName", Value::Null), Blocked::NotAssigned)]
#[case::another_claim(running().on_cluster("/spec/clusterPoolRef/claimName", json!("other")), Blocked::OwnershipMismatch)]
#[case::another_pool(running().on_cluster("/spec/clusterPoolRef/poolName", json!("other")), Blocked::OwnershipMismatch)]
#[case::another_namespace(running().on_cluster("/spec/clusterPoolRef/namespace", json!("other")), Blocked::OwnershipMismatch)]
#[case::no_pool(running().on_cluster("/spec/clusterPoolRef", Value::Null), Blocked::OwnershipMismatch)]
#[case::given_back(
    running().on_cluster("/metadata/annotations", json!({ "hive.openshift.io/remove-cluster-from-pool": "true" })),
    Blocked::NotRunning
)]
#[case::given_back_as_of_old(
    running().on_cluster("/metadata/annotations", json!({ "hive.openshift.io/remove-claimed-cluster-from-pool": "true" })),
    Blocked::NotRunning
)]
#[case::cluster_deleted(running().on_cluster("/metadata/deletionTimestamp", json!("2026-11-21T12:01:00Z")), Blocked::NotRunning)]
#[case::claim_deleted(running().deleted(), Blocked::NotRunning)]
#[case::secret_missing(running().source(CredentialsSource::Blocked(Blocked::SecretMissing, "no".into())), Blocked::SecretMissing)]
#[case::key_missing(running().source(CredentialsSource::Blocked(Blocked::KeyMissing, "no".into())), Blocked::KeyMissing)]
#[case::rejected(running().source(CredentialsSource::Blocked(Blocked::KubeconfigRejected, "no".into())), Blocked::KubeconfigRejected)]
#[case::unread(running().source(CredentialsSource::Unread), Blocked::NotRunning)]
fn incomplete_cluster_publishes_nothing(#[case] case: Case, #[case] reason: Blocked) {
    let case = case.settled();
    assert!(!case.is_published());
    assert_eq!(case.blocked(), Some(reason));
    let message = case.told().blocking_reason.unwrap().message.unwrap();
    assert!(!message.is_empty() && message.len() < 512, "{message}");
}

/// Whoever lets the provider in may be ahead of the API server by a moment, and nothing tells when it has caught up.
#[rstest]
fn missing_secret_is_read_again_soon(#[values(Blocked::SecretMissing, Blocked::KeyMissing)] reason: Blocked) {
    let blocked = |case: Case| case.source(CredentialsSource::Blocked(reason, "no".into()));
    let case = blocked(running());
    let at = |case: &Case, minute: i64| case.clone().at(minute).settled().step().requeue;
    assert_eq!(at(&case, 1), Action::RequeueAfter(Duration::from_secs(30)), "Hive said so this moment");
    // The longer it lasts, the rarer.
    assert_eq!(at(&case, 5), Action::requeue_after(minutes(4)));
    assert_eq!(at(&case, 60), Action::requeue_after(minutes(10)));
    // The published credentials stay meanwhile.
    assert_eq!(at(&blocked(published()), 1), Action::requeue_after(minutes(10)));
    let rejected = running().source(CredentialsSource::Blocked(Blocked::KubeconfigRejected, "no".into()));
    assert_eq!(at(&rejected, 1), Action::requeue_after(minutes(10)));
}

/// An API server may give a shorter one than was asked for, and an administrator may have others looked at seldom.
#[test]
fn token_is_checked_when_due() {
    let admin = AdminKubeconfig::new(b"apiVersion: v1".to_vec());
    let wish = AccessRequest { cluster_role: "view".into(), generation: 0 };
    let issue = Issue { admin, wish, uid: "uid".into(), revision: "a-1".into() };
    for (life, due) in [(60, minutes(40)), (12 * 60, minutes(8 * 60))] {
        let (issued, expires) = (born(), born() + minutes(life));
        let stamp = TokenFingerprint {
            issued,
            expires,
            generation: 0,
            origin: issue.origin_fingerprint(),
            digest: "d".into(),
        };
        let mut case = running().source(CredentialsSource::Account(Box::new(issue.clone())));
        case.published = Published::Ours { revision: "17".into(), source_revision: Some(stamp.to_string()) };
        let step = |poll: SignedDuration, after: SignedDuration| {
            let mut world = case.world();
            world.settings.poll = poll;
            plan::plan(&case.claim(), &world, born() + after)
        };
        let day = minutes(24 * 60);
        assert_eq!(step(day, minutes(2)).requeue, Action::requeue_after(due - minutes(2)));
        assert_eq!(step(minutes(10), minutes(2)).requeue, Action::requeue_after(minutes(10)));
        let moment = due - SignedDuration::from_millis(1);
        assert_eq!(step(day, moment).requeue, Action::requeue_after(SignedDuration::from_secs(1)));
        let actions = step(day, due).actions;
        assert!(matches!(actions.as_slice(), [ClaimOperation::Issue(_)]), "{actions:?}");
    }
}

/// Its Secrets are not even read.
#[rstest]
fn secrets_of_foreign_clusters_are_not_read(
    #[values("other", "")] claim_name: &str,
    #[values(true, false)] running_now: bool,
) {
    let case = running().on_cluster("/spec/clusterPoolRef/claimName", json!(claim_name));
    let case = if running_now { case } else { case.said("ClusterRunning", "False", "Resuming") };
    assert!(!plan::may_read(&case.claim(), &case.world().deployment));
    assert!(plan::may_read(&running().claim(), &running().world().deployment));
    assert!(!plan::may_read(&running().claim(), &DeploymentState::Gone));
}

/// Ready latches: whatever Hive calls a cluster that is in use.
#[rstest]
#[case::busy(published().said("ClusterRunning", "False", "Resuming"))]
#[case::hibernating(published().said("ClusterRunning", "False", "Resuming").on_cluster("/status/powerState", json!("Hibernating")))]
#[case::secret_gone(published().source(CredentialsSource::Blocked(Blocked::SecretMissing, "no".into())))]
#[case::rejected(published().source(CredentialsSource::Blocked(Blocked::KubeconfigRejected, "no".into())))]
#[case::refused(published().source(CredentialsSource::Refused(credentials("2"))))]
#[case::pool_gone({ let mut case = published(); case.pool = None; case })]
#[case::unmarked(published().on_claim("/metadata/annotations/testplatform.ci.openshift.org~1resume", Value::Null))]
#[case::unreadable_status(published().on_claim("/status", json!({ "conditions": 7 })))]
#[case::unreadable_cluster(published().on_cluster("/spec", json!("x")))]
fn published_credentials_stay(#[case] case: Case) {
    let before = case.published.clone();
    let case = case.settled();
    assert!(case.is_published());
    assert_eq!(case.published, before);
}

#[rstest]
#[case::claim_deleted(published().deleted())]
#[case::cluster_deleted(published().on_cluster("/metadata/deletionTimestamp", json!("2026-11-21T12:01:00Z")))]
#[case::given_back(
    published().on_cluster("/metadata/annotations", json!({ "hive.openshift.io/remove-cluster-from-pool": "true" }))
)]
#[case::cluster_gone({ let mut case = published(); case.cluster = None; case })]
#[case::assignment_taken_back(published().on_claim("/spec/namespace", Value::Null))]
#[case::another_cluster_written_in({
    let mut case = published();
    case.cluster = Some(cluster("ocp-4-20-fghij", Some("other")));
    case.on_claim("/spec/namespace", json!("ocp-4-20-fghij"))
})]
#[case::confirmation_taken_back(published().on_cluster("/spec/clusterPoolRef/claimName", Value::Null))]
fn credentials_of_an_ending_cluster_are_withdrawn_at_once(#[case] case: Case) {
    let step = case.step();
    assert_eq!(step.actions[0], ClaimOperation::Withdraw, "before anything is told");
    assert!(case.events().contains(&ClaimEventReason::CredentialsWithdrawn.as_str().to_owned()));
    let case = case.settled();
    assert!(!case.is_published());
    assert!(case.blocked().is_some());
}

#[test]
fn withdrawn_credentials_need_a_running_cluster_again() {
    let case = published().on_claim("/spec/namespace", Value::Null).settled();
    let case = case
        .on_claim("/spec/namespace", json!(CLUSTER))
        .said("ClusterRunning", "False", "Resuming")
        .settled();
    assert!(!case.is_published());
    assert!(case.said("ClusterRunning", "True", "Running").settled().is_published());
}

#[test]
fn changed_credentials_are_published() {
    let rotated = published().source(CredentialsSource::Complete(credentials("2")));
    assert_eq!(rotated.step().actions, [ClaimOperation::Publish(credentials("2"))]);
    let rotated = rotated.settled();
    assert_eq!(
        rotated.published,
        Published::Ours { revision: "17".into(), source_revision: Some("2".into()) }
    );
    // Somebody changed the Secret: it was not made from what it says.
    let mut tampered = published();
    tampered.published = Published::Ours { revision: "18".into(), source_revision: None };
    assert_eq!(tampered.step().actions, [ClaimOperation::Publish(credentials("1"))]);
    // Somebody deleted it.
    let mut deleted = published();
    deleted.published = Published::Absent;
    assert_eq!(deleted.step().actions, [ClaimOperation::Publish(credentials("1"))]);
}

#[test]
fn missing_password_is_an_empty_key_and_reported() {
    let mut without = credentials("1");
    without.password.0.clear();
    let case = running().source(CredentialsSource::Complete(without)).settled();
    assert!(!case.told().credentials.unwrap().password_available);
    // A later read failure does not change the report.
    let blocked = case.source(CredentialsSource::Blocked(Blocked::SecretMissing, "no".into())).settled();
    assert!(!blocked.told().credentials.unwrap().password_available);
}

#[test]
fn foreign_secret_is_left_alone_and_reported_once() {
    let mut case = running();
    case.published =
        Published::Foreign("Secret demo-x7k2p-credentials was not published for a ClusterClaim".into());
    assert_eq!(case.events(), [ClaimEventReason::CredentialsNotOwned.as_str()]);
    let case = case.settled();
    assert_eq!(case.blocked(), Some(Blocked::OwnershipMismatch));
    assert_eq!(case.told().ownership, Some(Ownership::Confirmed), "the cluster is the claim's");
    assert!(matches!(case.published, Published::Foreign(_)));
    let mut ending = case.clone().deleted();
    assert!(!ending.step().actions.contains(&ClaimOperation::Withdraw));
    ending.published = Published::Absent;
    assert_eq!(ending.step().actions, []);
}

#[rstest]
#[case(running().on_cluster("/spec/clusterPoolRef/claimName", json!("other")), ClaimEventReason::OwnershipMismatch)]
#[case(running().source(CredentialsSource::Blocked(Blocked::KubeconfigRejected, "no".into())), ClaimEventReason::KubeconfigRejected)]
fn a_warning_is_raised_once(#[case] case: Case, #[case] reason: ClaimEventReason) {
    let warned =
        |case: &Case| case.step().events.iter().filter(|e| e.warning && e.reason == reason.as_str()).count();
    assert_eq!(warned(&case), 1);
    assert_eq!(warned(&case.settled()), 0);
}

/// Nothing of a cluster that is another's is told.
#[test]
fn foreign_cluster_is_not_reported() {
    let case = running().on_cluster("/spec/clusterPoolRef/claimName", json!("other")).settled();
    let told = case.told();
    assert_eq!(told.ownership, Some(Ownership::Mismatch));
    assert_eq!((told.api_url, told.console_url, told.version, told.power_state), (None, None, None, None));
}

#[test]
fn foreign_claim_is_left_alone() {
    let resume = "/metadata/annotations/testplatform.ci.openshift.org~1resume";
    for case in [waiting(), running(), running().deleted()] {
        assert_eq!(
            case.on_claim(resume, Value::Null).step(),
            provider_testplatform::controllers::cluster_claim::operation::ClaimPlan::default()
        );
    }
}

#[test]
fn failed_publication_is_reported() {
    let case = running();
    let publish = ClaimOperation::Publish(credentials("1"));
    let notes = plan::failed(&case.claim(), &publish, "the provider is not allowed to do this").unwrap();
    let why = notes.status.blocking_reason.unwrap();
    assert_eq!(why.reason, Blocked::SecretMissing);
    assert!(why.message.unwrap().contains("not allowed"));
    // Published credentials stay in the report.
    let case = published();
    let notes = plan::failed(&case.claim(), &publish, "x").unwrap();
    assert!(notes.status.credentials.is_some() && notes.credentials_revision.is_some());
    assert_eq!(plan::failed(&case.claim(), &ClaimOperation::Withdraw, "x"), None);
    assert_eq!(case.claim["metadata"]["annotations"][ours::RESUME], "true", "{NAME}");
}
