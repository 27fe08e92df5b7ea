//! The client of the identity service, against the one that is played over HTTPS.

use provider_testplatform::controllers::cloud_credentials::{
    clouds::Cloud,
    identity::{self, Session},
    plan::{CredentialCheck, DeletionResult, IdentityError},
};
use testplatform_runtime::redacted::Redacted;
use testplatform_tests::keystone::{ADMIN, Keystone, Trouble};

async fn started() -> Keystone {
    let keystone = Keystone::start().await.unwrap();
    keystone.enter("alice", &["member", "reader"]);
    keystone.enter("bob", &["member", ADMIN]);
    keystone
}

fn cloud(keystone: &Keystone, user: &str) -> Cloud {
    let (file, certificates) = keystone.issuer(user);
    Cloud::parse_clouds_yaml(file.as_bytes(), Some(certificates.as_bytes())).unwrap()
}

async fn enter(cloud: &Cloud) -> Result<Session, IdentityError> {
    identity::sign_in(cloud).await
}

pub async fn one_is_made_taken_listed_and_deleted() -> anyhow::Result<()> {
    let keystone = started().await;
    let alice = cloud(&keystone, "alice");
    let session = enter(&alice).await.unwrap();
    assert_eq!(session.user, "alice");
    let made = session.create_credential("one", &["member".into()], None).await.unwrap();
    assert_eq!(keystone.roles(&made.id), ["member".to_owned()].into());
    let own = alice.with_credential(made.id.clone(), made.secret.clone());
    assert_eq!(identity::probe_credential(&own).await, CredentialCheck::Works);
    assert!(!format!("{made:?}{own:?}").contains(&made.secret.0), "a secret is in Debug");
    let listed = session.list_credentials().await.unwrap();
    assert_eq!(listed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["one"]);
    let wrong = alice.with_credential(made.id.clone(), Redacted("wrong".into()));
    assert_eq!(identity::probe_credential(&wrong).await, CredentialCheck::Invalid);
    assert_eq!(session.delete_credential("alice", &made.id).await, DeletionResult::Gone);
    assert_eq!(session.delete_credential("alice", &made.id).await, DeletionResult::Gone, "404");
    assert_eq!(identity::probe_credential(&own).await, CredentialCheck::Invalid, "404");
    Ok(())
}

pub async fn refusals_are_told_apart() -> anyhow::Result<()> {
    let keystone = started().await;
    let alice = cloud(&keystone, "alice");
    let session = enter(&alice).await.unwrap();
    let made = session.create_credential("one", &[], None).await.unwrap();
    assert_eq!(session.create_credential("one", &[], None).await.unwrap_err(), IdentityError::Taken);
    let IdentityError::Refused(why) =
        session.create_credential("two", &["owner".into()], None).await.unwrap_err()
    else {
        panic!()
    };
    assert!(why.contains("404"), "{why}");
    let restricted = enter(&alice.with_credential(made.id.clone(), made.secret.clone())).await.unwrap();
    assert_eq!(restricted.create_credential("three", &[], None).await.unwrap_err(), IdentityError::Forbidden);
    keystone.enter("carol", &["member"]);
    let carol = enter(&cloud(&keystone, "carol")).await.unwrap();
    assert_eq!(
        carol.delete_credential("alice", &made.id).await,
        DeletionResult::Left,
        "only its owner or an administrator may"
    );
    let bob = enter(&cloud(&keystone, "bob")).await.unwrap();
    assert_eq!(bob.delete_credential("alice", &made.id).await, DeletionResult::Gone);
    assert_eq!(bob.delete_credential("../alice", &made.id).await, DeletionResult::Left, "it leads elsewhere");
    keystone.leave("alice");
    assert_eq!(enter(&alice).await.err(), Some(IdentityError::Unknown));
    assert_eq!(session.list_credentials().await.unwrap_err(), IdentityError::Unknown, "its token has ended");
    Ok(())
}

pub async fn silence_is_no_refusal() -> anyhow::Result<()> {
    let keystone = started().await;
    let alice = cloud(&keystone, "alice");
    let session = enter(&alice).await.unwrap();
    keystone.fail_next_creation(Trouble::Unanswered);
    assert_eq!(session.create_credential("lost", &[], None).await.unwrap_err(), IdentityError::Unreachable);
    assert_eq!(session.list_credentials().await.unwrap().len(), 1, "it was made");
    keystone.set_down(true);
    assert_eq!(identity::probe_credential(&alice).await, CredentialCheck::Unknown);
    assert_eq!(session.delete_credential("alice", "any").await, DeletionResult::Unreachable);
    drop(keystone);
    assert_eq!(enter(&alice).await.err(), Some(IdentityError::Unreachable));
    Ok(())
}

/// By certificates of another, nobody gets a password.
pub async fn a_stranger_is_told_nothing() -> anyhow::Result<()> {
    let (keystone, other) = (started().await, started().await);
    let (file, _) = keystone.issuer("alice");
    let (_, certificates) = other.issuer("alice");
    let stranger = Cloud::parse_clouds_yaml(file.as_bytes(), Some(certificates.as_bytes())).unwrap();
    assert_eq!(enter(&stranger).await.err(), Some(IdentityError::Unreachable));
    assert!(keystone.calls().is_empty(), "{:?}", keystone.calls());
    Ok(())
}
