//! Quotas and full hubs: who waits, and for whom.

use function_model::{
    hive::{build_peer, holding_status, pool_catalogue},
    world::World,
};
use jiff::SignedDuration;
use serde_json::json;

use crate::hive::{is, tear_down};

#[test]
fn quota_is_a_queue_in_the_order_of_creation() {
    let mut world = World::hive_claim();
    world.catalogue.as_mut().unwrap()["quotas"] = json!([{ "tenant": "*", "maxConcurrent": 2 }]);
    let waiting = json!({ "conditions": [{ "type": "RequestAccepted", "status": "False", "reason": "QuotaExceeded" }] });
    let mut younger = build_peer("younger", "tenant-a", &waiting);
    younger["metadata"]["creationTimestamp"] = json!("2026-11-21T10:00:01Z");
    let elsewhere = build_peer("elsewhere", "tenant-b", &holding_status("hive-a-config", "aws-420"));
    world.peers = vec![
        build_peer("one", "tenant-a", &holding_status("hive-a-config", "aws-420")),
        build_peer("two", "tenant-a", &waiting),
        younger,
        elsewhere,
    ];
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Pending", 0));
    is(&world, "RequestAccepted", "False", "QuotaExceeded");
    is(&world, "ClusterAssigned", "False", "QuotaExceeded");
    // The older one is refused for another reason, which does not stand in the way.
    world.peers[1]["status"]["conditions"][0]["reason"] = json!("PoolNotFound");
    world.settle();
    assert_eq!(world.made, 1);
    assert_eq!(world.events, ["QuotaExceeded", "RequestAccepted"]);
}

/// A composite of which no function ever says anything, as of one with a Composition that does not exist.
#[test]
fn claim_without_any_response_is_not_waited_for() {
    let mut world = World::hive_claim();
    world.catalogue.as_mut().unwrap()["hubs"][0]["maxClusters"] = json!(1);
    world.peers = vec![build_peer("mute", "tenant-b", &json!({}))];
    world.peers[0]["spec"]["clusterClaim"]["timeout"] = json!("1000h");
    world.settle();
    is(&world, "RequestAccepted", "False", "HubFull");
    // It was made an hour before, and its own timeout does not prolong it.
    world.advance_time(SignedDuration::from_hours(3));
    world.settle();
    assert_eq!(world.made, 1);
    // Nor is one whose last pass failed.
    let mut world = World::hive_claim();
    world.catalogue.as_mut().unwrap()["hubs"][0]["maxClusters"] = json!(1);
    let fatal = json!({ "phase": "Pending", "conditions": [{ "type": "RequestAccepted", "status": "Unknown", "reason": "FatalError" }] });
    world.peers = vec![build_peer("broken", "tenant-b", &fatal)];
    world.settle();
    assert_eq!(world.made, 1);
}

/// Until its end is proved, a claim holds its place.
#[test]
fn claim_in_teardown_counts_for_the_quota() {
    let mut leaving = World::hive_ready();
    tear_down(&mut leaving);
    let mut status = leaving.status.clone();
    status["conditions"] = leaving.conditions.values().cloned().collect();
    let mut world = World::hive_claim();
    world.catalogue.as_mut().unwrap()["hubs"][0]["maxClusters"] = json!(1);
    world.peers = vec![build_peer("leaving", "tenant-b", &status)];
    world.settle();
    is(&world, "RequestAccepted", "False", "HubFull");
    leaving.hive_is_done();
    leaving.settle();
    status = leaving.status.clone();
    status["conditions"] = leaving.conditions.values().cloned().collect();
    world.peers = vec![build_peer("leaving", "tenant-b", &status)];
    world.settle();
    assert_eq!(world.made, 1);
}

#[test]
fn a_claim_that_can_never_be_afforded_stops_no_other() {
    let mut world = World::hive_claim();
    let catalogue = world.catalogue.as_mut().unwrap();
    catalogue["pools"][1]["cost"] = json!(6);
    catalogue["quotas"] = json!([{ "tenant": "tenant-a", "budget": 5 }]);
    let waits = json!({ "conditions": [{ "type": "RequestAccepted", "status": "False", "reason": "QuotaExceeded" }] });
    let mut older = build_peer("older", "tenant-a", &waits);
    older["spec"]["clusterClaim"]["version"] = json!("4.19");
    world.peers = vec![older];
    world.settle();
    assert_eq!(world.made, 1);
}

