//! A claim that the upstream XRD accepts is accepted, and reaches the hub as it was written.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use testplatform_apis::ci_operator::{CiOperator, upstream_schema};
use testplatform_apis::claim::TestPlatformClusterSpec;
use testplatform_test_data::upstream;

use crate::support::{admit, all_fields, create, konflux_default, pooled, read_yaml, schema, xrd};

const XRD: &str = "xrds/xtestplatformclusters.ci.openshift.org.yaml";

/// Accepted, and readable by the types.
fn assert_accepted(spec: &Value, what: &str) {
    assert_eq!(create(spec), Ok(()), "{what}: {spec}");
    serde_json::from_value::<TestPlatformClusterSpec>(spec.clone())
        .unwrap_or_else(|error| panic!("{what}: {error}"));
}

#[test]
fn claims_of_every_shape_are_accepted() {
    assert_accepted(&konflux_default(), "the Konflux task's default");
    assert_accepted(&all_fields(), "all fields");
    assert_accepted(&pooled(), "from a pool");
    assert_accepted(&json!({ "ciOperator": {} }), "the least that upstream takes");
    assert_accepted(&json!({ "ciOperator": { "test": { "clusterClaim": null, "env": null } } }), "nulls");
    assert_accepted(&json!({ "ciOperator": {}, "clusterClaim": null, "lifetime": null }), "nulls of ours");
    let nulls = json!({ "clusterClaim": { "version": "4.20", "labels": null, "pool": null, "timeout": null, "resume": null } });
    assert_accepted(&nulls, "nulls in a claim for a pool");
    assert_accepted(&json!({ "clusterClaim": { "version": "4.20" } }), "the least for a pool by version");
    assert_accepted(&json!({ "clusterClaim": { "pool": { "name": "p" } } }), "the least for a pool by name");
}

#[test]
fn upstream_examples_are_accepted() {
    let directory = upstream();
    let claim = read_yaml(&directory.join("examples/xtestplatformcluster/claim.yaml"));
    assert_accepted(&claim["spec"], "upstream's example");
    let mut count = 0;
    for entry in std::fs::read_dir(directory.join("parity")).unwrap() {
        let path = entry.unwrap().path().join("request.json");
        if !path.is_file() {
            continue;
        }
        let request: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let spec = request.pointer("/observed/composite/resource/spec").unwrap();
        assert_accepted(spec, &path.display().to_string());
        count += 1;
    }
    assert!(count > 0, "no recorded request was found");
}

#[test]
fn the_schema_data_is_the_hubs() {
    let crd = read_yaml(&upstream().join("crds/ephemeralclusters.ci.openshift.io.yaml"));
    let theirs =
        crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/ciOperator").unwrap();
    assert_eq!(theirs, upstream_schema(), "apis/src/ci_operator.schema.json differs from the CRD");
}

/// `names` and `claimNames` are immutable as a whole: one key more or less and the XRD cannot replace the running one.
#[test]
fn names_are_upstreams() {
    assert_eq!(
        xrd()["spec"]["names"],
        json!({ "kind": "XTestPlatformCluster", "plural": "xtestplatformclusters" })
    );
    assert_eq!(
        xrd()["spec"]["claimNames"],
        json!({ "kind": "TestPlatformCluster", "plural": "testplatformclusters" })
    );
    assert_eq!(xrd()["spec"]["connectionSecretKeys"], json!(["kubeconfig", "kubeAdminPassword"]));
    let theirs = read_yaml(&upstream().join(XRD));
    for path in [
        "/apiVersion",
        "/kind",
        "/metadata",
        "/spec/group",
        "/spec/names",
        "/spec/claimNames",
        "/spec/connectionSecretKeys",
    ] {
        assert_eq!(xrd().pointer(path), theirs.pointer(path), "{path}");
    }
    for field in ["name", "served", "referenceable"] {
        assert_eq!(xrd()["spec"]["versions"][0][field], theirs["spec"]["versions"][0][field], "{field}");
    }
    assert_eq!(xrd()["spec"].get("scope"), theirs["spec"].get("scope"), "scope");
}

/// The schema of upstream's XRD.
fn upstream_spec_schema() -> Value {
    read_yaml(&upstream().join(XRD))
        .pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec")
        .unwrap()
        .clone()
}

/// Any value that a schema accepts.
pub fn any_of(schema: &Value) -> BoxedStrategy<Value> {
    match schema["type"].as_str().unwrap() {
        "string" => prop_oneof![Just(String::new()), "[a-z0-9.:/-]{1,12}", any::<String>()]
            .prop_map(Value::from)
            .boxed(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => any::<i64>().prop_map(Value::from).boxed(),
        "array" => proptest::collection::vec(any_of(&schema["items"]), 0..3).prop_map(Value::from).boxed(),
        "object" if schema.get("additionalProperties").is_some() => {
            proptest::collection::btree_map("[a-z*-]{1,8}", any_of(&schema["additionalProperties"]), 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect()))
                .boxed()
        }
        "object" => {
            let required: Vec<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let members: Vec<BoxedStrategy<Option<(String, Value)>>> = schema["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, inner)| {
                    let name = key.clone();
                    let member = any_of(inner).prop_map(move |value| (name.clone(), value));
                    if required.contains(&key.as_str()) {
                        member.prop_map(Some).boxed()
                    } else {
                        proptest::option::of(member).boxed()
                    }
                })
                .collect();
            members
                .prop_map(|members| Value::Object(members.into_iter().flatten().collect::<Map<_, _>>()))
                .boxed()
        }
        other => panic!("upstream uses a type that this test does not know: {other}"),
    }
}

#[test]
fn upstream_specs_are_accepted_and_forwarded_unchanged() {
    let upstream = upstream_spec_schema();
    let upstream_root = json!({ "type": "object", "properties": { "spec": upstream } });
    proptest!(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::with_cases(128) }, |(spec in any_of(&upstream))| {
        let claim = json!({ "spec": spec });
        prop_assert_eq!(admit(&upstream_root, &claim, None), Ok(()), "the test itself made a bad claim");
        prop_assert_eq!(admit(schema(), &claim, None), Ok(()));
        // Applying the same claim again changes nothing.
        prop_assert_eq!(admit(schema(), &claim, Some(&claim)), Ok(()));
        let typed: TestPlatformClusterSpec = serde_json::from_value(spec.clone()).unwrap();
        prop_assert_eq!(serde_json::to_value(&typed).unwrap(), spec.clone());
        let forwarded = typed.ci_operator.as_ref().map(CiOperator::to_forwarded).map(Value::Object);
        prop_assert_eq!(forwarded.as_ref(), spec.get("ciOperator"));
    });
}
