//! When credentials are published, when they stay, and when they are withdrawn: of every kind alike.

use std::time::Duration;

use jiff::SignedDuration;
use provider_testplatform::{
    controllers::template_cluster::plan::{self, ClusterPlan, progress},
    credentials::{
        Credentials, Published,
        account::{Issue, admin::AdminKubeconfig, fingerprint::TokenFingerprint},
        publish::{
            CredentialsOperation, CredentialsSource, SOON, reason::ClaimEventReason, replaces_other_source,
        },
    },
};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{
    account::AccessRequest,
    hive_status::Blocked,
    names::ours,
    template::Backend::{self, Caas, ClusterApi, HyperShift, Osac},
};
use testplatform_runtime::reconcile::Action;

use crate::clusters::fixture::{CREDENTIALS, Case, born, credentials, hosted, minutes, published, running};

const MARK: &str = "/metadata/annotations/testplatform.ci.openshift.org~1credentials-namespace";

/// One that cannot be used yet.
fn made(backend: Backend) -> Case {
    match backend {
        HyperShift | Osac => running(backend).said("Available", "False"),
        ClusterApi => running(backend).said("ControlPlaneAvailable", "False"),
        Caas => running(backend).on_object("/status/phase", json!("ClusterInstalling")),
    }
}

#[rstest]
fn at_the_safe_moment_they_are_published(#[values(HyperShift, ClusterApi, Caas, Osac)] backend: Backend) {
    let waits = made(backend).settled();
    assert_eq!((waits.is_published(), waits.blocked()), (false, Some(Blocked::NotRunning)));
    assert_eq!(progress(&waits.object()), "provisioning");
    let case = running(backend);
    let step = case.step();
    assert_eq!(step.actions, [CredentialsOperation::Publish(credentials("1"))]);
    assert_eq!(step.status, None, "the next pass tells, which knows the Secret");
    assert_eq!(step.requeue, Action::requeue_after(minutes(10)));
    let case = case.settled();
    assert!(case.is_published());
    let told = case.told();
    let report = told.credentials.unwrap();
    assert_eq!((report.secret_name.as_str(), report.password_available), ("demo-x7k2p-credentials", true));
    assert_eq!(told.blocking_reason, None);
    assert_eq!(progress(&case.object()), "published");
    let annotations = case.object["metadata"]["annotations"].to_string();
    assert!(!annotations.contains("hunter2") && !annotations.contains("aHVudGVyMg"));
}

#[test]
fn publication_is_reported_once() {
    let mut case = running(HyperShift);
    case.published = Published::Ours { revision: "17".into(), source_revision: Some("1".into()) };
    assert_eq!(case.events(), [ClaimEventReason::CredentialsPublished.as_str()]);
    assert_eq!(case.settled().events(), [""; 0]);
}

/// Whoever made it.
#[rstest]
fn unmarked_cluster_is_left_alone(
    #[values(HyperShift, ClusterApi, Caas, Osac)] backend: Backend,
    #[values(Value::Null, json!("elsewhere"), json!(""))] mark: Value,
) {
    for case in [running(backend), made(backend), running(backend).deleted()] {
        let case = case.on_object(MARK, mark.clone());
        assert_eq!(case.step(), ClusterPlan::default());
        assert!(plan::may_read(case.kind(), &case.object(), &case.world()).is_none());
    }
}

/// Each thing that is missing alone keeps them back.
#[rstest]
#[case::not_available(made(HyperShift), Blocked::NotRunning)]
#[case::nothing_said(running(HyperShift).on_object("/status", Value::Null), Blocked::NotRunning)]
#[case::no_reference(running(HyperShift).on_object("/status/kubeconfig", Value::Null), Blocked::MetadataMissing)]
#[case::secret_missing(running(HyperShift).source(CredentialsSource::Blocked(Blocked::SecretMissing, "no".into())), Blocked::SecretMissing)]
#[case::key_missing(running(ClusterApi).source(CredentialsSource::Blocked(Blocked::KeyMissing, "no".into())), Blocked::KeyMissing)]
#[case::rejected(running(Caas).source(CredentialsSource::Blocked(Blocked::KubeconfigRejected, "no".into())), Blocked::KubeconfigRejected)]
#[case::unread(running(HyperShift).source(CredentialsSource::Unread), Blocked::NotRunning)]
#[case::deleted(running(HyperShift).deleted(), Blocked::NotRunning)]
#[case::order_names_nothing(running(Osac).on_object("/status/clusterReference", Value::Null), Blocked::NotAssigned)]
#[case::order_deleted(running(Osac).deleted(), Blocked::NotRunning)]
#[case::nothing_behind_the_order({ let mut case = running(Osac); case.hosted = None; case }, Blocked::NotRunning)]
#[case::what_is_behind_ends(running(Osac).on_hosted("/metadata/deletionTimestamp", json!("2026-11-21T12:01:00Z")), Blocked::NotRunning)]
fn incomplete_cluster_publishes_nothing(#[case] case: Case, #[case] reason: Blocked) {
    let case = case.settled();
    assert!(!case.is_published());
    assert_eq!(case.blocked(), Some(reason));
    let message = case.told().blocking_reason.unwrap().message.unwrap();
    assert!(!message.is_empty() && message.len() < 512, "{message}");
}