#[test]
fn a_limit_that_cannot_be_read_is_not_no_limit() {
    let held = [
        json!([{ "tenant": "tenant-a", "maxConcurrent": "2" }]),
        json!([{ "tenant": "tenant-a", "maxconcurrent": 2 }]),
        json!([{ "tenant": 5, "maxConcurrent": 2 }]),
        json!([{ "tenant": "*", "budget": -1 }]),
        json!([{ "tenant": "tenant-a", "budget": -1 }, { "tenant": "*" }]),
    ];
    for quotas in held {
        let mut world = World::hive_claim();
        world.catalogue.as_mut().unwrap()["quotas"] = quotas.clone();
        world.settle();
        is(&world, "RequestAccepted", "False", "CatalogueInvalid");
        assert_eq!((world.phase().as_str(), world.made), ("Pending", 0), "{quotas}");
        world.catalogue.as_mut().unwrap()["quotas"] = json!([]);
        world.settle();
        assert_eq!(world.made, 1);
        // It never reaches what is there.
        world.catalogue.as_mut().unwrap()["quotas"] = quotas;
        world.settle();
        is(&world, "RequestAccepted", "True", "Accepted");
    }
    for quotas in [
        json!([{ "tenant": "tenant-b", "maxConcurrent": "2" }]),
        json!([{ "tenant": "*", "budget": -1 }, { "tenant": "tenant-a", "budget": 1 }]),
        json!([{ "tenant": "tenant-a", "budget": 1 }, { "tenant": "tenant-a", "budget": 2 }]),
    ] {
        let mut world = World::hive_claim();
        world.catalogue.as_mut().unwrap()["quotas"] = quotas.clone();
        world.settle();
        assert_eq!(world.made, 1, "{quotas}");
    }
}

#[test]
fn budget_counts_the_cost_of_clusters() {
    let mut world = World::hive_claim();
    let catalogue = world.catalogue.as_mut().unwrap();
    catalogue["pools"][0]["cost"] = json!(3);
    catalogue["quotas"] = json!([{ "tenant": "tenant-a", "budget": 5 }]);
    world.peers = vec![build_peer("one", "tenant-a", &holding_status("hive-a-config", "aws-420"))];
    world.settle();
    is(&world, "RequestAccepted", "False", "QuotaExceeded");
    // A completed cluster costs nothing.
    world.peers[0]["status"]["phase"] = json!("Deprovisioned");
    world.peers[0]["status"]["conditions"] =
        json!([{ "type": "ProwJobCompleted", "status": "True", "reason": "TornDown" }]);
    world.settle();
    assert_eq!(world.made, 1);
}

#[test]
fn full_hub_is_skipped_and_serves_the_oldest_claim() {
    let mut world = World::hive_claim();
    let mut second = pool_catalogue()["pools"][0].clone();
    second["hub"] = json!("hive-b");
    world.catalogue.as_mut().unwrap()["pools"].as_array_mut().unwrap().push(second);
    world.catalogue.as_mut().unwrap()["hubs"][0]["maxClusters"] = json!(1);
    world.peers = vec![build_peer("one", "tenant-b", &holding_status("hive-a-config", "aws-420"))];
    let mut full = world.clone();
    full.settle();
    assert_eq!(full.status["hub"], json!({ "name": "hive-b", "reason": "OnlyPoolWithRoom" }));

    world.catalogue.as_mut().unwrap()["hubs"][1]["cordon"] = json!(true);
    world.settle();
    is(&world, "RequestAccepted", "False", "HubFull");
    assert_eq!(world.status["hub"], json!({ "reason": "HubFull" }));
    // One place is free, and an older claim waits for it.
    world.peers[0]["status"] =
        json!({ "conditions": [{ "type": "RequestAccepted", "status": "False", "reason": "HubFull" }] });
    world.settle();
    assert_eq!(world.made, 0);
    world.peers.clear();
    world.settle();
    assert_eq!(world.made, 1);
}
