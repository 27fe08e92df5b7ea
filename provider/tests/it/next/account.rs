//! A token in place of the admin's credentials: when it is made, when it is told, and that it keeps nothing else from being done.

use provider_testplatform::{
    controllers::ephemeral_cluster::{operation::Operation, plan, prow_job::JobState, proxy},
    credentials::{
        NamespaceCredentials, Published,
        account::{Issue, admin::AdminKubeconfig, fingerprint::TokenFingerprint},
    },
};
use testplatform_apis::{account::AccessRequest, names::ours};
use testplatform_runtime::reconcile::Action;

use crate::next::fixture::{Case, born, minutes, namespace, served};

fn issue() -> Issue {
    let wish = AccessRequest { cluster_role: "view".into(), generation: 0 };
    let admin = AdminKubeconfig::new(b"apiVersion: v1".to_vec());
    Issue { admin, wish, uid: "uid".into(), revision: "a-1".into() }
}

fn stamped() -> Published {
    let issued = born() + minutes(10);
    let expires = issued + minutes(12 * 60);
    let stamp = TokenFingerprint { issued, expires, generation: 0, origin: "o".into(), digest: "d".into() };
    Published::Ours { revision: "17".into(), source_revision: Some(stamp.to_string()) }
}

/// Its cluster is there, and it is time for a token.
fn due() -> Case {
    let mut case = served(JobState::Pending, crate::next::fixture::pending());
    case.job().site = namespace(NamespaceCredentials::Account(Box::new(issue())));
    case
}

fn published() -> Case {
    let mut case = due();
    case.world.published = stamped();
    case.job().site = namespace(NamespaceCredentials::Unchanged);
    case.settled()
}

#[test]
fn token_is_issued_before_ready_is_reported() {
    let step = due().step();
    assert!(step.actions.contains(&Operation::IssueCredentials(Box::new(issue()))), "{:?}", step.actions);
    assert_eq!(step.status.unwrap().secret_ref, "");
    let case = published();
    assert_eq!(case.said("ClusterReady"), ("True", "CredentialsPublished"));
    assert_eq!(case.object.annotation(ours::CREDENTIALS_MODE), Some("ServiceAccount"));
    assert_eq!(case.object.annotation(ours::CREDENTIALS_REVISION), Some("17"));
}

#[test]
fn token_is_renewed_when_due() {
    let wait = |case: &Case| match case.step().requeue {
        Action::RequeueAfter(wait) => wait.as_secs() / 60,
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(&published().at(11)), 8 * 60 - 1);
    assert_eq!(wait(&published().at(8 * 60 + 10)), 0);
}

#[test]
fn token_does_not_delay_teardown() {
    let mut case = published();
    case.job().site = namespace(NamespaceCredentials::Account(Box::new(issue())));
    let over = case.annotated(ours::LIFETIME, "1h").annotated(ours::MAX_LIFETIME, "1h").at(8 * 60);
    let actions = over.step().actions;
    let issues = |action: &Operation| matches!(action, Operation::IssueCredentials(_));
    assert!(!actions.iter().any(issues), "{actions:?}");
    assert!(actions.iter().any(|action| matches!(action, Operation::SignalWaitStep { .. })), "{actions:?}");
}

#[test]
fn failed_issue_is_reported_and_withdraws_nothing() {
    let words = "the cluster cannot be reached from the hub";
    let failed = |case: &Case| {
        let action = Operation::IssueCredentials(Box::new(issue()));
        plan::failed(&case.object, &case.step(), &action, words, case.now).unwrap()
    };
    let first = failed(&due());
    assert!(first.secret_ref.is_empty());
    let later = failed(&published());
    assert_eq!(later.secret_ref, published().object.secret_name());
    let told = later.conditions.iter().find(|c| c.type_ == "CredentialsInSync").unwrap();
    assert_eq!((told.status.as_str(), told.message.as_str()), ("False", words));
}

/// After a step back to the upstream controller, which never replaces what is there: a token of twelve hours would end with nobody to replace it.
#[test]
fn proxy_renews_tokens_and_issues_no_first_one() {
    let mut case = published();
    let step = |case: &Case| proxy::plan_proxy(&case.object, &case.world, case.now);
    assert_eq!(step(&case).actions, []);
    assert_eq!(step(&case.clone().at(11)).requeue, Action::requeue_after(minutes(8 * 60 - 1)));
    case.job().site = namespace(NamespaceCredentials::Account(Box::new(issue())));
    let case = case.at(8 * 60 + 10);
    assert_eq!(step(&case).actions, [Operation::IssueCredentials(Box::new(issue()))]);
    for none in [Published::Absent, Published::Ours { revision: "17".into(), source_revision: None }] {
        let mut case = case.clone();
        case.world.published = none;
        let actions = step(&case).actions;
        assert!(
            !actions.iter().any(|action| matches!(action, Operation::IssueCredentials(_))),
            "{actions:?}"
        );
    }
}

/// Annotations that a proxy removes and reports.
fn untold(revision: &str) -> Operation {
    let notes = [(ours::CREDENTIALS_MODE, None), (ours::CREDENTIALS_REVISION, Some(revision.to_owned()))];
    Operation::SetAnnotations(notes.map(|(key, value)| (key.to_owned(), value)).into())
}

/// Such as where the upstream controller made the Secret anew: whoever reads it must not take it for a token.
#[test]
fn foreign_credentials_are_not_reported_as_token() {
    for source_revision in [None, Some("a-1".to_owned())] {
        let mut case = published();
        assert_eq!(case.object.annotation(ours::CREDENTIALS_MODE), Some("ServiceAccount"));
        case.world.published = Published::Ours { revision: "18".into(), source_revision };
        assert_eq!(case.clone().settled().object.annotation(ours::CREDENTIALS_MODE), None);
        assert!(proxy::plan_proxy(&case.object, &case.world, case.now).actions.contains(&untold("18")));
        case.world.published = Published::Foreign("it is somebody else's".into());
        assert_eq!(case.settled().object.annotation(ours::CREDENTIALS_MODE), None);
    }
}
