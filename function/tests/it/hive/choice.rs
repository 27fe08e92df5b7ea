//! Which pool a claim gets.

use function_model::{hive::build_peer, world::World};
use serde_json::json;

use crate::hive::is;

#[test]
fn the_choice_is_made_once() {
    let changes: [fn(&mut World); 4] = [
        |w| w.catalogue = None,
        |w| w.catalogue = Some(json!({ "pools": "broken" })),
        |w| w.catalogue.as_mut().unwrap()["hubs"][0]["cordon"] = json!(true),
        |w| w.catalogue.as_mut().unwrap()["pools"][0]["maxLifetime"] = json!("1m"),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut world = World::hive_ready();
        let before = (world.objects["claim"].object["spec"].clone(), world.status.clone());
        change(&mut world);
        world.drop_status();
        world.settle();
        let mut after = (world.objects["claim"].object["spec"].clone(), world.status.clone());
        assert_eq!(after.1["hub"]["name"], "hive-a-config");
        after.1["hub"] = before.1["hub"].clone();
        assert_eq!(after, before, "change {i}");
    }
}

#[test]
fn a_pool_of_no_weight_is_given_by_its_name_only() {
    let mut world = World::hive_claim();
    let catalogue = world.catalogue.as_mut().unwrap();
    catalogue["pools"][0]["weight"] = json!(0);
    catalogue["hubs"][0]["maxClusters"] = json!(1);
    let mut unnamed = world.clone();
    unnamed.settle();
    is(&unnamed, "RequestAccepted", "False", "PoolNotFound");
    let message = unnamed.conditions["RequestAccepted"]["message"].as_str().unwrap();
    assert!(message.contains("spec.clusterClaim.pool.name aws-420"), "{message}");
    // One that waits for what it can never get takes no place from one that names it.
    let full =
        json!({ "conditions": [{ "type": "RequestAccepted", "status": "False", "reason": "HubFull" }] });
    world.peers = vec![build_peer("unnamed", "tenant-b", &full)];
    world.spec["clusterClaim"] = json!({ "pool": { "name": "aws-420" } });
    world.settle();
    assert_eq!(world.made, 1);
    // And multi falls back.
    let mut world = World::hive_claim();
    let pools = world.catalogue.as_mut().unwrap()["pools"].as_array_mut().unwrap();
    let mut multi = pools[0].clone();
    multi["name"] = json!("multi");
    multi["labels"]["architecture"] = json!("multi");
    multi["weight"] = json!(0);
    pools.push(multi);
    world.spec["clusterClaim"]["architecture"] = json!("multi");
    world.settle();
    assert_eq!(world.status["backend"]["pool"], "aws-420");
}

#[test]
fn multi_architecture_falls_back_to_amd64() {
    let mut world = World::hive_claim();
    world.spec["clusterClaim"] =
        json!({ "version": "4.20", "architecture": "multi", "cloud": "aws", "labels": {} });
    world.settle();
    assert_eq!(world.made, 1);
    let mut world = World::hive_claim();
    let pool = &mut world.catalogue.as_mut().unwrap()["pools"][1];
    pool["labels"] = json!({ "product": "okd", "architecture": "arm64" });
    pool["weight"] = json!(0);
    world.spec["clusterClaim"] = json!({ "pool": { "name": "aws-419" } });
    world.settle();
    assert_eq!(world.status["hub"], json!({ "name": "hive-b", "reason": "PoolNamed" }));
}

#[test]
fn a_broken_entry_hurts_no_other() {
    let mut world = World::hive_claim();
    let catalogue = world.catalogue.as_mut().unwrap();
    let pools = catalogue["pools"].as_array_mut().unwrap();
    for (field, value) in [
        ("hub", json!("nowhere")),
        ("maxLifetime", json!("soon")),
        ("subject", json!(null)),
        ("allowedTenants", json!(null)),
        ("weight", json!(101)),
        ("name", json!("Not A Name")),
    ] {
        let mut broken = pools[0].clone();
        broken["namespace"] = json!("elsewhere");
        broken[field] = value;
        pools.insert(0, broken);
    }
    let twice = pools.last().unwrap().clone();
    pools.push(twice);
    world.settle();
    assert_eq!(world.made, 1);
    assert_eq!(world.status["backend"]["namespace"], "hive-pools");
}

#[test]
fn an_administrators_composite_may_use_any_pool() {
    let mut world = World { claim: false, ..World::hive_claim() };
    world.catalogue.as_mut().unwrap()["quotas"] = json!([{ "tenant": "*", "maxConcurrent": 0 }]);
    world.settle();
    assert_eq!(world.made, 1);
    is(&world, "RequestAccepted", "True", "NoTenant");
}
