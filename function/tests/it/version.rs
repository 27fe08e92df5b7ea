//! An answer is for the version of the composite that was observed: core applies its status together with conditions of its cached copy,
//! and where that copy is behind, the API server refuses both.

use function_model::{encode_struct, examples, world::World};
use serde_json::{Value, json};
use testplatform_composites::{
    Options, run,
    sdk::{proto::Severity, wire},
};

/// Claims, TestClusters, pools and spaces.
#[test]
fn status_requires_the_observed_version() {
    let now = "2026-11-21T10:30:00Z".parse().unwrap();
    let mut answered = 0;
    for (name, mut request) in examples::load_examples(now) {
        for version in [Value::Null, json!("4711")] {
            let composite = request.observed.as_mut().unwrap().composite.as_mut().unwrap();
            let mut body = wire::to_value(&composite.resource).unwrap();
            body["metadata"]["resourceVersion"] = version.clone();
            composite.resource = encode_struct(&body);
            let answer = run(&request, &Options::default(), now);
            if answer.results.iter().any(|result| result.severity == i32::from(Severity::Fatal)) {
                continue;
            }
            let composite = answer.desired.unwrap().composite.unwrap();
            let body = wire::to_value(&composite.resource).unwrap();
            assert_eq!(body["metadata"]["resourceVersion"], version, "{name}");
            answered += 1;
        }
    }
    assert!(answered > 100, "{answered}");
}

/// provider-kubernetes writes none of these by itself then: each write of an Object wakes core.
#[test]
fn new_objects_have_the_fields_that_provider_kubernetes_adds() {
    let mut world = World::default();
    world.settle();
    for (name, composed) in &world.objects {
        let metadata = &composed.object["metadata"];
        assert_eq!(metadata["annotations"]["crossplane.io/external-name"], metadata["name"], "{name}");
    }
    let credentials = |world: &World| world.objects["credentials"].object.clone();
    assert_eq!(credentials(&world)["spec"]["readiness"]["policy"], "SuccessfulCreate");
    // One that is paused could not be deleted any more.
    assert_eq!(credentials(&world)["metadata"]["finalizers"], Value::Null);
    world.hub_ready();
    world.settle();
    let finalizers = json!(["finalizer.managedresource.crossplane.io"]);
    assert_eq!(credentials(&world)["metadata"]["finalizers"], finalizers);
    // There it tells that the tenant's Secret was written.
    let mut world = World::default().in_namespace();
    world.settle();
    world.hub_ready();
    world.pass();
    assert_eq!(credentials(&world)["metadata"]["finalizers"], Value::Null);
}
