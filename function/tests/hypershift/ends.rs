//! Teardown, and what is lost.

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::json;

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

/// Core takes away, in any order, what is not desired any more, before it does anything else; a conflict ends the pass. So does whoever
/// deletes the Object by hand.
#[test]
fn an_end_that_broke_off_after_the_cluster_goes_on() {
    for by_hand in [false, true] {
        let mut world = World::hosted_ready();
        world.spec["tearDownCluster"] = json!(!by_hand);
        if by_hand {
            world.objects.get_mut("cluster").unwrap().object["metadata"]["deletionTimestamp"] =
                json!(world.now);
        } else {
            world.breaks_off("cluster");
        }
        assert!(world.refs.contains("pool-workers"), "the nodes are not told to go");
        world.settle();
        assert!(world.node_pools.is_empty(), "by hand: {by_hand}");
        assert!(!world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
        world.hive_is_done();
        world.settle();
        assert_eq!(world.phase(), "Deprovisioned");
    }
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

/// The HostedCluster is not told to end before its nodes are gone.
#[test]
fn nodes_that_do_not_go_block_the_teardown() {
    let mut world = World::hosted();
    world.spec["timeouts"] = json!({ "teardown": "1h" });
    world.settle();
    world.hypershift_installs();
    world.hypershift_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    world.nodes_stay = true;
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(level(&world, "TearDownComplete"), is("False", "InProgress"));
    world.later(SignedDuration::from_mins(61));
    world.settle();
    assert_eq!(level(&world, "TearDownComplete"), is("False", "Blocked"));
    let said = world.said("TearDownComplete");
    assert!(said.contains("its nodes go first"), "{said}");
    assert!(world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    world.nodes_stay = false;
    world.settle();
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

/// A hub that was restored has another HostedCluster under the name, and its NodePools with it.
#[test]
fn nodes_of_a_cluster_that_is_somebody_elses_by_now_are_let_go_of() {
    for torn_down in [false, true] {
        let mut world = World::hosted_ready();
        world.remote.as_mut().unwrap()["metadata"]["uid"] = json!("somebody-elses");
        world.provider();
        // The end may be asked for in the very pass that sees it.
        world.spec["tearDownCluster"] = json!(torn_down);
        world.pass();
        assert_eq!(world.objects["pool-workers"].object["spec"]["managementPolicies"], json!(["Observe"]));
        world.settle();
        assert_eq!((world.phase().as_str(), world.node_pools.len()), ("Failed", 1));
        assert_eq!(level(&world, "ProwJobCompleted"), is("True", "RemoteReplaced"));
        assert!(!world.objects.contains_key("pool-workers"), "it is not kept");
        assert!(world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    }
}