/// Ready latches: whatever becomes of a cluster that is in use.
#[rstest]
#[case::flaps(published(HyperShift).said("Available", "False"))]
#[case::says_nothing(published(HyperShift).on_object("/status", Value::Null))]
#[case::secret_gone(published(HyperShift).source(CredentialsSource::Blocked(Blocked::SecretMissing, "no".into())))]
#[case::rejected(published(HyperShift).source(CredentialsSource::Blocked(Blocked::KubeconfigRejected, "no".into())))]
#[case::unmarked(published(HyperShift).on_object(MARK, Value::Null))]
#[case::unreadable(published(HyperShift).on_object("/status", json!({ "conditions": 7 })))]
#[case::unreadable_spec(published(HyperShift).on_object("/spec", json!("x")))]
#[case::capi_flaps(published(ClusterApi).said("ControlPlaneAvailable", "False"))]
#[case::caas_fails(published(Caas).on_object("/status/phase", json!("Failed")))]
#[case::order_fails(published(Osac).on_object("/status/phase", json!("Failed")))]
#[case::order_forgets(published(Osac).on_object("/status", Value::Null))]
#[case::behind_it_flaps(published(Osac).said("Available", "False"))]
#[case::behind_it_is_unreadable(published(Osac).on_hosted("/status", json!({ "conditions": 7 })))]
fn published_credentials_stay(#[case] case: Case) {
    let before = case.published.clone();
    let case = case.settled();
    assert!(case.is_published());
    assert_eq!(case.published, before);
}

#[rstest]
#[case::deleted(published(HyperShift).deleted())]
#[case::capi_deleted(published(ClusterApi).deleted())]
#[case::caas_deleted(published(Caas).deleted())]
#[case::order_deleted(published(Osac).deleted())]
#[case::behind_it_deleted(published(Osac).on_hosted("/metadata/deletionTimestamp", json!("2026-11-21T12:01:00Z")))]
#[case::behind_it_gone({ let mut case = published(Osac); case.hosted = None; case })]
fn credentials_of_an_ending_cluster_are_withdrawn_at_once(#[case] case: Case) {
    let step = case.step();
    assert_eq!(step.actions[0], CredentialsOperation::Withdraw, "before anything is told");
    assert!(case.events().contains(&ClaimEventReason::CredentialsWithdrawn.as_str().to_owned()));
    let case = case.settled();
    assert!(!case.is_published());
    assert_eq!(case.blocked(), Some(Blocked::NotRunning));
}

#[test]
fn changed_credentials_are_published() {
    let rotated = published(HyperShift).source(CredentialsSource::Complete(credentials("2")));
    assert_eq!(rotated.step().actions, [CredentialsOperation::Publish(credentials("2"))]);
    let rotated = rotated.settled();
    let ours = |of: &str| Published::Ours { revision: "17".into(), source_revision: Some(of.into()) };
    assert_eq!(rotated.published, ours("2"));
    // Somebody changed the Secret: it was not made from what it says.
    let mut tampered = published(HyperShift);
    tampered.published = Published::Ours { revision: "18".into(), source_revision: None };
    assert_eq!(tampered.step().actions, [CredentialsOperation::Publish(credentials("1"))]);
    // Somebody deleted it, and the cluster flaps.
    let mut deleted = published(HyperShift).said("Available", "False");
    deleted.published = Published::Absent;
    assert_eq!(deleted.step().actions, [CredentialsOperation::Publish(credentials("1"))]);
}

