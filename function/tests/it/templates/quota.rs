//! The tenant table governs all blocks, in the order of creation.

use function_model::{
    hive,
    templates::{holding, peer},
    world::World,
};
use serde_json::{Value, json};

fn limited(mut world: World, quota: &Value) -> World {
    let mut catalogue = hive::catalogue();
    catalogue["quotas"] = json!([quota]);
    world.catalogue = Some(catalogue);
    world
}

fn waits(world: &mut World) -> bool {
    world.settle();
    world.condition("RequestAccepted").1 == "QuotaExceeded"
}

fn refused(reason: &str) -> Value {
    json!({ "phase": "Pending", "template": { "name": "hosted", "cost": 2 },
        "conditions": [{ "type": "RequestAccepted", "status": "False", "reason": reason }] })
}

#[test]
fn clusters_of_every_block_count_and_the_older_claim_comes_first() {
    let two = json!({ "tenant": "tenant-a", "maxConcurrent": 2 });
    let mut world = limited(World::templated("hosted"), &two);
    world.peers = vec![peer("one", "tenant-a", &holding(2)), peer("elsewhere", "tenant-b", &holding(2))];
    assert!(!waits(&mut world));
    world.peers.push(hive::peer("pooled", "tenant-a", &hive::holding("hive-a-config", "aws-420")));
    assert!(waits(&mut world));
    assert!(
        world.refusal().contains("namespace tenant-a may have 2 clusters at a time, and all of it is taken")
    );
    // One that waits comes first only if it is older, and waits for quota alone.
    world.peers[2] = peer("two", "tenant-a", &refused("QuotaExceeded"));
    assert!(waits(&mut world));
    world.peers[2]["metadata"]["creationTimestamp"] = json!("2026-11-21T10:00:01Z");
    assert!(!waits(&mut world));
    world.peers[2] = peer("two", "tenant-a", &refused("InvalidParameter"));
    assert!(!waits(&mut world));
    // A cluster by template counts for pools as well.
    let mut world = limited(World::hive(), &two);
    world.peers = vec![peer("one", "tenant-a", &holding(2)), peer("two", "tenant-a", &holding(2))];
    assert!(waits(&mut world));
    world.peers[1]["status"] = json!({ "phase": "Deprovisioned", "hub": { "name": "hub-1" },
        "conditions": [{ "type": "ProwJobCompleted", "status": "True", "reason": "TornDown" }] });
    assert!(!waits(&mut world));
}

#[test]
fn a_budget_counts_what_templates_cost() {
    let mut world = limited(World::templated("hosted"), &json!({ "tenant": "*", "budget": 6 }));
    world.peers = vec![peer("one", "tenant-a", &holding(4))];
    assert!(!waits(&mut world));
    world.peers.push(hive::peer("pooled", "tenant-a", &hive::holding("hive-a-config", "aws-420")));
    assert!(waits(&mut world));
    world.entry("hosted")["cost"] = json!(1);
    assert!(!waits(&mut world));
    // Nobody waits for one that could never be paid.
    let mut world = limited(World::templated("hosted"), &json!({ "tenant": "*", "budget": 3 }));
    let mut dear = peer("dear", "tenant-a", &refused("QuotaExceeded"));
    dear["status"]["template"]["cost"] = json!(9);
    world.peers = vec![dear];
    assert!(!waits(&mut world));
}

#[test]
fn an_administrators_composite_is_not_limited() {
    let mut world = limited(World::templated("hosted"), &json!({ "tenant": "*", "maxConcurrent": 0 }));
    world.claim = false;
    assert!(!waits(&mut world));
    // Nor is anybody without a catalogue of pools.
    let mut world = World::templated("hosted");
    assert!(!waits(&mut world));
}

/// Claims with ciOperator are governed where the Composition says so; otherwise their answers stay what they were.
#[test]
fn claims_with_ci_operator_are_governed_on_request() {
    let one = json!({ "tenant": "*", "maxConcurrent": 1 });
    let built = |status: Value| {
        let mut other = peer("built", "tenant-a", &status);
        other["spec"] = json!({ "ciOperator": {}, "claimRef": { "name": "x", "namespace": "tenant-a" } });
        other
    };
    let running =
        json!({ "phase": "Provisioning", "hub": { "name": "h" }, "backend": { "kind": "EphemeralCluster" } });
    for governed in [false, true] {
        let govern = |mut world: World| {
            if governed {
                world.input["quotasForCiOperator"] = json!(true);
            }
            limited(world, &one)
        };
        let mut world = govern(World::default());
        world.peers = vec![built(running.clone())];
        assert_eq!(waits(&mut world), governed);
        assert_eq!(world.made, usize::from(!governed));
        let mut world = govern(World::templated("hosted"));
        world.peers = vec![built(running.clone())];
        assert_eq!(waits(&mut world), governed);
        // One that is held for another reason holds nothing.
        let held = json!({ "phase": "Pending", "hub": { "name": "h" }, "backend": { "kind": "EphemeralCluster" },
            "conditions": [{ "type": "RequestAccepted", "status": "False", "reason": "EnvironmentConfigMissing" }] });
        world.peers = vec![built(held)];
        assert!(!waits(&mut world));
    }
    // Once asked for, it stays.
    let mut world = limited(World::default(), &one);
    world.input["quotasForCiOperator"] = json!(true);
    world.settle();
    assert_eq!(world.made, 1);
    world.peers = vec![built(running)];
    world.settle();
    assert_eq!(world.condition("RequestAccepted"), ("True".into(), "Accepted".into()));
}
