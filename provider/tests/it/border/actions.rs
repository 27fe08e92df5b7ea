//! One test per action: verb, path, content type, field manager, body.

use std::collections::BTreeMap;

use provider_testplatform::controllers::ephemeral_cluster::{
    operation::{Operation, Plan},
    status::{Phase, Status},
};
use serde_json::{Value, json};
use testplatform_runtime::event::Event;

use super::{Bench, JOB, OBJECT, SECRET, SIGNAL, credentials, decode, memory::Call, plain};

const FINALIZER: &str = "ephemeralcluster.ci.openshift.io/dependent-prowjob";
const SOURCE_REVISION: &str = "testplatform.ci.openshift.org/source-revision";

/// A merge patch of ours on the wire.
fn merge(path: &str, body: Value) -> Call {
    Call {
        method: "PATCH".into(),
        path: path.into(),
        query: "&fieldManager=provider-testplatform".into(),
        content_type: "application/merge-patch+json".into(),
        body,
    }
}

#[tokio::test]
async fn finalizer() {
    let mut object = plain();
    object["metadata"]["finalizers"] = json!(["other"]);
    let (bench, object) = Bench::with(object);
    let version = object.metadata.resource_version.clone();

    let added = bench.act(&object, Operation::AddFinalizer).await.unwrap().object.unwrap();
    let body = json!({ "metadata": { "finalizers": ["other", FINALIZER], "resourceVersion": version } });
    assert_eq!(bench.hub.calls(), [merge(OBJECT, body)]);
    bench.act(&added, Operation::AddFinalizer).await.unwrap();
    assert_eq!(bench.hub.calls(), [], "it is there");
    assert_eq!(bench.act(&object, Operation::AddFinalizer).await.unwrap_err(), "add_finalizer/conflict");
    bench.hub.calls();

    let version = added.metadata.resource_version.clone();
    let removed = bench.act(&added, Operation::RemoveFinalizer).await.unwrap().object.unwrap();
    let body = json!({ "metadata": { "finalizers": ["other"], "resourceVersion": version } });
    assert_eq!(bench.hub.calls(), [merge(OBJECT, body)]);
    bench.act(&removed, Operation::RemoveFinalizer).await.unwrap();
    assert_eq!(bench.hub.calls(), [], "it is not there");
}

#[tokio::test]
async fn the_last_finalizer_ends_an_object_that_is_deleted() {
    let mut object = plain();
    object["metadata"]["finalizers"] = json!([FINALIZER]);
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T01:00:00Z");
    let (bench, object) = Bench::with(object);
    bench.act(&object, Operation::RemoveFinalizer).await.unwrap();
    assert_eq!(bench.hub.get(OBJECT), None);
    // Interrupted and done again, also with the status after it.
    let status = Some(Status { phase: Some(Phase::Failed), ..Status::default() });
    let step = Plan { actions: vec![Operation::RemoveFinalizer], status, ..Plan::default() };
    bench.executor.run(Some(object), &step).await.unwrap();
}

#[tokio::test]
async fn annotations() {
    let mut object = plain();
    object["metadata"]["annotations"] = json!({ "a": "1", "b": "2" });
    let (bench, object) = Bench::with(object);
    let version = object.metadata.resource_version.clone();
    let wanted = || Operation::SetAnnotations([("a".into(), Some("3".into())), ("b".into(), None)].into());
    let annotated = bench.act(&object, wanted()).await.unwrap().object.unwrap();
    let body = json!({ "metadata": { "annotations": { "a": "3", "b": null }, "resourceVersion": version } });
    assert_eq!(bench.hub.calls(), [merge(OBJECT, body)]);
    assert_eq!(annotated.annotation("a"), Some("3"));
    assert_eq!(annotated.annotation("b"), None);
    bench.act(&annotated, wanted()).await.unwrap();
    assert_eq!(bench.hub.calls(), []);
}

