//! Clusters of claims with `template` on an API server in memory: what is called, and lives in which anything happens at any time.

pub mod life;
mod walk;

use serde_json::{Value, json};
use testplatform_apis::template::Backend::{Caas, ClusterApi, HyperShift, Osac};

use self::{
    life::{Event, Life, SECRET, namespace},
    walk::in_time,
};
use crate::border::memory::{Call, Fault};

fn lines(calls: &[Call]) -> Vec<String> {
    calls.iter().map(Call::line).collect()
}

/// Reads and writes, call by call.
#[test]
fn published_secret_names_its_owner() {
    in_time(async {
        let mut life = Life::begin(HyperShift, 0).await;
        life.happen(Event::Run(false)).await;
        life.hub.calls();
        life.happen(Event::Run(true)).await;
        life.until("published", |life| life.told()["credentials"].is_object()).await;
        let calls = life.hub.calls();
        let object = life.object();
        let own = |call: &&Call| !call.query.contains("watch=");
        let calls: Vec<Call> = calls.iter().filter(own).cloned().collect();
        let of = |name: &str| format!("GET /api/v1/namespaces/clusters/secrets/{name}");
        assert_eq!(
            lines(&calls)[..5],
            [
                format!("GET {object}"),
                of("k"),
                of("p"),
                format!("GET {SECRET}"),
                "POST /api/v1/namespaces/credentials/secrets".to_owned()
            ]
        );
        assert!(!calls.iter().any(|call| call.path.ends_with("/clusters/secrets")), "no list of Secrets");
        let made = life.hub.get(SECRET).unwrap();
        let labels = json!({
            "testplatform.ci.openshift.org/owner-group": "hypershift.openshift.io",
            "testplatform.ci.openshift.org/owner-kind": "HostedCluster",
            "testplatform.ci.openshift.org/owner-namespace": "clusters",
            "testplatform.ci.openshift.org/owner-name": "demo",
            "testplatform.ci.openshift.org/owner-uid": life.whole().unwrap()["metadata"]["uid"],
        });
        assert_eq!(made["metadata"]["labels"], labels);
        let keys: Vec<&String> = made["data"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["kubeAdminPassword", "kubeconfig"]);
        let events = life.hub.list("/apis/events.k8s.io/v1/namespaces/clusters/events");
        let [event] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!((&event["type"], &event["reason"]), (&json!("Normal"), &json!("CredentialsPublished")));
        assert_eq!(event["regarding"]["kind"], "HostedCluster");
        assert_eq!(event["regarding"]["apiVersion"], "hypershift.openshift.io/v1beta1");
        let writes = |call: &&Call| call.is_write() && call.path == object;
        let patches: Vec<&Call> = calls.iter().filter(writes).collect();
        assert!(
            patches.iter().all(|c| c.body["spec"].is_null() && c.body["status"].is_null()),
            "{patches:?}"
        );
    });
}

/// Another writer is faster for a while, and what was decided is decided again.
#[test]
fn events_wait_for_the_notes() {
    in_time(async {
        let mut life = Life::begin(HyperShift, 0).await;
        life.hub.judge(|call| {
            let noted = call.line().starts_with("PATCH") && call.path.ends_with("/hostedclusters/demo");
            noted.then_some(Fault::Refused(409))
        });
        let emitted = |life: &Life| life.hub.list("/apis/events.k8s.io/v1/namespaces/clusters/events").len();
        life.happen(Event::Run(true)).await;
        life.wait(600).await;
        assert!(life.hub.get(SECRET).is_some());
        assert_eq!(emitted(&life), 0);
        life.hub.judge(|_| None);
        life.wait(600).await;
        assert_eq!(emitted(&life), 1);
    });
}

