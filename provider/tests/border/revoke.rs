//! What is published in place of the admin's credentials is ended when it is taken back, and nothing waits for that.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use provider_testplatform::{
    account::{callers::Callers, stamp::Stamp},
    claims::{execute, hub},
    step::Action,
};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use tokio::{
    net::TcpListener,
    time::{sleep, timeout},
};

use super::{Bench, SECRET, memory::Memory, plain};

/// How many are called at once, as half of the workers is.
const AT_ONCE: usize = 8;
const ALL: usize = 2 * AT_ONCE + 4;

/// What was published of a cluster at that address.
fn published(address: &str, metadata: &Value) -> Value {
    let authority = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.pem();
    let cluster = json!({
        "server": format!("https://{address}"),
        "certificate-authority-data": BASE64_STANDARD.encode(authority),
    });
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": cluster }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "users": [{ "name": "u", "user": { "token": "t" } }],
    });
    let at = Timestamp::UNIX_EPOCH;
    let stamp = Stamp { issued: at, expires: at, generation: 0, origin: "o".into(), digest: "d".into() };
    let mut metadata = metadata.clone();
    metadata["annotations"] = json!({ ours::SOURCE_REVISION: stamp.to_string() });
    json!({ "metadata": metadata, "data": { "kubeconfig": BASE64_STANDARD.encode(kubeconfig.to_string()) } })
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
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (bench, object) = Bench::with(plain());
    let owner = json!({ "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "name": "ec", "uid": "u",
        "controller": true });
    let secret = published(&address, &json!({ "ownerReferences": [owner] }));
    for _ in 0..ALL {
        bench.hub.put(SECRET, secret.clone());
        // The bench has no patience.
        bench.act(&object, Action::WithdrawCredentials).await.unwrap();
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
async fn nor_what_has_outlived_its_claim() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let hub = Memory::new();
    let executor = execute::Executor {
        hub: hub::Hub::new(hub.client(), "ephemeral-cluster"),
        instance: "me".into(),
        patience: Duration::from_millis(100),
        callers: Callers::default(),
        now: || Timestamp::UNIX_EPOCH,
    };
    let labels = json!({
        ours::OWNER_GROUP: "hive.openshift.io", ours::OWNER_KIND: "ClusterClaim",
        ours::OWNER_NAMESPACE: "cluster-pools", ours::OWNER_UID: "gone",
    });
    hub.put(SECRET, published(&address, &json!({ "labels": labels })));
    executor.sweep("ec-credentials", None).await.unwrap();
    assert_eq!(hub.get(SECRET), None);
    drop(taken(&listener, 1).await);
}

/// The admin's are not this provider's to end.
#[tokio::test]
async fn a_cluster_whose_admin_was_published_is_not_called() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (bench, object) = Bench::with(plain());
    let owner = json!({ "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "name": "ec", "uid": "u",
        "controller": true });
    let mut secret = published(&address, &json!({ "ownerReferences": [owner] }));
    secret["metadata"]["annotations"] =
        json!({ ours::SOURCE_REVISION: "build01/ci-op-x:cluster-provisioning@5" });
    bench.hub.put(SECRET, secret);
    bench.act(&object, Action::WithdrawCredentials).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    assert!(timeout(Duration::from_millis(200), listener.accept()).await.is_err());
}
