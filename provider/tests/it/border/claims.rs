//! ClusterClaims on an API server in memory: each action is one call or a few, and lives in which anything happens at any time.

pub mod life;
mod walk;

use std::time::Duration;

use jiff::Timestamp;
use provider_testplatform::{
    controllers::cluster_claim::{
        execute::{ClaimExecutor, ClaimFailure},
        hub::ClaimHub,
        object::ClusterClaim,
        operation::{ClaimAnnotations, ClaimOperation, ClaimPlan},
    },
    credentials::account::guest_limiter::GuestLimiter,
};
use serde_json::{Value, json};
use testplatform_apis::hive_status::HiveStatus;
use testplatform_runtime::event::Event;

use crate::border::{
    CONFIDENTIAL, credentials,
    memory::{Fault, Memory},
    tells,
};

pub const CLAIM: &str = "/apis/hive.openshift.io/v1/namespaces/cluster-pools/clusterclaims/demo";
const CLUSTER: &str = "/apis/hive.openshift.io/v1/namespaces/c-1/clusterdeployments/c-1";
const SECRET: &str = "/api/v1/namespaces/credentials/secrets/demo-credentials";

struct Bench {
    hub: Memory,
    executor: ClaimExecutor,
}

impl Bench {
    fn with_claim() -> (Self, ClusterClaim) {
        let hub = Memory::new();
        let executor = ClaimExecutor {
            hub: ClaimHub::new(hub.client(), "credentials"),
            instance: "me".into(),
            patience: Duration::from_millis(100),
            callers: GuestLimiter::default(),
            now: || "2026-01-01T02:00:00Z".parse::<Timestamp>().unwrap(),
        };
        let claim = json!({ "apiVersion": "hive.openshift.io/v1", "kind": "ClusterClaim", "metadata": { "uid": "u" },
            "spec": { "clusterPoolName": "pool" } });
        let claim = decode(hub.put(CLAIM, claim));
        (Self { hub, executor }, claim)
    }

    async fn act(&self, claim: &ClusterClaim, action: ClaimOperation) -> Result<usize, String> {
        let step = ClaimPlan { actions: vec![action], ..ClaimPlan::default() };
        let done = self.executor.run(claim, &step).await;
        done.map(|forgone| forgone.len())
            .map_err(|ClaimFailure { error, .. }| format!("{}/{}", error.action, error.reason.as_str()))
    }
}

fn decode(object: Value) -> ClusterClaim {
    serde_json::from_value(object).unwrap()
}