#[tokio::test]
async fn changed_status_is_written_through_its_subresource() {
    let (bench, object) = Bench::with(plain());
    let version = object.metadata.resource_version.clone();
    let status =
        Status { phase: Some(Phase::Ready), secret_ref: "ec-credentials".into(), ..Status::default() };
    let step = Plan { status: Some(status.clone()), ..Plan::default() };
    let written = bench.executor.run(Some(object), &step).await.unwrap().object;
    let [call] = bench.hub.calls().try_into().unwrap();
    assert_eq!(
        (call.line(), call.query.as_str()),
        (format!("PATCH {OBJECT}/status"), "&fieldManager=provider-testplatform")
    );
    assert_eq!(call.body["metadata"], json!({ "resourceVersion": version }));
    assert_eq!(bench.hub.get(OBJECT).unwrap()["status"]["secretRef"], "ec-credentials");

    let again = bench.executor.run(written.clone(), &step).await.unwrap().object;
    assert_eq!(bench.hub.calls(), [], "nothing differs");

    let without = Plan { status: Some(Status { secret_ref: String::new(), ..status }), ..Plan::default() };
    bench.executor.run(again, &without).await.unwrap();
    assert_eq!(bench.hub.get(OBJECT).unwrap()["status"], json!({ "phase": "Ready", "conditions": [] }));
}

