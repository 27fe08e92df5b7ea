//! Each example of a claim, asked once more as a composite in a namespace: the same answer, but for what is listed in [`as_of_a_claim`].

use function_model::{examples, response_to_json};
use jiff::Timestamp;
use prost::{Message as _, bytes::Bytes};
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_composites::{
    Options, run,
    sdk::{
        proto::{Resource, RunFunctionRequest},
        wire,
    },
};

const SECRET: &str = "the-secret";

fn now() -> Timestamp {
    examples::MADE.parse().unwrap()
}

fn change(resource: &mut Resource, change: impl FnOnce(&mut Value)) {
    let mut object = wire::to_value(&resource.resource).unwrap();
    change(&mut object);
    resource.resource = wire::to_struct(&object).unwrap();
}

/// Claims of which what happened is told by the composite's own connection Secret alone: there is none in a namespace.
fn told_by_the_composite_alone(request: &RunFunctionRequest) -> bool {
    let observed = request.observed.as_ref().unwrap();
    let given = !observed.composite.as_ref().unwrap().connection_details.is_empty();
    given && !observed.resources.contains_key("credentials")
}

/// Claims whose credentials are read and held back until everything is set up: in a namespace they are not read before, because what reads them
/// gives them.
fn held_back(request: &RunFunctionRequest) -> bool {
    let observed = request.observed.as_ref().unwrap();
    let given = !observed.composite.as_ref().unwrap().connection_details.is_empty();
    observed.resources.contains_key("bundles") && !given
}

/// The request for the same, had it been made in namespace `tenant-a`.
fn in_namespace(mut request: RunFunctionRequest) -> RunFunctionRequest {
    let observed = request.observed.as_mut().unwrap();
    let composite = observed.composite.as_mut().unwrap();
    let given = !composite.connection_details.is_empty();
    composite.connection_details.clear();
    let mut namespace = String::new();
    change(composite, |object| {
        object["kind"] = json!("TestCluster");
        object["spec"]["claimRef"]["namespace"].as_str().unwrap().clone_into(&mut namespace);
        object["metadata"]["namespace"] = json!(namespace);
        object["spec"].as_object_mut().unwrap().remove("claimRef");
        object["spec"]["crossplane"] = json!({});
        object["spec"]["writeConnectionSecretToRef"] = json!({ "name": SECRET });
    });
    for (key, bytes) in &mut observed.resources {
        let mut resource = Resource::decode(bytes.clone()).unwrap();
        change(&mut resource, |object| {
            object["apiVersion"] = json!("kubernetes.m.crossplane.io/v1alpha1");
            object["metadata"]["namespace"] = json!(namespace);
            if key == "credentials" {
                object["spec"]["writeConnectionSecretToRef"] = json!({ "name": SECRET });
                // Its Object wrote the details that a claim's composite got.
                if given {
                    object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
                }
            }
        });
        *bytes = Bytes::from(resource.encode_to_vec());
    }
    request
}

/// The same with the plain name of the composite: until there is an Object, what is made for one in a namespace has a hash behind it, and the
/// namespace for what a claim of either flavour brings along has one behind that.
fn plainly_named(answer: &Value, name: &str) -> Value {
    let mut text = answer.to_string();
    let begin = format!("{name}-");
    let mut from = 0;
    while let Some(at) = text[from..].find(&begin).map(|at| from + at + begin.len()) {
        from = at;
        let is_hash = |text: &str| text.len() > 8 && text.as_bytes()[..8].iter().all(u8::is_ascii_hexdigit);
        while text[at - 1..].starts_with('-') && is_hash(&text[at..]) {
            text.replace_range(at - 1..at + 8, "");
            from = at - 1;
        }
    }
    serde_json::from_str(&text).unwrap()
}

/// The answer without what a composite in a namespace has otherwise: the group of its Objects, where they and the Secret are, the kind
/// of their configuration, to whom conditions and events go, that nothing is handed to the composite, what is asked for by another
/// kind, and what remembers the end.
fn as_of_a_claim(mut answer: Value) -> Value {
    answer["desired"]["composite"]["connectionDetails"].take();
    answer["desired"]["resources"].as_object_mut().unwrap().remove("ended");
    // Here it tells that the Secret was written.
    if let Some(credentials) = answer["desired"]["resources"].get_mut("credentials") {
        credentials["resource"]["metadata"].as_object_mut().unwrap().remove("finalizers");
    }
    for object in answer["desired"]["resources"].as_object_mut().unwrap().values_mut() {
        let object = &mut object["resource"];
        object["apiVersion"].take();
        object["metadata"].as_object_mut().unwrap().remove("namespace");
        let spec = object["spec"].as_object_mut().unwrap();
        spec["providerConfigRef"].as_object_mut().unwrap().remove("kind");
        spec.remove("writeConnectionSecretToRef");
        for reference in spec.get_mut("references").and_then(Value::as_array_mut).into_iter().flatten() {
            reference["dependsOn"]["apiVersion"].take();
            reference["dependsOn"].as_object_mut().unwrap().remove("namespace");
        }
    }
    answer["desired"]["composite"]["resource"]["kind"].take();
    for list in ["conditions", "results"] {
        for one in answer[list].as_array_mut().unwrap() {
            one["target"].take();
            let words =
                one["message"].as_str().unwrap().replace(&format!("Secret {SECRET}"), "the claim's Secret");
            one["message"] = json!(words);
        }
    }
    answer
}

#[test]
fn every_example_has_the_same_answer_in_a_namespace() {
    let mut compared = 0;
    for (name, request) in examples::load_examples(now()) {
        let composite = request.observed.as_ref().unwrap().composite.as_ref().unwrap();
        let body = wire::to_value(&composite.resource).unwrap();
        let of_cluster = body["kind"] == "XTestPlatformCluster" && !body["spec"]["claimRef"].is_null();
        // Only a claim hands its cluster over.
        let hands_over = !body["metadata"]["annotations"][ours::HAND_OVER].is_null();
        let of_cluster = of_cluster && !hands_over;
        if !of_cluster || told_by_the_composite_alone(&request) || held_back(&request) {
            continue;
        }
        let of_claim = response_to_json(&run(&request, &Options::default(), now()));
        let twin = in_namespace(request);
        let of_cluster = response_to_json(&run(&twin, &Options::default(), now()));
        assert!(!of_cluster["desired"]["composite"].is_null(), "examples/{name}: {}", of_cluster["results"]);
        assert_eq!(of_cluster["desired"]["composite"]["connectionDetails"], json!({}), "examples/{name}");
        let plain = |answer| plainly_named(answer, body["metadata"]["name"].as_str().unwrap());
        assert_eq!(as_of_a_claim(plain(&of_cluster)), as_of_a_claim(plain(&of_claim)), "examples/{name}");
        compared += 1;
    }
    assert!(compared > 30, "only {compared} examples were compared");
}