#[tokio::test]
async fn published_secret_names_its_owner() {
    let (bench, claim) = Bench::with_claim();
    bench.act(&claim, ClaimOperation::Publish(credentials("x"))).await.unwrap();
    let lines: Vec<String> = bench.hub.calls().iter().map(crate::border::memory::Call::line).collect();
    assert_eq!(lines, [format!("GET {SECRET}"), "POST /api/v1/namespaces/credentials/secrets".to_owned()]);
    let made = bench.hub.get(SECRET).unwrap();
    let labels = json!({
        "testplatform.ci.openshift.org/owner-group": "hive.openshift.io",
        "testplatform.ci.openshift.org/owner-kind": "ClusterClaim",
        "testplatform.ci.openshift.org/owner-namespace": "cluster-pools",
        "testplatform.ci.openshift.org/owner-name": "demo",
        "testplatform.ci.openshift.org/owner-uid": "u",
    });
    assert_eq!(made["metadata"]["labels"], labels);
    assert_eq!(made["metadata"]["ownerReferences"], Value::Null, "the claim is in another namespace");
    let keys: Vec<&String> = made["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["kubeAdminPassword", "kubeconfig"]);
    // Done again: nothing. Another kubeconfig: one patch.
    bench.act(&claim, ClaimOperation::Publish(credentials("x"))).await.unwrap();
    assert_eq!(bench.hub.writes(), []);
    bench.act(&claim, ClaimOperation::Publish(credentials("longer"))).await.unwrap();
    assert_eq!(bench.hub.writes().len(), 1);
}

#[tokio::test]
async fn a_secret_of_another_is_neither_overwritten_nor_deleted() {
    let owned = |uid: &str| {
        json!({
            "testplatform.ci.openshift.org/owner-group": "hive.openshift.io",
            "testplatform.ci.openshift.org/owner-kind": "ClusterClaim",
            "testplatform.ci.openshift.org/owner-namespace": "cluster-pools",
            "testplatform.ci.openshift.org/owner-uid": uid,
        })
    };
    let mut elsewhere = owned("u");
    elsewhere["testplatform.ci.openshift.org/owner-namespace"] = json!("other-pools");
    for labels in [json!({}), owned("another"), elsewhere] {
        let (bench, claim) = Bench::with_claim();
        let before = bench
            .hub
            .put(SECRET, json!({ "metadata": { "labels": labels }, "data": { "kubeconfig": "eA==" } }));
        let refused = bench.act(&claim, ClaimOperation::Publish(credentials("x"))).await.unwrap_err();
        assert_eq!(refused, "publish_credentials/foreign");
        bench.act(&claim, ClaimOperation::Withdraw).await.unwrap();
        assert_eq!(bench.hub.get(SECRET), Some(before));
    }
    let (bench, claim) = Bench::with_claim();
    bench.hub.put(SECRET, json!({ "metadata": { "labels": owned("u") } }));
    bench.act(&claim, ClaimOperation::Withdraw).await.unwrap();
    assert_eq!(bench.hub.get(SECRET), None);
    bench.act(&claim, ClaimOperation::Withdraw).await.unwrap();
}

#[tokio::test]
async fn too_long_name_is_omitted_from_labels() {
    let (bench, mut claim) = Bench::with_claim();
    let name = "x".repeat(100);
    claim.metadata.name = Some(name.clone());
    bench.act(&claim, ClaimOperation::Publish(credentials("x"))).await.unwrap();
    let made = bench.hub.get(&format!("/api/v1/namespaces/credentials/secrets/{name}-credentials")).unwrap();
    let labels = made["metadata"]["labels"].as_object().unwrap();
    assert!(labels.values().all(|v| v.as_str().unwrap().len() <= 63) && labels.len() == 4, "{labels:?}");
}

#[tokio::test]
async fn changed_annotations_are_one_patch() {
    let (bench, claim) = Bench::with_claim();
    let version = claim.metadata.resource_version.clone();
    let status = HiveStatus { version: Some("4.20.3".into()), ..HiveStatus::default() };
    let notes = ClaimAnnotations { status, credentials_revision: Some("7".into()), diagnostics: None };
    let step = ClaimPlan { status: Some(notes), ..ClaimPlan::default() };
    bench.executor.run(&claim, &step).await.unwrap();
    let [call] = bench.hub.calls().try_into().unwrap();
    assert_eq!(
        (call.line(), call.content_type.as_str()),
        (format!("PATCH {CLAIM}"), "application/merge-patch+json")
    );
    let annotations = json!({
        "testplatform.ci.openshift.org/status": r#"{"version":"4.20.3"}"#,
        "testplatform.ci.openshift.org/credentials-revision": "7",
    });
    assert_eq!(call.body, json!({ "metadata": { "annotations": annotations, "resourceVersion": version } }));
    let written = decode(bench.hub.get(CLAIM).unwrap());
    bench.executor.run(&written, &step).await.unwrap();
    assert_eq!(bench.hub.calls(), [], "nothing differs");
    let stale = bench.executor.run(&claim, &step).await.unwrap_err().error;
    assert_eq!(stale.reason.as_str(), "conflict");
}

#[tokio::test]
async fn cluster_is_resumed_at_the_read_version_without_blocking_others() {
    let (bench, claim) = Bench::with_claim();
    let cluster = bench.hub.put(CLUSTER, json!({ "spec": { "powerState": "Hibernating" } }));
    let version = cluster["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let resume =
        |version: &str| ClaimOperation::Resume { cluster_deployment: "c-1".into(), version: version.into() };
    assert_eq!(bench.act(&claim, resume("1")).await.unwrap_err(), "resume/conflict");
    bench.act(&claim, resume(&version)).await.unwrap();
    assert_eq!(bench.hub.get(CLUSTER).unwrap()["spec"]["powerState"], "Running");

    bench.hub.judge(|call| call.path.contains("clusterdeployments").then_some(Fault::Refused(403)));
    let event =
        ClaimOperation::Emit(Event { warning: false, reason: "ClusterResumed".into(), note: "x".into() });
    let step = ClaimPlan {
        actions: vec![resume(&version), event],
        status: Some(ClaimAnnotations::default()),
        ..ClaimPlan::default()
    };
    bench.hub.calls();
    let failed = bench.executor.run(&claim, &step).await.unwrap_err();
    assert_eq!((failed.error.action, failed.error.reason.as_str()), ("resume", "forbidden"));
    let lines: Vec<String> = bench.hub.writes().iter().map(crate::border::memory::Call::line).collect();
    assert_eq!(
        lines,
        [format!("PATCH {CLUSTER}"), format!("PATCH {CLAIM}")],
        "told all the same, without the event"
    );
}

/// A step whose notes are refused is decided again.
#[tokio::test]
async fn events_wait_for_the_notes() {
    let (bench, claim) = Bench::with_claim();
    let notes = ClaimAnnotations { credentials_revision: Some("7".into()), ..ClaimAnnotations::default() };
    let event = Event { warning: true, reason: "KubeconfigRejected".into(), note: "x".into() };
    let step = ClaimPlan { status: Some(notes), events: vec![event], ..ClaimPlan::default() };
    let emitted = || bench.hub.list("/apis/events.k8s.io/v1/namespaces/cluster-pools/events").len();
    for code in [409, 422] {
        bench.hub.judge(move |call| (call.path == CLAIM).then_some(Fault::Refused(code)));
        assert!(bench.executor.run(&claim, &step).await.is_err());
        assert_eq!(emitted(), 0, "{code}");
    }
    bench.hub.judge(|_| None);
    bench.executor.run(&claim, &step).await.unwrap();
    assert_eq!(emitted(), 1);
    // The notes are stored though the cluster could not be started, so nobody decides on the event again.
    bench.hub.put(CLUSTER, json!({ "spec": { "powerState": "Hibernating" } }));
    let resume = ClaimOperation::Resume { cluster_deployment: "c-1".into(), version: "1".into() };
    let claim = decode(bench.hub.get(CLAIM).unwrap());
    let event = Event { warning: true, reason: "ProvisionFailed".into(), note: "y".into() };
    let step = ClaimPlan { actions: vec![resume], events: vec![event], ..step };
    bench.hub.calls();
    assert!(bench.executor.run(&claim, &step).await.is_err());
    let is_event = |call: &crate::border::memory::Call| call.line().starts_with("POST /apis/events.k8s.io");
    assert_eq!(bench.hub.calls().iter().filter(|call| is_event(call)).count(), 1);
}

#[tokio::test]
async fn an_event_is_about_the_claim_in_its_namespace() {
    let (bench, claim) = Bench::with_claim();
    let event = || {
        ClaimOperation::Emit(Event { warning: true, reason: "OwnershipMismatch".into(), note: "x".into() })
    };
    bench.act(&claim, event()).await.unwrap();
    let [made] = bench.hub.list("/apis/events.k8s.io/v1/namespaces/cluster-pools/events").try_into().unwrap();
    assert_eq!((&made["type"], &made["reason"]), (&json!("Warning"), &json!("OwnershipMismatch")));
    assert_eq!(
        (&made["regarding"]["kind"], &made["regarding"]["uid"]),
        (&json!("ClusterClaim"), &json!("u"))
    );
    bench.hub.judge(|_| Some(Fault::Refused(403)));
    assert_eq!(bench.act(&claim, event()).await, Ok(1), "it is left out");
}

#[tokio::test]
async fn every_answer_has_its_kind_and_repeats_no_secret() {
    for (fault, kind) in [
        (Fault::Refused(403), "forbidden"),
        (Fault::Refused(409), "conflict"),
        (Fault::Refused(422), "refused"),
        (Fault::Refused(429), "server"),
        (Fault::Refused(500), "server"),
        (Fault::Lost, "timeout"),
        (Fault::AnswerLost, "timeout"),
    ] {
        for method in ["GET", "POST", "PATCH"] {
            let (bench, claim) = Bench::with_claim();
            if method == "PATCH" {
                bench.act(&claim, ClaimOperation::Publish(credentials("x"))).await.unwrap();
            }
            bench.hub.judge(move |call| (call.method == method).then_some(fault));
            let step = ClaimPlan {
                actions: vec![ClaimOperation::Publish(credentials(CONFIDENTIAL))],
                ..ClaimPlan::default()
            };
            bench.hub.calls();
            let failure = bench.executor.run(&claim, &step).await.unwrap_err();
            let error = &failure.error;
            assert_eq!((error.action, error.reason.as_str()), ("publish_credentials", kind), "{fault:?}");
            let last = bench.hub.calls().pop().unwrap();
            assert!(last.method == method && (method == "GET" || tells(&last.body.to_string())), "{last:?}");
            assert!(
                !tells(&format!("{error} {:?} {failure:?}", error.owner_message())),
                "{fault:?}: {failure:?}"
            );
        }
    }
}