#[tokio::test]
async fn versions_are_threaded_through_a_step() {
    let (bench, object) = Bench::with(plain());
    let step = Plan {
        actions: vec![
            Operation::AddFinalizer,
            Operation::SetAnnotations([("a".into(), Some("1".into()))].into()),
        ],
        status: Some(Status { phase: Some(Phase::Provisioning), ..Status::default() }),
        ..Plan::default()
    };
    bench.executor.run(Some(object), &step).await.unwrap();
    let versions: Vec<String> = bench
        .hub
        .writes()
        .iter()
        .map(|call| call.body["metadata"]["resourceVersion"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(versions, ["101", "102", "103"]);
}

#[tokio::test]
async fn a_job_is_created_once() {
    let (bench, object) = Bench::with(plain());
    let manifest = json!({
        "apiVersion": "prow.k8s.io/v1", "kind": "ProwJob",
        "metadata": { "name": "job", "namespace": "ci" }, "spec": { "job": "x" }, "status": { "state": "scheduling" },
    });
    let create = || Operation::CreateProwJob(Box::new(manifest.clone()));
    bench.act(&object, create()).await.unwrap();
    let [call] = bench.hub.calls().try_into().unwrap();
    assert_eq!(call.line(), "POST /apis/prow.k8s.io/v1/namespaces/ci/prowjobs");
    assert_eq!(call.query, "&fieldManager=provider-testplatform");
    assert_eq!(call.body, manifest, "as it is");
    bench.act(&object, create()).await.unwrap();
    assert_eq!(bench.hub.list("/apis/prow.k8s.io/v1/namespaces/ci/prowjobs").len(), 1);
}

#[tokio::test]
async fn a_job_is_claimed_without_touching_the_rest() {
    let (bench, object) = Bench::with(plain());
    bench.hub.put(JOB, json!({ "metadata": { "labels": { "x": "y" } }, "status": { "state": "pending" } }));
    let claim = Operation::ClaimProwJob {
        name: "job".into(),
        labels: BTreeMap::from([("uid".into(), "u".into())]),
        annotations: BTreeMap::new(),
    };
    bench.act(&object, claim).await.unwrap();
    assert_eq!(bench.hub.calls(), [merge(JOB, json!({ "metadata": { "labels": { "uid": "u" } } }))]);
    assert_eq!(bench.hub.get(JOB).unwrap()["metadata"]["labels"], json!({ "x": "y", "uid": "u" }));
}

fn abort() -> Operation {
    Operation::AbortProwJob { name: "job".into(), description: "why".into() }
}

#[tokio::test]
async fn running_job_is_aborted() {
    let (bench, object) = Bench::with(plain());
    bench.act(&object, abort()).await.unwrap();
    assert_eq!(bench.hub.writes(), [], "there is none");

    let job = bench.hub.put(JOB, json!({ "status": { "state": "pending", "url": "https://prow" } }));
    bench.act(&object, abort()).await.unwrap();
    let status = json!({ "state": "aborted", "description": "why" });
    let body =
        json!({ "metadata": { "resourceVersion": job["metadata"]["resourceVersion"] }, "status": status });
    assert_eq!(bench.hub.writes(), [merge(JOB, body)]);
    assert_eq!(bench.hub.get(JOB).unwrap()["status"]["url"], "https://prow");

    for state in ["success", "failure", "aborted", "error"] {
        bench.hub.put(JOB, json!({ "status": { "state": state } }));
        bench.act(&object, abort()).await.unwrap();
        assert_eq!(bench.hub.writes(), [], "{state}");
    }
}

#[tokio::test]
async fn a_job_is_aborted_where_its_status_is_a_subresource() {
    let (bench, object) = Bench::with(plain());
    bench.hub.with_status("prowjobs");
    bench.hub.put(JOB, json!({ "status": { "state": "pending" } }));
    bench.act(&object, abort()).await.unwrap();
    assert_eq!(bench.hub.get(JOB).unwrap()["status"]["state"], "aborted");
    let lines: Vec<String> = bench.hub.writes().iter().map(Call::line).collect();
    assert_eq!(lines, [format!("PATCH {JOB}"), format!("PATCH {JOB}/status")]);
}

#[tokio::test]
async fn vanished_object_gets_no_actions() {
    let (bench, object) = Bench::with(plain());
    bench.hub.delete(OBJECT);
    let manifest = json!({ "apiVersion": "prow.k8s.io/v1", "kind": "ProwJob", "metadata": { "name": "job", "namespace": "ci" } });
    let actions = vec![Operation::AddFinalizer, Operation::CreateProwJob(Box::new(manifest))];
    let step = Plan { actions, ..Plan::default() };
    let failure = bench.executor.run(Some(object), &step).await.unwrap_err();
    assert_eq!(failure.error.reason, testplatform_runtime::error::Reason::Conflict);
    assert_eq!(bench.hub.get(JOB), None);
}

#[tokio::test]
async fn the_signal_is_an_empty_secret() {
    let (bench, object) = Bench::with(plain());
    let signal =
        |cluster: &str| Operation::SignalWaitStep { cluster: cluster.into(), namespace: "ci-op-x".into() };
    bench.act(&object, signal("build01")).await.unwrap();
    bench.act(&object, signal("build01")).await.unwrap();
    let calls = bench.build_cluster.calls();
    assert_eq!(calls[0].line(), "POST /api/v1/namespaces/ci-op-x/secrets");
    let stored = bench.build_cluster.get(SIGNAL).unwrap();
    assert_eq!((&stored["type"], stored.get("data")), (&json!("Opaque"), None));
    assert_eq!(bench.act(&object, signal("build99")).await.unwrap_err(), "signal/unreachable");
}

#[tokio::test]
async fn credentials_are_published_kept_and_withdrawn() {
    let (bench, object) = Bench::with(plain());
    bench.act(&object, Operation::PublishCredentials(credentials("one"))).await.unwrap();
    let stored = bench.hub.get(SECRET).unwrap();
    assert_eq!(stored["type"], "Opaque");
    assert_eq!(stored["data"], json!({ "kubeconfig": "b25l", "kubeAdminPassword": "" }));
    let owner = &stored["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["uid"], &owner["controller"], &owner["kind"]),
        (&json!("u"), &json!(true), &json!("EphemeralCluster"))
    );
    // An API server may demand a right on finalizers for a reference that blocks.
    assert_ne!(owner["blockOwnerDeletion"], true);

    bench.hub.calls();
    bench.act(&object, Operation::PublishCredentials(credentials("one"))).await.unwrap();
    assert_eq!(bench.hub.writes(), [], "it is what it should be");

    // Changed by hand, and changed at its source.
    let mut tampered = stored.clone();
    tampered["data"] = json!({ "kubeconfig": "ZXZpbA==", "kubeAdminPassword": "", "extra": "eA==" });
    let tampered = bench.hub.put(SECRET, tampered);
    bench.act(&object, Operation::PublishCredentials(credentials("three"))).await.unwrap();
    let body = json!({
        "metadata": {
            "resourceVersion": tampered["metadata"]["resourceVersion"],
            "annotations": { SOURCE_REVISION: "build01/ci-op-x:cluster-provisioning@5" },
        },
        "data": { "kubeconfig": "dGhyZWU=", "kubeAdminPassword": "", "extra": null },
    });
    assert_eq!(bench.hub.writes(), [merge(SECRET, body)]);

    bench.act(&object, Operation::WithdrawCredentials).await.unwrap();
    let [call] = bench.hub.writes().try_into().unwrap();
    assert_eq!(call.line(), format!("DELETE {SECRET}"));
    assert_eq!(call.body["preconditions"], json!({ "uid": stored["metadata"]["uid"] }));
    bench.act(&object, Operation::WithdrawCredentials).await.unwrap();
    assert_eq!(bench.hub.writes(), [], "it is gone");
}

#[tokio::test]
async fn foreign_secret_is_left_alone() {
    let other = json!([{ "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "name": "ec", "uid": "old",
        "controller": true }]);
    for owners in [Value::Null, other] {
        let (bench, object) = Bench::with(plain());
        let stored = bench.hub.put(SECRET, json!({ "metadata": { "ownerReferences": owners } }));
        let publish = Operation::PublishCredentials(credentials("one"));
        assert_eq!(bench.act(&object, publish).await.unwrap_err(), "publish_credentials/foreign");
        bench.act(&object, Operation::WithdrawCredentials).await.unwrap();
        assert_eq!(bench.hub.get(SECRET), Some(stored));
    }
}

#[tokio::test]
async fn events_are_about_the_object() {
    let (bench, object) = Bench::with(plain());
    let note = "ä".repeat(1000);
    let event = Event { warning: true, reason: "Why".into(), note };
    bench.act(&object, Operation::EmitEvent(event)).await.unwrap();
    let [event] =
        bench.hub.list("/apis/events.k8s.io/v1/namespaces/ephemeral-cluster/events").try_into().unwrap();
    assert_eq!((&event["type"], &event["reason"]), (&json!("Warning"), &json!("Why")));
    assert_eq!(event["regarding"]["uid"], "u");
    assert_eq!(event["reportingController"], "provider-testplatform");
    assert_eq!(event["note"].as_str().unwrap().len(), 1024, "as long as an API server takes");
}

#[tokio::test]
async fn missing_object_gets_no_actions() {
    let bench = Bench::new();
    let step = Plan { actions: vec![Operation::AddFinalizer], ..Plan::default() };
    let failure = bench.executor.run(None, &step).await.unwrap_err();
    assert_eq!(failure.error.reason.as_str(), "bug");
    let orphan = Plan { actions: vec![abort()], ..Plan::default() };
    bench.hub.put(JOB, json!({ "status": { "state": "pending" } }));
    bench.executor.run(None, &orphan).await.unwrap();
    assert_eq!(bench.hub.get(JOB).unwrap()["status"]["state"], "aborted");
}

#[test]
fn debug_output_has_no_secrets() {
    let secret = credentials("s3cret");
    assert_eq!(format!("{:?}", secret.kubeconfig), "[redacted]");
    assert_eq!(format!("{:?}", secret.password), "[redacted]");
    let action = format!("{:?}", Operation::PublishCredentials(secret));
    assert!(!action.contains("s3cret"), "{action}");
    // Bytes are shown as numbers.
    let shown = format!("{:?}", b"s3cret");
    assert!(!action.contains(shown.trim_matches(['[', ']'])), "{action}");
    assert!(!format!("{:?}", decode(plain())).contains("s3cret"));
}
