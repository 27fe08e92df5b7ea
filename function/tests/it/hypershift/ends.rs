//! Teardown, and what is lost.

use function_model::world::World;
use jiff::SignedDuration;
use rstest::rstest;
use serde_json::{Value, json};

use crate::hypershift::{asked, group, is, level, minutes};

#[test]
fn nodes_go_before_the_cluster_and_nothing_is_left() {
    let mut world = World::hosted_ready();
    world.spec["tearDownCluster"] = json!(true);
    world.pass_once();
    assert!(!world.refs.contains("cluster") && !world.refs.contains("pool-workers"));
    // The Object of the HostedCluster waits for those that depend on it.
    world.pass();
    assert_eq!(world.phase(), "Deprovisioning");
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
fn aborted_teardown_continues_after_the_cluster() {
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
    let mut world = World::hypershift_claim();
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
    let mut world = World::hypershift_claim();
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
    world.advance_time(SignedDuration::from_mins(61));
    world.settle();
    assert_eq!(level(&world, "TearDownComplete"), is("False", "Blocked"));
    let said = world.condition_message("TearDownComplete");
    assert!(said.contains("its nodes are deleted first"), "{said}");
    assert!(world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    world.nodes_stay = false;
    world.settle();
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

/// A hub that was restored has another HostedCluster under the name, and its NodePools with it.
#[test]
fn nodes_of_a_foreign_cluster_are_released() {
    for torn_down in [false, true] {
        let mut world = World::hosted_ready();
        world.remote.as_mut().unwrap()["metadata"]["uid"] = json!("somebody-elses");
        world.reconcile_objects();
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

/// A change of the claim that the catalogue allows, and the hub refuses.
fn change(world: &mut World) {
    world.fixed.insert("/channel".into());
    world.spec["parameters"] = json!({ "channel": "fast" });
}

/// The same of a group of nodes.
fn change_nodes(world: &mut World) {
    world.fixed_of_pools.insert("/nodeDrainTimeout".into());
    world.spec["nodeGroups"] =
        json!([group("workers", &json!({ "count": 2, "parameters": { "drain": "1m" } }))]);
}

#[track_caller]
fn is_ended(world: &mut World, phase: &str) {
    world.settle();
    assert!(world.node_pools.is_empty(), "nodes run on: {:#?}", world.conditions);
    let remote = world.remote.as_ref().unwrap();
    assert!(
        !remote["metadata"]["deletionTimestamp"].is_null(),
        "the hub is not told: {:#?}",
        world.conditions
    );
    world.hive_is_done();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), (phase, 1));
    assert_eq!(level(world, "ProwJobCompleted").0, "True");
}

/// provider-kubernetes tries the manifest before it deletes, and deletes nothing that it could not apply.
#[rstest]
#[case::by_its_owner(change, |w: &mut World| w.spec["tearDownCluster"] = json!(true))]
#[case::by_its_lifetime(change, |w: &mut World| w.advance_time(minutes(121)))]
#[case::by_hand(change, |w: &mut World| {
    w.objects.get_mut("cluster").unwrap().object["metadata"]["deletionTimestamp"] = json!(w.now);
})]
#[case::in_a_pass_that_broke_off(change, |w: &mut World| {
    w.spec["tearDownCluster"] = json!(true);
    w.applies_nothing();
})]
#[case::with_nodes_that_were_changed(change_nodes, |w: &mut World| w.spec["tearDownCluster"] = json!(true))]
#[case::with_nodes_by_hand(change_nodes, |w: &mut World| {
    w.objects.get_mut("cluster").unwrap().object["metadata"]["deletionTimestamp"] = json!(w.now);
})]
fn refused_change_does_not_block_teardown(#[case] change: fn(&mut World), #[case] end: fn(&mut World)) {
    let mut world = World::hosted_ready();
    change(&mut world);
    world.settle();
    assert_eq!(level(&world, "SpecApplied"), is("False", "Rejected"));
    end(&mut world);
    is_ended(&mut world, "Deprovisioned");
}

/// Nor does what it was never asked about, because nobody looked in between or it could not be reached.
#[test]
fn unanswered_change_does_not_block_teardown() {
    for (refused, reachable) in [(false, true), (false, false), (true, false)] {
        let mut world = World::hosted_ready();
        if refused {
            change(&mut world);
            change_nodes(&mut world);
            world.settle();
        }
        world.reachable = reachable;
        change(&mut world);
        change_nodes(&mut world);
        world.pass();
        world.spec["tearDownCluster"] = json!(true);
        world.settle();
        world.reachable = true;
        is_ended(&mut world, "Deprovisioned");
    }
}

/// Core takes away with the manifest that an Object has. So the one that the hub takes comes first, and changes nothing there.
#[test]
fn refused_change_is_rolled_back_before_teardown() {
    let mut world = World::hosted_ready();
    change(&mut world);
    world.settle();
    assert_eq!(asked(&world)["spec"]["channel"], "fast");
    let uid = world.remote.as_ref().unwrap()["metadata"]["uid"].clone();
    world.spec["tearDownCluster"] = json!(true);
    world.pass();
    assert_eq!(world.phase(), "Deprovisioning");
    assert!(world.refs.contains("cluster") && world.refs.contains("pool-workers"));
    assert_eq!(world.management_policies(), json!(["Observe", "Delete"]));
    assert_eq!(asked(&world)["spec"], world.remote.as_ref().unwrap()["spec"]);
    assert_eq!(asked(&world)["metadata"]["uid"], uid);
    world.reconcile_objects();
    world.pass_once();
    assert!(!world.refs.contains("cluster") && !world.refs.contains("pool-workers"));
    world.pass();
    // It was never applied.
    assert_eq!(level(&world, "SpecApplied"), is("False", "Applying"));
    is_ended(&mut world, "Deprovisioned");
}

#[test]
fn timed_out_claim_ends_despite_a_refused_change() {
    let mut world = World::hypershift_claim();
    world.settle();
    change(&mut world);
    change_nodes(&mut world);
    world.settle();
    world.advance_time(minutes(91));
    world.settle();
    assert_eq!(world.phase(), "Failed");
    is_ended(&mut world, "Failed");
}

/// A reason that keeps an Object from going keeps the HostedCluster, too.
#[test]
fn a_group_whose_last_change_the_hub_refuses_can_be_removed() {
    let mut world = World::hosted_ready();
    change_nodes(&mut world);
    world.settle();
    assert_eq!(level(&world, "SpecApplied"), is("False", "Rejected"));
    world.spec["nodeGroups"] = json!([group("others", &json!({ "count": 1 }))]);
    world.settle();
    let left: Vec<&Value> = world.node_pools.values().map(|pool| &pool["spec"]["replicas"]).collect();
    assert_eq!(left, [&json!(1)]);
    assert!(!world.objects.contains_key("pool-workers"));
}
