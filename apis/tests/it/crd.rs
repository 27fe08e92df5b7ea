//! The CRD of EphemeralCluster beside upstream's: either can take the other's place at any time.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use testplatform_apis::{crd, foreign::ephemeral_cluster::PHASES};

use crate::parity::any_of;
use testplatform_test_data::upstream;

use crate::support::read_yaml;

const SCHEMA: &str = "/spec/versions/0/schema/openAPIV3Schema";

/// Upstream's definition.
fn theirs() -> Value {
    read_yaml(&upstream().join("crds/ephemeralclusters.ci.openshift.io.yaml"))
}

/// Descriptions are for people, and the order of what is required says nothing.
fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => members
            .iter()
            .filter(|(key, value)| *key != "description" || !value.is_string())
            .map(|(key, value)| match value {
                Value::Array(items) if key == "required" => {
                    let mut items = items.clone();
                    items.sort_by_key(ToString::to_string);
                    (key.clone(), Value::Array(items))
                }
                other => (key.clone(), bare(other)),
            })
            .collect(),
        other => other.clone(),
    }
}

#[test]
fn names_of_the_definition_are_upstreams() {
    let (ours, theirs) = (crd::ephemeral_cluster(), theirs());
    for path in [
        "/apiVersion",
        "/kind",
        "/metadata/name",
        "/spec/group",
        "/spec/names",
        "/spec/scope",
        "/spec/versions/0/name",
        "/spec/versions/0/served",
        "/spec/versions/0/storage",
        "/spec/versions/0/subresources",
    ] {
        assert_eq!(ours.pointer(path), theirs.pointer(path), "{path}");
    }
    assert_eq!(theirs["spec"]["versions"].as_array().unwrap().len(), 1);
}

#[test]
fn definition_has_upstreams_spec_and_status() {
    let (ours, theirs) = (crd::ephemeral_cluster(), theirs());
    let (ours, theirs) = (ours.pointer(SCHEMA).unwrap(), theirs.pointer(SCHEMA).unwrap());
    assert_eq!(bare(&ours["properties"]["spec"]), bare(&theirs["properties"]["spec"]));
    assert_eq!(
        ours["properties"]["spec"]["properties"]["ciOperator"],
        theirs["properties"]["spec"]["properties"]["ciOperator"]
    );
    // Without our additions, the status is upstream's.
    let mut status = bare(&ours["properties"]["status"]);
    for added in ["observedGeneration", "expiresAt"] {
        assert!(status["properties"].as_object_mut().unwrap().remove(added).is_some());
    }
    for path in ["/properties/phase", "/properties/conditions/items/properties/status"] {
        assert!(status.pointer_mut(path).unwrap().as_object_mut().unwrap().remove("enum").is_some());
    }
    assert_eq!(status, bare(&theirs["properties"]["status"]));
    assert_eq!(bare(ours)["required"], bare(theirs)["required"]);
}

/// The columns are what `kubectl get ec` shows; with any of its own, a CRD loses the one that is there by itself.
#[test]
fn age_is_still_shown() {
    let crd = crd::ephemeral_cluster();
    let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"].as_array().unwrap();
    let names: Vec<_> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Phase", "ProwJob URL", "Age"]);
}

fn complaints(crd: &Value, object: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(crd.pointer(SCHEMA).unwrap()).unwrap();
    validator.iter_errors(object).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Whatever its controllers write, types twice included.
fn any_status() -> impl Strategy<Value = Map<String, Value>> {
    let phases: Vec<&str> = PHASES.into_iter().chain([""]).collect();
    let text = prop_oneof![Just(String::new()), "[A-Za-z ]{1,20}", any::<String>()];
    let condition = (
        prop::sample::select(vec!["ProwJobCreating", "ClusterReady", "TestCompleted", "ProwJobCompleted"]),
        prop::sample::select(vec!["True", "False"]),
        prop::option::of(text.clone()),
        prop::option::of(text.clone()),
    )
        .prop_map(|(kind, status, reason, message)| {
            let mut condition = json!({
                "type": kind, "status": status, "lastTransitionTime": "2026-03-02T12:00:00Z",
            });
            for (key, text) in [("reason", reason), ("message", message)] {
                if let Some(text) = text {
                    condition[key] = text.into();
                }
            }
            condition
        });
    let texts = prop::collection::btree_map(
        prop::sample::select(vec!["prowJobId", "prowJobURL", "secretRef"]),
        text,
        0..3,
    );
    let conditions = prop::option::of(prop::collection::vec(condition, 0..6));
    (prop::sample::select(phases), conditions, texts).prop_map(|(phase, conditions, texts)| {
        let mut status: Map<_, _> =
            texts.into_iter().map(|(key, text)| (key.to_owned(), text.into())).collect();
        status.insert("phase".into(), phase.into());
        if let Some(conditions) = conditions {
            status.insert("conditions".into(), conditions.into());
        }
        status
    })
}

#[test]
fn objects_of_either_controller_are_valid_under_both() {
    let (ours, theirs) = (crd::ephemeral_cluster(), theirs());
    let spec = any_of(theirs.pointer(&format!("{SCHEMA}/properties/spec")).unwrap());
    let status = prop::option::of(any_status());
    proptest!(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::with_cases(128) }, |(spec in spec, status in status, generation in any::<i64>())| {
        let mut object = json!({ "metadata": { "name": "a" }, "spec": spec });
        if let Some(mut status) = status {
            object["status"] = status.clone().into();
            prop_assert_eq!(complaints(&theirs, &object), Vec::<String>::new(), "the test itself made a bad object");
            prop_assert_eq!(complaints(&ours, &object), Vec::<String>::new());
            // And what only ours writes.
            status.insert("observedGeneration".into(), generation.into());
            status.insert("expiresAt".into(), "2026-03-02T18:15:00Z".into());
            status.insert(
                "conditions".into(),
                json!([{ "type": "ClusterReady", "status": "Unknown", "reason": "BuildClusterUnreachable" }]),
            );
            object["status"] = status.into();
        }
        prop_assert_eq!(complaints(&ours, &object), Vec::<String>::new());
        prop_assert_eq!(complaints(&theirs, &object), Vec::<String>::new());
    });
}

#[test]
fn unknown_enum_values_are_refused() {
    let refused = |status: Value| {
        let object = json!({ "metadata": {}, "spec": { "ciOperator": {} }, "status": status });
        !complaints(&crd::ephemeral_cluster(), &object).is_empty()
    };
    assert!(refused(json!({ "phase": "Running" })));
    assert!(refused(
        json!({ "phase": "Ready", "conditions": [{ "type": "ClusterReady", "status": "Yes" }] })
    ));
    assert!(refused(json!({})));
    assert!(!refused(json!({ "phase": "" })));
}

/// The EphemeralClusters in upstream's recorded traffic, as its controller left them.
#[test]
fn recorded_objects_are_valid() {
    let mut count = 0;
    for entry in std::fs::read_dir(upstream().join("parity")).unwrap() {
        let path = entry.unwrap().path().join("request.json");
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let request: Value = serde_json::from_str(&text).unwrap();
        let observed = "/observed/resources/ec/resource/status/atProvider/manifest";
        if let Some(object) = request.pointer(observed).filter(|object| object.get("spec").is_some()) {
            assert_eq!(
                complaints(&crd::ephemeral_cluster(), object),
                Vec::<String>::new(),
                "{}",
                path.display()
            );
            count += 1;
        }
    }
    assert!(count > 0, "no recorded EphemeralCluster was found");
}
