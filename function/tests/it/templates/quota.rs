//! The tenant table governs all blocks, in the order of creation.

use function_model::{
    hive,
    templates::{build_peer, holding_status},
    world::World,
};
use serde_json::{Value, json};

fn limited(mut world: World, quota: &Value) -> World {
    let mut catalogue = hive::pool_catalogue();
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
    let mut world = limited(World::with_template("hosted"), &two);
    world.peers = vec![
        build_peer("one", "tenant-a", &holding_status(2)),
        build_peer("elsewhere", "tenant-b", &holding_status(2)),
    ];
    assert!(!waits(&mut world));
    world.peers.push(hive::build_peer(
        "pooled",
        "tenant-a",
        &hive::holding_status("hive-a-config", "aws-420"),
    ));
    assert!(waits(&mut world));
    assert!(
        world.refusal_message().contains("namespace tenant-a has used its quota of 2 clusters at a time")
    );
    // One that waits comes first only if it is older, and waits for quota alone.
    world.peers[2] = build_peer("two", "tenant-a", &refused("QuotaExceeded"));
    assert!(waits(&mut world));
    world.peers[2]["metadata"]["creationTimestamp"] = json!("2026-11-21T10:00:01Z");
    assert!(!waits(&mut world));
    world.peers[2] = build_peer("two", "tenant-a", &refused("InvalidParameter"));
    assert!(!waits(&mut world));
    // A cluster by template counts for pools as well.
    let mut world = limited(World::hive_claim(), &two);
    world.peers = vec![
        build_peer("one", "tenant-a", &holding_status(2)),
        build_peer("two", "tenant-a", &holding_status(2)),
    ];
    assert!(waits(&mut world));
    world.peers[1]["status"] = json!({ "phase": "Deprovisioned", "hub": { "name": "hub-1" },
        "conditions": [{ "type": "ProwJobCompleted", "status": "True", "reason": "TornDown" }] });
    assert!(!waits(&mut world));
}

#[test]
fn budget_counts_the_cost_of_templates() {
    let mut world = limited(World::with_template("hosted"), &json!({ "tenant": "*", "budget": 6 }));
    world.peers = vec![build_peer("one", "tenant-a", &holding_status(4))];
    assert!(!waits(&mut world));
    world.peers.push(hive::build_peer(
        "pooled",
        "tenant-a",
        &hive::holding_status("hive-a-config", "aws-420"),
    ));
    assert!(waits(&mut world));
    world.catalogue_entry("hosted")["cost"] = json!(1);
    assert!(!waits(&mut world));
    // Nobody waits for one that could never be paid.
    let mut world = limited(World::with_template("hosted"), &json!({ "tenant": "*", "budget": 3 }));
    let mut dear = build_peer("dear", "tenant-a", &refused("QuotaExceeded"));
    dear["status"]["template"]["cost"] = json!(9);
    world.peers = vec![dear];
    assert!(!waits(&mut world));
}

#[test]
fn an_administrators_composite_is_not_limited() {
    let mut world = limited(World::with_template("hosted"), &json!({ "tenant": "*", "maxConcurrent": 0 }));
    world.claim = false;
    assert!(!waits(&mut world));
    // Nor is anybody without a catalogue of pools.
    let mut world = World::with_template("hosted");
    assert!(!waits(&mut world));
}

/// Claims with ciOperator are governed where the Composition says so; otherwise their answers stay what they were.
#[test]
fn claims_with_ci_operator_are_governed_on_request() {
    let one = json!({ "tenant": "*", "maxConcurrent": 1 });
    let built = |status: Value| {
        let mut other = build_peer("built", "tenant-a", &status);
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
        let mut world = govern(World::with_template("hosted"));
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