/// One that the cluster does not take (401) takes the place of none that it may take.
#[test]
fn refused_kubeconfig_replaces_none() {
    let mut refused = published(HyperShift).source(CredentialsSource::Refused(credentials("2")));
    let step = refused.step();
    assert!(
        !step.actions.iter().any(|action| matches!(
            action,
            CredentialsOperation::Publish(_) | CredentialsOperation::Withdraw
        ))
    );
    assert_eq!(step.requeue, Action::RequeueAfter(Duration::from_secs(30)));
    let told = step.status.unwrap().status.blocking_reason.unwrap();
    assert_eq!(told.reason, Blocked::KubeconfigRejected);
    assert!(told.message.unwrap().contains("401"));
    refused = refused.settled();
    let ours = |of: &str| Published::Ours { revision: "17".into(), source_revision: Some(of.into()) };
    assert!(refused.is_published() && refused.published != ours("2"));
    assert_eq!(refused.blocked(), Some(Blocked::KubeconfigRejected));
    let taken = refused.source(CredentialsSource::Complete(credentials("2"))).settled();
    assert_eq!((taken.published.clone(), taken.blocked()), (ours("2"), None));
    // It was not asked of what would replace nothing.
    let mut first = running(HyperShift);
    first.source = CredentialsSource::Refused(credentials("1"));
    assert!(first.settled().is_published());
}

/// Only of the kubeconfig it is asked, and only if there is one that was made from another.
#[test]
fn replacing_kubeconfig_is_tried_on_its_cluster() {
    let of = |revision: &str| Credentials { source_revision: revision.into(), ..credentials("1") };
    let ours =
        |of: Option<&str>| Published::Ours { revision: "1".into(), source_revision: of.map(Into::into) };
    for (published, asked) in [
        (ours(Some("ns:config@1,password@1")), true),
        (ours(Some("ns:config@2,password@1")), false),
        (ours(Some("ns:config@2,none")), false),
        (ours(None), false),
        (Published::Absent, false),
        (Published::Foreign("x".into()), false),
    ] {
        assert_eq!(replaces_other_source(&of("ns:config@2,password@2"), &published), asked, "{published:?}");
    }
}

/// Waited for, and not for long; from when it should have been there.
#[rstest]
#[case::caas(running(Caas).lacking(Blocked::SecretMissing))]
#[case::hypershift(running(HyperShift).on_object("/status/kubeadminPassword", Value::Null).lacking(Blocked::MetadataMissing))]
#[case::behind_an_order(running(Osac).on_hosted("/status/kubeadminPassword", Value::Null).lacking(Blocked::MetadataMissing))]
fn a_password_that_may_come_is_waited_for(#[case] case: Case) {
    let waits = case.clone().settled();
    assert!(!waits.is_published());
    assert_eq!(waits.blocked(), Some(case.lacks.as_ref().unwrap().0));
    assert_eq!(waits.step().requeue, Action::RequeueAfter(Duration::from_mins(1)), "a minute is over");
    let published = waits.at(3).settled();
    assert!(published.is_published() && !published.told().credentials.unwrap().password_available);
    let mut comes = published.source(CredentialsSource::Complete(credentials("1")));
    comes.lacks = None;
    let comes = comes.settled();
    assert!(comes.told().credentials.unwrap().password_available);
    // One that is there is not taken back because nobody finds it.
    let gone = comes.lacking(Blocked::SecretMissing).at(60).settled();
    assert!(gone.told().credentials.unwrap().password_available);
    assert_eq!(gone.published, Published::Ours { revision: "17".into(), source_revision: Some("1".into()) });
}

/// Nobody knows since when: then it is late.
#[test]
fn without_a_time_nothing_is_waited_for() {
    let case = running(Caas).on_object("/status/conditions", json!([])).lacking(Blocked::SecretMissing);
    assert!(case.settled().is_published());
}

#[test]
fn missing_password_is_an_empty_key_and_reported() {
    let mut without = credentials("1");
    without.password.0.clear();
    let case = running(ClusterApi).source(CredentialsSource::Complete(without)).settled();
    assert!(case.is_published() && !case.told().credentials.unwrap().password_available);
}

