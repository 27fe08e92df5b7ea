//! Teardown, and what is lost.

use serde_json::json;

use crate::support::{hypershift::hub, world::World};
use crate::{is, level};

#[test]
fn nodes_go_before_the_cluster_and_nothing_is_left() {
    let mut world = World::hosted_ready();
    world.spec["tearDownCluster"] = json!(true);
    world.pass();
    assert_eq!(world.phase(), "Deprovisioning");
    assert!(!world.refs.contains("cluster") && !world.refs.contains("pool-workers"));
    // The Object of the HostedCluster waits for those that depend on it.
    world.pass();
    assert!(world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    world.settle();
    assert!(world.node_pools.is_empty());
    assert!(!world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(world.phase(), "Deprovisioning");
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(level(&world, "TearDownComplete"), is("True", "TornDown"));
    assert_eq!(world.made, 1);
}

#[test]
fn what_vanished_is_not_made_again() {
    let mut world = World::hosted_ready();
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
    assert!(world.node_pools.is_empty());
}

#[test]
fn what_another_made_is_not_taken_over() {
    let mut world = World::hosted();
    world.pass();
    world.remote = Some(json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
        "metadata": { "name": "demo-x7k2p", "namespace": "clusters", "uid": "somebody-elses", "annotations": {} },
        "spec": {}, "status": {},
    }));
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(level(&world, "RemoteConsistent"), is("False", "RemoteReplaced"));
    assert_eq!(world.policies(), json!(["Observe"]));
    assert!(world.node_pools.is_empty());
    assert!(world.status["backend"]["uid"].is_null());
}

#[test]
fn a_writer_that_is_lost_is_made_anew_to_look_and_finds_the_cluster() {
    let mut world = World::hosted_ready();
    world.drop_status();
    world.objects.remove("cluster");
    world.refs.remove("cluster");
    world.hubs = Some(vec![hub("hub-0")]);
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
    assert_eq!(world.status["hub"]["name"], "hub-1");
    assert_eq!(world.node_pools.len(), 1);
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

#[test]
fn a_claim_that_never_had_a_hub_just_ends() {
    let mut world = World::hosted();
    world.hubs = Some(vec![]);
    world.settle();
    assert_eq!(world.phase(), "Pending");
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 0));
    assert_eq!(level(&world, "ProwJobCompleted").1, "NothingToTearDown");
}
