//! How large a claim may be: what is too large is refused by its size before anything is made, and changes nothing of a cluster that is there.

use function_model::world::World;
use jiff::SignedDuration;
use rstest::rstest;
use serde_json::{Value, json};

use crate::templates::depth::{answer, request};

fn labels() -> Value {
    let pairs = (0..32).map(|i| (format!("label-{i}"), json!("x".repeat(400))));
    Value::Object(pairs.collect())
}

fn pooled() -> World {
    World { spec: json!({ "clusterClaim": { "version": "4.20" } }), ..World::hive_claim() }
}

#[rstest]
#[case::ci_operator(World::default(), "/spec/ciOperator/note", json!("x".repeat(600_000)), "spec.ciOperator: has 600")]
#[case::escaped(World::default(), "/spec/ciOperator/note", json!("<".repeat(100_000)), "spec.ciOperator: has 600")]
#[case::parameters(World::hypershift_claim(), "/spec/parameters", json!({ "a": "x".repeat(600_000) }), "spec.parameters: has 600")]
#[case::node_groups(
    World::hypershift_claim(), "/spec/nodeGroups",
    json!([{ "name": "a", "count": 1, "parameters": { "a": "x".repeat(600_000) } }]), "spec.nodeGroups: has 600"
)]
#[case::cluster_claim(pooled(), "/spec/clusterClaim/labels", labels(), "spec.clusterClaim: has 1")]
fn a_new_claim_that_is_too_large_is_refused(
    #[case] world: World,
    #[case] pointer: &str,
    #[case] large: Value,
    #[case] expected: &str,
) {
    let (phase, message) = answer(&request(&world, pointer, &large), &world);
    assert_eq!(phase, "Failed", "{message}");
    assert!(message.contains(expected) && message.contains("make it shorter"), "{message}");
    assert!(message.len() < 1000, "{} bytes", message.len());
}

#[rstest]
#[case::ci_operator(World::ready(), "/spec/ciOperator/note", json!("x".repeat(600_000)))]
#[case::parameters(World::hosted_ready(), "/spec/parameters", json!({ "a": "x".repeat(600_000) }))]
#[case::cluster_claim(World::hive_ready(), "/spec/clusterClaim/labels", labels())]
fn oversized_claim_keeps_its_cluster(#[case] mut world: World, #[case] pointer: &str, #[case] large: Value) {
    world.spec["lifetime"] = json!("2h");
    world.settle();
    assert_eq!(answer(&request(&world, pointer, &large), &world).0, "Ready");
    world.advance_time(SignedDuration::from_hours(3));
    assert_eq!(answer(&request(&world, pointer, &large), &world).0, "Deprovisioning");
}

#[test]
fn an_object_that_never_reports_is_noticed() {
    let mut world = World::default();
    let consistent = |world: &World| {
        let condition = &world.conditions["RemoteConsistent"];
        (condition["status"].clone(), condition["reason"].clone())
    };
    world.settle();
    world.advance_time(SignedDuration::from_secs(15));
    world.settle();
    assert_eq!(consistent(&world), (json!("True"), json!("InSync")));
    let synced = json!({ "type": "Synced", "status": "True", "reason": "ReconcileSuccess", "lastTransitionTime": world.now });
    world.objects.get_mut("ec").unwrap().object["status"] = json!({ "conditions": [synced] });
    world.advance_time(SignedDuration::from_mins(10));
    world.pass();
    assert_eq!(consistent(&world), (json!("True"), json!("InSync")), "it may be about to");
    world.advance_time(SignedDuration::from_mins(10));
    world.pass();
    assert_eq!(consistent(&world), (json!("False"), json!("Unreadable")));
    let expected = world.conditions["RemoteConsistent"]["message"].as_str().unwrap();
    assert!(expected.contains("Object managed-demo-x7k2p does not report its state"), "{expected}");
}