#[test]
fn foreign_secret_is_left_alone_and_reported_once() {
    let mut case = running(HyperShift);
    case.published = Published::Foreign("Secret x was not published for a HostedCluster".into());
    assert_eq!(case.events(), [ClaimEventReason::CredentialsNotOwned.as_str()]);
    let case = case.settled();
    assert_eq!(case.blocked(), Some(Blocked::OwnershipMismatch));
    assert_eq!(progress(&case.object()), "blocked");
    assert!(matches!(case.published, Published::Foreign(_)));
    assert!(!case.deleted().step().actions.contains(&CredentialsOperation::Withdraw));
}

#[test]
fn a_warning_is_raised_once() {
    let rejected = CredentialsSource::Blocked(Blocked::KubeconfigRejected, "no".into());
    let case = running(HyperShift).source(rejected);
    assert_eq!(case.events(), [ClaimEventReason::KubeconfigRejected.as_str()]);
    assert_eq!(case.settled().events(), [""; 0]);
}

/// It tells nobody by itself.
#[test]
fn order_is_read_again_soon() {
    let mut nothing = running(Osac);
    nothing.hosted = None;
    for case in [made(Osac), nothing] {
        assert_eq!(case.step().requeue, Action::requeue_after(SOON));
    }
    assert_eq!(made(HyperShift).step().requeue, Action::AwaitChange);
    assert_eq!(running(Osac).step().requeue, Action::requeue_after(minutes(10)));
    assert_eq!(hosted()["metadata"]["annotations"], Value::Null, "it is not marked itself");
}

#[test]
fn failed_publication_is_reported() {
    let case = running(HyperShift);
    let publish = CredentialsOperation::Publish(credentials("1"));
    let notes = plan::failed(&case.object(), &publish, "the provider is not allowed to do this").unwrap();
    let why = notes.status.blocking_reason.unwrap();
    assert_eq!(why.reason, Blocked::SecretMissing);
    assert!(why.message.unwrap().contains("not allowed"));
    // Published credentials stay in the report.
    let case = published(HyperShift);
    let notes = plan::failed(&case.object(), &publish, "x").unwrap();
    assert!(notes.status.credentials.is_some() && notes.credentials_revision.is_some());
    assert_eq!(plan::failed(&case.object(), &CredentialsOperation::Withdraw, "x"), None);
    assert_eq!(case.object["metadata"]["annotations"][ours::CREDENTIALS_NAMESPACE], CREDENTIALS);
}

/// Whoever names a Secret, or lets the provider in, may be ahead of the API server by a moment, and nothing tells when it has caught up.
#[rstest]
fn missing_secret_is_read_again_soon(
    #[values(HyperShift, ClusterApi, Caas, Osac)] backend: Backend,
    #[values(Blocked::SecretMissing, Blocked::KeyMissing)] reason: Blocked,
) {
    let blocked = |case: Case| case.source(CredentialsSource::Blocked(reason, "no".into()));
    let case = blocked(running(backend));
    let at = |case: &Case, minute: i64| case.clone().at(minute).settled().step().requeue;
    assert_eq!(at(&case, 1), Action::requeue_after(SOON));
    assert_eq!(at(&case, 5), Action::requeue_after(minutes(4)));
    assert_eq!(at(&case, 60), Action::requeue_after(minutes(10)));
    assert_eq!(at(&blocked(published(backend)), 1), Action::requeue_after(minutes(10)));
}

/// An API server may give a shorter one than was asked for, and an administrator may have others looked at seldom.
#[rstest]
fn token_is_checked_when_due(#[values(HyperShift, ClusterApi, Caas, Osac)] backend: Backend) {
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
        let mut case = running(backend).source(CredentialsSource::Account(Box::new(issue.clone())));
        case.published = Published::Ours { revision: "17".into(), source_revision: Some(stamp.to_string()) };
        let step = |poll: SignedDuration, after: SignedDuration| {
            let mut world = case.world();
            world.settings.poll = poll;
            plan::plan(case.kind(), &case.object(), &world, born() + after)
        };
        let day = minutes(24 * 60);
        assert_eq!(step(day, minutes(2)).requeue, Action::requeue_after(due - minutes(2)));
        assert_eq!(step(minutes(10), minutes(2)).requeue, Action::requeue_after(minutes(10)));
        let moment = due - SignedDuration::from_millis(1);
        assert_eq!(step(day, moment).requeue, Action::requeue_after(SignedDuration::from_secs(1)));
        let actions = step(day, due).actions;
        assert!(matches!(actions.as_slice(), [CredentialsOperation::Issue(_)]), "{actions:?}");
    }
}
