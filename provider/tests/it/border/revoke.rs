//! Tokens that were published in place of the admin's credentials are revoked on withdrawal, and nothing waits for that.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use provider_testplatform::{
    controllers::{
        cluster_claim::{controller as claims, hub, observed_state::ClaimSettings},
        ephemeral_cluster::operation::Operation,
    },
    credentials::{
        account::{
            Issue, admin::AdminKubeconfig, fingerprint::TokenFingerprint, guest_limiter::GuestLimiter,
        },
        publish::{CredentialsNamespace, delete_orphaned_secret},
    },
    metrics::Metrics,
};
use serde_json::{Value, json};
use testplatform_apis::{account::AccessRequest, names::ours};
use tokio::{
    net::TcpListener,
    sync::oneshot,
    time::{sleep, timeout},
};

use super::{
    Bench, SECRET,
    memory::{Fault, Memory},
    plain,
};

/// How many are called at once, as half of the workers is.
const AT_ONCE: usize = 8;
const ALL: usize = 2 * AT_ONCE + 4;

/// Lets somebody into a cluster at that address.
fn kubeconfig(address: &str) -> String {
    let authority = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.pem();
    let cluster = json!({
        "server": format!("https://{address}"),
        "certificate-authority-data": BASE64_STANDARD.encode(authority),
    });
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": cluster }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "users": [{ "name": "u", "user": { "token": "t" } }],
    });
    config.to_string()
}

/// A published Secret of a cluster at that address.
fn published(address: &str, metadata: &Value) -> Value {
    let at = Timestamp::UNIX_EPOCH;
    let stamp =
        TokenFingerprint { issued: at, expires: at, generation: 0, origin: "o".into(), digest: "d".into() };
    let mut metadata = metadata.clone();
    metadata["annotations"] = json!({ ours::SOURCE_REVISION: stamp.to_string() });
    json!({ "metadata": metadata, "data": { "kubeconfig": BASE64_STANDARD.encode(kubeconfig(address)) } })
}

/// Says that it was published for the claim of that uid.
fn of_claim(uid: &str) -> Value {
    json!({ "labels": {
        ours::OWNER_GROUP: "hive.openshift.io", ours::OWNER_KIND: "ClusterClaim",
        ours::OWNER_NAMESPACE: "cluster-pools", ours::OWNER_UID: uid,
    } })
}

/// The same for the EphemeralCluster of the bench.
fn of_object() -> Value {
    let owner = json!({ "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "name": "ec", "uid": "u",
        "controller": true });
    json!({ "ownerReferences": [owner] })
}

/// Deletes the published Secret of a claim that is gone.
async fn delete_orphan(hub: &Memory) {
    let vault = CredentialsNamespace::new(hub.client(), "ephemeral-cluster");
    let kind = ("hive.openshift.io", "ClusterClaim");
    let callers = GuestLimiter::default();
    delete_orphaned_secret(&vault, "ec-credentials", kind, "gone", &callers).await.unwrap();
}

/// Where a cluster may be called.
async fn listening() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Takes so many connections, and says nothing.
async fn taken(listener: &TcpListener, count: usize) -> Vec<tokio::net::TcpStream> {
    let mut taken = Vec::new();
    for _ in 0..count {
        let (stream, _) = timeout(Duration::from_secs(30), listener.accept()).await.unwrap().unwrap();
        taken.push(stream);
    }
    taken
}

/// One tenant may have many that take connections and never answer.
#[tokio::test]
async fn clusters_that_do_not_answer_keep_no_withdrawal_waiting() {
    let (listener, address) = listening().await;
    let (bench, object) = Bench::with(plain());
    let secret = published(&address, &of_object());
    for _ in 0..ALL {
        bench.hub.put(SECRET, secret.clone());
        // The bench has no patience.
        bench.act(&object, Operation::WithdrawCredentials).await.unwrap();
        assert_eq!(bench.hub.get(SECRET), None);
    }
    // Each is ended in its turn.
    let first = taken(&listener, AT_ONCE).await;
    assert!(timeout(Duration::from_millis(300), listener.accept()).await.is_err(), "too many at once");
    drop(first);
    drop(taken(&listener, AT_ONCE).await);
    drop(taken(&listener, ALL - 2 * AT_ONCE).await);
}

#[tokio::test]
async fn token_of_an_orphaned_secret_is_revoked() {
    let (listener, address) = listening().await;
    let hub = Memory::new();
    hub.put(SECRET, published(&address, &of_claim("gone")));
    delete_orphan(&hub).await;
    assert_eq!(hub.get(SECRET), None);
    drop(taken(&listener, 1).await);
}

