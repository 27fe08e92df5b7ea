//! Under which names a composite in a namespace has its Objects, and its cluster on the hub.

use function_model::{request_from_json, response_to_json};
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::names::ShortName;
use testplatform_composites::sdk::proto::Severity;

/// Objects requested at birth.
fn born(metadata: &Value, kind: &str) -> Value {
    let born = request_from_json(&json!({
        "observed": { "composite": { "resource": {
            "apiVersion": "ci.openshift.org/v1alpha1", "kind": kind, "metadata": metadata,
            "spec": { "ciOperator": { "test": { "workflow": "ipi-aws", "clusterProfile": "aws" } } },
        } } },
        "desired": {},
        "requiredResources": { "envcfg": { "items": [{ "resource": { "data": { "clusterName": "c" } } }] } },
    }));
    response_to_json(&testplatform_composites::run(
        &born,
        &testplatform_composites::Options::default(),
        jiff::Timestamp::UNIX_EPOCH,
    ))
}

fn remote(answer: &Value) -> String {
    let writer = &answer["desired"]["resources"]["ec"]["resource"];
    let name = writer["spec"]["forProvider"]["manifest"]["metadata"]["name"].as_str().unwrap();
    assert_eq!(writer["metadata"]["name"], format!("managed-{name}"));
    name.to_owned()
}

fn named(name: &str, namespace: &str, uid: &str) -> String {
    remote(&born(&json!({ "name": name, "namespace": namespace, "uid": uid }), "TestCluster"))
}

/// Nor does a composite that follows another of its name meet what that one leaves behind.
#[test]
fn namesakes_in_two_namespaces_have_two_clusters() {
    let one = named("demo", "team-a", "1");
    assert!(one.starts_with("demo-") && one.len() == "demo-".len() + 8, "{one}");
    assert_ne!(one, named("demo", "team-b", "2"));
    assert_ne!(one, named("demo", "team-b", "1"));
    assert_ne!(one, named("demo", "team-a", "2"));
    assert_eq!(one, named("demo", "team-a", "1"));
}

/// A name that changes would ask for a second cluster.
#[test]
fn the_name_is_fixed() {
    assert_eq!(named("demo", "team-a", "3f0f1a4e-6a3c-4a39-9a3e-5f9d4c1f2b7a"), NAME);
}

const NAME: &str = "demo-bf9713c6";

#[rstest]
#[case(&"a".repeat(63))]
#[case(&format!("{}.{}", "a".repeat(53), "b".repeat(9)))]
#[case("a.b")]
#[case("0")]
fn names_fit_where_they_go(#[case] name: &str) {
    let name = named(name, "team-a", "1");
    assert!(ShortName::try_from(name.as_str()).is_ok() && !name.contains('.'), "{name}");
}

/// Running clusters survive the switch.
#[test]
fn a_claims_composite_has_its_own_name() {
    let answer = born(&json!({ "name": "demo-x7k2p", "uid": "1" }), "XTestPlatformCluster");
    assert_eq!(remote(&answer), "demo-x7k2p");
    assert_eq!(answer["desired"]["resources"]["ec"]["resource"]["metadata"]["namespace"], Value::Null);
}

/// Core shows whatever the composite refers to, under the name that it bears, and both can be a tenant's to write: only an Object tells of a cluster.
#[test]
fn only_objects_prove_a_cluster() {
    let notes = json!({
        "testplatform.ci.openshift.org/take-over": "a",
        "testplatform.ci.openshift.org/taken-over": "testplatform-kubernetes-provider-config/ephemeral-cluster/victim/uid",
    });
    let labels = json!({ "testplatform.ci.openshift.org/component": "cluster" });
    for name in ["ec", "claim", "credentials", "cluster", "topology", "ended", "bundles", "pool-a"] {
        for (version, kind) in
            [("v1", "Secret"), ("example.org/v1", "Object"), ("kubernetes.crossplane.io/v1", "Other")]
        {
            let forged = request_from_json(&json!({
                "observed": {
                    "composite": { "resource": {
                        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "TestCluster",
                        "metadata": { "name": "demo", "namespace": "team-a", "uid": "1" },
                        "spec": { "ciOperator": { "test": { "workflow": "ipi-aws", "clusterProfile": "aws" } } },
                    } },
                    "resources": { name: { "resource": {
                        "apiVersion": version, "kind": kind,
                        "metadata": { "name": "x", "namespace": "team-a", "annotations": notes, "labels": labels },
                    } } },
                },
                "desired": {},
                "requiredResources": { "envcfg": { "items": [{ "resource": { "data": { "clusterName": "c" } } }] } },
            }));
            let options = testplatform_composites::Options::default();
            let answer = testplatform_composites::run(&forged, &options, jiff::Timestamp::UNIX_EPOCH);
            let fatal = &answer.results[0];
            assert_eq!(fatal.severity(), Severity::Fatal, "{name}: {version} {kind}");
            let words = format!("cannot read observed resource {name:?}: ");
            assert!(fatal.message.starts_with(&words), "{}", fatal.message);
            let told = fatal.message.contains("of provider-kubernetes");
            assert!(told, "{}", fatal.message);
        }
    }
}

/// It has neither a claim nor a namespace, so nothing could be composed for it that core takes, and nobody would get the credentials.
#[test]
fn a_composite_of_scope_cluster_is_not_served() {
    let request = request_from_json(&json!({
        "observed": { "composite": { "resource": {
            "apiVersion": "ci.openshift.org/v1alpha1", "kind": "X", "metadata": { "name": "demo" },
            "spec": { "ciOperator": {}, "crossplane": {} },
        } } },
        "desired": {},
    }));
    let answer = response_to_json(&testplatform_composites::run(
        &request,
        &testplatform_composites::Options::default(),
        jiff::Timestamp::UNIX_EPOCH,
    ));
    assert_eq!(answer["results"][0]["severity"], "SEVERITY_FATAL");
    let words = answer["results"][0]["message"].as_str().unwrap();
    assert!(words.contains("scope Cluster"), "{words}");
}