#[test]
fn a_secret_of_another_is_neither_overwritten_nor_deleted() {
    let owned = |kind: &str, namespace: &str, uid: &str| {
        json!({
            "testplatform.ci.openshift.org/owner-group": "hypershift.openshift.io",
            "testplatform.ci.openshift.org/owner-kind": kind,
            "testplatform.ci.openshift.org/owner-namespace": namespace,
            "testplatform.ci.openshift.org/owner-uid": uid,
        })
    };
    for labels in
        [json!({}), owned("NodePool", "clusters", "uid-101"), owned("HostedCluster", "elsewhere", "uid-101")]
    {
        in_time(async {
            let mut life = Life::begin(HyperShift, 0).await;
            let secret = json!({ "metadata": { "labels": labels }, "data": { "kubeconfig": "ZXZpbA==" } });
            let before = life.hub.put(SECRET, secret);
            life.happen(Event::Run(true)).await;
            life.wait(600).await;
            assert_eq!(life.told()["blockingReason"]["reason"], "OwnershipMismatch");
            assert_eq!(life.told()["credentials"], Value::Null);
            life.happen(Event::Delete).await;
            life.wait(600).await;
            assert_eq!(life.hub.get(SECRET), Some(before));
        });
    }
}

/// An object that was not made for a claim, is in another namespace, or is published elsewhere.
#[test]
fn foreign_cluster_is_left_alone() {
    for backend in [HyperShift, ClusterApi, Caas, Osac] {
        in_time(async {
            let mut life = Life::begin(backend, 0).await;
            life.hub.merge(&life.object(), &json!({ "metadata": { "annotations": null } }));
            life.happen(Event::Run(true)).await;
            life.hub.calls();
            life.happen(Event::Restart).await;
            life.wait(3600).await;
            let calls = life.hub.calls();
            let read = |call: &Call| call.path.contains("/secrets/");
            assert!(!calls.iter().any(|call| call.is_write() || read(call)), "{:?}", lines(&calls));
        });
    }
    in_time(async {
        let mut life = Life::begin(HyperShift, 0).await;
        let elsewhere = life.object().replace(namespace(HyperShift), "kube-system");
        let object = life.whole().unwrap();
        life.hub.put(&elsewhere, object);
        life.hub.delete(&life.object());
        life.happen(Event::Restart).await;
        life.hub.calls();
        life.wait(600).await;
        assert_eq!(life.hub.writes(), []);
        assert_eq!(life.published(), None);
    });
}

/// Whoever may not read says so, and looks again.
#[test]
fn forbidden_read_is_reported() {
    in_time(async {
        let mut life = Life::begin(Osac, 0).await;
        let secrets = "/api/v1/namespaces/osac-orders-demo/secrets/";
        life.hub.judge(move |call| call.path.starts_with(secrets).then_some(Fault::Refused(403)));
        life.happen(Event::Run(true)).await;
        life.wait(60).await;
        let told = life.told();
        assert_eq!(told["blockingReason"]["reason"], "SecretMissing");
        assert!(told["blockingReason"]["message"].as_str().unwrap().contains("no permission"), "{told}");
        life.hub.judge(|_| None);
        life.rest().await;
        assert!(life.published().is_some());
    });
}

/// Its latest end may be a later one by the time at which it comes.
#[test]
fn an_overdue_cluster_is_deleted_once_and_by_its_own_version() {
    for backend in [HyperShift, ClusterApi, Caas, Osac] {
        in_time(async {
            let life = Life::begin_with_ends(backend).await;
            life.end_in(3600);
            life.wait(3590).await;
            life.end_in(3600);
            life.wait(3590).await;
            let object = life.object();
            let deletes = |life: &Life| -> Vec<Call> {
                life.hub.calls().into_iter().filter(|call| call.method == "DELETE").collect()
            };
            assert_eq!(lines(&deletes(&life)), Vec::<String>::new());
            let uid = life.whole().unwrap()["metadata"]["uid"].clone();
            life.until("deleted", |life| {
                life.whole().is_none_or(|o| o["metadata"]["deletionTimestamp"].is_string())
            })
            .await;
            life.wait(600).await;
            let calls = deletes(&life);
            assert_eq!(lines(&calls), [format!("DELETE {object}")], "{backend:?}");
            let pinned = &calls[0].body["preconditions"];
            assert_eq!(pinned["uid"], uid, "{backend:?}");
            assert!(pinned["resourceVersion"].is_string(), "{backend:?}: {pinned}");
        });
    }
}