/// With the process it would be forgotten, and the token work on.
#[tokio::test]
async fn shutdown_waits_for_pending_revocations() {
    let (listener, address) = listening().await;
    let hub = Memory::new();
    hub.put(SECRET, published(&address, &of_claim("gone")));
    let options = claims::Options {
        hub: hub::ClaimHub::new(hub.client(), "ephemeral-cluster"),
        settings: ClaimSettings::default(),
        patience: Duration::from_secs(10),
        instance: "me".into(),
        now: || Timestamp::UNIX_EPOCH,
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async {
        let _ = stopped.await;
    };
    let mut running = tokio::spawn(claims::run(options, Metrics::default().claims(), Box::pin(stopped)));
    let called = taken(&listener, 1).await;
    assert_eq!(hub.get(SECRET), None);
    stop.send(()).unwrap();
    assert!(timeout(Duration::from_millis(300), &mut running).await.is_err(), "it was not waited for");
    drop(called);
    timeout(Duration::from_secs(30), running).await.unwrap().unwrap();
}

/// A claim of the same name came, and had its credentials, after it was read that there is none.
#[tokio::test]
async fn token_of_the_next_claim_is_not_revoked() {
    let (listener, address) = listening().await;
    let hub = Memory::new();
    let stored = hub.put(SECRET, published(&address, &of_claim("next")));
    delete_orphan(&hub).await;
    assert_eq!(hub.get(SECRET), Some(stored));
    assert!(timeout(Duration::from_millis(300), listener.accept()).await.is_err(), "it was called");
}

/// It would end with what was withdrawn, and until it is due nobody would know.
#[tokio::test]
async fn token_waits_for_a_pending_revocation() {
    let (listener, address) = listening().await;
    let (bench, object) = Bench::with(plain());
    bench.hub.put(SECRET, published(&address, &of_object()));
    bench.act(&object, Operation::WithdrawCredentials).await.unwrap();
    let issue = Issue {
        admin: AdminKubeconfig::new(kubeconfig(&address).into_bytes()),
        wish: AccessRequest { cluster_role: "view".into(), generation: 0 },
        uid: "u".into(),
        revision: "1".into(),
    };
    let make = async || {
        let issue = Operation::IssueCredentials(Box::new(issue.clone()));
        bench.act(&object, issue).await.unwrap_err()
    };
    assert_eq!(make().await, "issue_credentials/not_yet");
    // Nobody is there any more, so it is over with.
    drop(listener);
    let over = async {
        loop {
            let said = make().await;
            if said != "issue_credentials/not_yet" {
                return said;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let said = timeout(Duration::from_secs(30), over).await.unwrap();
    assert_eq!(said, "issue_credentials/delivered", "the cluster was asked");
}

/// Until the next is due nobody would know that it works no longer.
#[tokio::test]
async fn published_token_is_not_revoked() {
    let (listener, address) = listening().await;
    let (bench, object) = Bench::with(plain());
    let stored = bench.hub.put(SECRET, published(&address, &of_object()));
    for fault in [Fault::Refused(500), Fault::Refused(403), Fault::Lost] {
        bench.hub.judge(move |call| (call.method == "DELETE").then_some(fault));
        bench.act(&object, Operation::WithdrawCredentials).await.unwrap_err();
    }
    assert_eq!(bench.hub.get(SECRET), Some(stored));
    assert!(timeout(Duration::from_millis(300), listener.accept()).await.is_err(), "it was called");
    bench.hub.judge(|_| None);
    bench.act(&object, Operation::WithdrawCredentials).await.unwrap();
    assert_eq!(bench.hub.get(SECRET), None);
    drop(taken(&listener, 1).await);
}

/// Nobody can take it up again once the Secret is gone.
#[tokio::test]
async fn token_is_revoked_after_an_unconfirmed_deletion() {
    let (listener, address) = listening().await;
    let (bench, object) = Bench::with(plain());
    bench.hub.put(SECRET, published(&address, &of_object()));
    bench.hub.judge(|call| (call.method == "DELETE").then_some(Fault::AnswerLost));
    bench.act(&object, Operation::WithdrawCredentials).await.unwrap_err();
    assert_eq!(bench.hub.get(SECRET), None);
    drop(taken(&listener, 1).await);
}

/// The Secret's content is needed for the revocation.
#[tokio::test]
async fn unreadable_credentials_stay_published() {
    let (listener, address) = listening().await;
    for which in 1..=2 {
        let (bench, object) = Bench::with(plain());
        let stored = bench.hub.put(SECRET, published(&address, &of_object()));
        let mut reads = 0;
        bench.hub.judge(move |call| {
            reads += usize::from(call.path == SECRET && call.method == "GET");
            (reads == which && call.path == SECRET).then_some(Fault::Refused(500))
        });
        let said = bench.act(&object, Operation::WithdrawCredentials).await.unwrap_err();
        assert_eq!(said, "withdraw_credentials/server");
        assert_eq!(bench.hub.get(SECRET), Some(stored));
        bench.act(&object, Operation::WithdrawCredentials).await.unwrap();
        assert_eq!(bench.hub.get(SECRET), None);
        drop(taken(&listener, 1).await);
    }
}

/// The admin's are not this provider's to end.
#[tokio::test]
async fn a_cluster_whose_admin_was_published_is_not_called() {
    let (listener, address) = listening().await;
    let (bench, object) = Bench::with(plain());
    let mut secret = published(&address, &of_object());
    secret["metadata"]["annotations"] =
        json!({ ours::SOURCE_REVISION: "build01/ci-op-x:cluster-provisioning@5" });
    bench.hub.put(SECRET, secret);
    bench.act(&object, Operation::WithdrawCredentials).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    assert!(timeout(Duration::from_millis(200), listener.accept()).await.is_err());
}
