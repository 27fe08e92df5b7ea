//! A hub whose Secrets can be read, and neither listed nor watched: a cache knows of none.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use provider_testplatform::credentials::account::fingerprint::{
    TokenFingerprint, kubeconfig_digest, origin_fingerprint,
};
use serde_json::json;
use testplatform_apis::{account::AccessRequest, names::ours};

use super::{
    OBJECT, SECRET,
    memory::Fault,
    walk::{
        in_time,
        life::{Event, Life, PHASE, now},
    },
};

const SOURCE: &str = "/api/v1/namespaces/ci-op-x/secrets/cluster-provisioning";

/// One whose job has a namespace, and no cluster yet.
async fn begun() -> Life {
    let life = Life::begin(0).await;
    life.until("bound", |ec| ec["status"]["prowJobId"].is_string()).await;
    life.happen(Event::Schedule).await;
    life.happen(Event::Namespace).await;
    life.hub.judge(|call| {
        (call.method == "GET" && call.path.ends_with("/secrets")).then_some(Fault::Refused(403))
    });
    // The watch is found not to run.
    life.wait(120).await;
    life
}

/// Ready, and beyond the time in which there has to be a cluster none the less.
async fn stays_ready(life: &Life) {
    life.wait(120).await;
    assert_eq!(life.phase(), PHASE[1], "{:#}", life.beside("ec"));
    life.hub.calls();
    life.wait(5 * 3600).await;
    assert_eq!((life.phase(), life.signals_made()), (PHASE[1], 0));
    assert_eq!(life.hub.writes(), [], "at rest nothing is written");
}

#[test]
fn published_credentials_count_for_unlisted_clusters() {
    in_time(async {
        let life = begun().await;
        life.happen(Event::Install).await;
        stays_ready(&life).await;
    });
}

/// Of what is published nothing can be read any more, and the cluster has new credentials, or somebody has touched what is published.
#[test]
fn teardown_does_not_wait_for_unlisted_clusters() {
    for (code, event) in
        [403, 500].into_iter().flat_map(|code| [(code, Event::Password), (code, Event::Tamper)])
    {
        for ending in [Event::TearDown, Event::Delete] {
            in_time(async {
                let life = Life::ready().await;
                life.hub.judge(move |call| {
                    (call.method == "GET" && call.path == SECRET).then_some(Fault::Refused(code))
                });
                life.happen(event).await;
                life.wait(600).await;
                assert_eq!((life.phase(), life.signals_made()), (PHASE[1], 0), "{code} {event:?}");
                life.happen(ending).await;
                life.until_signalled().await;
            });
        }
    }
}

/// Each would be another token in the cluster.
#[test]
fn published_token_is_not_issued_again() {
    in_time(async {
        let life = begun().await;
        let wish = AccessRequest { cluster_role: "view".into(), generation: 0 };
        let annotations = json!({ ours::CREDENTIALS_WISH: wish.to_string() });
        life.hub.merge(OBJECT, &json!({ "metadata": { "annotations": annotations } }));
        let uid = life.beside("ec")["metadata"]["uid"].as_str().unwrap().to_owned();
        let kubeconfig = BASE64_STANDARD.encode(crate::support::kubeconfig("https://c", "t"));
        let source = life.build_cluster.put(SOURCE, json!({ "data": { "kubeconfig": kubeconfig } }));
        let version = source["metadata"]["resourceVersion"].as_str().unwrap();
        let issued: Timestamp = now();
        let stamp = TokenFingerprint {
            issued,
            expires: issued + SignedDuration::from_hours(12),
            generation: 0,
            origin: origin_fingerprint(
                &wish,
                &uid,
                &format!("build01/ci-op-x:cluster-provisioning@{version}"),
            ),
            digest: kubeconfig_digest(b"evil"),
        };
        let owner = json!({ "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "name": "ec",
            "uid": uid, "controller": true });
        let annotations = json!({ ours::SOURCE_REVISION: stamp.to_string() });
        life.hub.put(
            SECRET,
            json!({
                "metadata": { "ownerReferences": [owner], "annotations": annotations },
                "data": { "kubeconfig": BASE64_STANDARD.encode("evil"), "kubeAdminPassword": "" },
            }),
        );
        stays_ready(&life).await;
    });
}
