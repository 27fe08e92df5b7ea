//! Whose credentials are published: the admin's only where nobody ever wished for others.

use jiff::{SignedDuration, Timestamp};
use provider_testplatform::credentials::{
    Published,
    account::{
        CredentialsOwner, Issue, admin::AdminKubeconfig, credentials_owner, fingerprint::TokenFingerprint,
    },
    publish::{CredentialsOperation, CredentialsSource, compare, follow},
};
use testplatform_apis::{
    account::{AccessRequest, Mode},
    hive_status::HiveStatus,
};

use crate::account::model::{ADMIN, KEY};

fn now() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

fn issue() -> Issue {
    Issue {
        admin: AdminKubeconfig::new(ADMIN.into()),
        wish: AccessRequest { cluster_role: "view".into(), generation: 0 },
        uid: "u".into(),
        revision: "c:admin@1".into(),
    }
}

fn published(origin: &str) -> Published {
    let expires = now() + SignedDuration::from_hours(12);
    let stamp =
        TokenFingerprint { issued: now(), expires, generation: 0, origin: origin.into(), digest: "d".into() };
    Published::Ours { revision: "7".into(), source_revision: Some(stamp.to_string()) }
}

#[test]
fn removed_or_invalid_request_is_no_request_for_the_admins() {
    let admins = Published::Ours { revision: "7".into(), source_revision: Some("c:admin@1,pw@2".into()) };
    let wish = AccessRequest { cluster_role: "view".into(), generation: 3 };
    assert_eq!(credentials_owner(None, &Published::Absent), CredentialsOwner::Admin);
    assert_eq!(credentials_owner(None, &admins), CredentialsOwner::Admin);
    assert_eq!(credentials_owner(Some(&wish.to_string()), &admins), CredentialsOwner::Account(wish.clone()));
    assert_eq!(credentials_owner(Some(&wish.to_string()), &published("o")), CredentialsOwner::Account(wish));
    for text in ["", "{}", "Admin", r#"{"mode":"Admin"}"#, r#"{"mode":"Token"}"#] {
        assert!(
            matches!(credentials_owner(Some(text), &Published::Absent), CredentialsOwner::Nobody(_)),
            "{text}"
        );
    }
    assert!(matches!(credentials_owner(None, &published("o")), CredentialsOwner::Nobody(_)));
}

/// Secrets in decisions, and in reports of them.
#[test]
fn plans_and_reports_have_no_admin_secrets() {
    let source = CredentialsSource::Account(Box::new(issue()));
    let verdict = compare(&source, &Published::Absent, now()).unwrap();
    let followed = follow("demo", verdict, &source, &Published::Absent, &HiveStatus::default());
    assert_eq!(followed.actions, [CredentialsOperation::Issue(Box::new(issue()))]);
    assert_eq!(followed.status, None, "told once it is there");
    let said = format!("{source:?} {followed:?}");
    assert!(!said.contains(KEY) && !said.contains("apiVersion"), "{said}");

    let good = published(&issue().origin_fingerprint());
    let followed =
        follow("demo", compare(&source, &good, now()).unwrap(), &source, &good, &HiveStatus::default());
    let report = followed.status.unwrap().report.unwrap();
    assert_eq!((report.mode, report.password_available), (Some(Mode::ServiceAccount), false));

    // The same published, of another role: it is made anew, and what was there stays told meanwhile.
    let other = published("another");
    let followed =
        follow("demo", compare(&source, &other, now()).unwrap(), &source, &other, &HiveStatus::default());
    assert!(matches!(followed.actions.as_slice(), [CredentialsOperation::Issue(_)]));
    assert!(followed.status.unwrap().report.is_some());
}
