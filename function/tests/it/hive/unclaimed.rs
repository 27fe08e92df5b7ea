//! A claim that brings its own credentials ends while its cluster is being installed. Hive assigns only clusters that run, and lets go of a
//! ClusterClaim that has none at once: what costs money is the pool's alone then.

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::json;

use crate::hive::{is, tear_down};

const POOL: &str = "byoc-pool";

/// Asked for, and being installed.
fn installing() -> World {
    let mut world = World::byoc_pending();
    world.report_copies(true, "Carried", "Carried");
    world.settle();
    world.hive_installs();
    world.settle();
    assert!(world.installs && world.made == 1, "{:#?}", world.conditions);
    world
}

/// Nothing is left on the hub once Hive has destroyed the cluster.
fn goes(mut world: World, phase: &str) {
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), phase);
    is(&world, "ProwJobCompleted", "True", "TornDown");
    world.reconcile_objects();
    world.reconcile_objects();
    assert!(world.brought.is_empty(), "{:?}", world.brought.keys());
    assert!(!world.objects.keys().any(|name| name.starts_with("byoc")), "{:?}", world.objects.keys());
}

#[test]
fn installing_cluster_is_destroyed_before_teardown_completes() {
    let mut world = installing();
    tear_down(&mut world);
    assert!(world.remote.is_none(), "Hive keeps no claim without a cluster");
    assert_eq!(world.phase(), "Deprovisioning");
    is(&world, "ProwJobCompleted", "False", "TearingDown");
    let said = world.status["message"].as_str().unwrap();
    assert!(said.contains("waits until ClusterPool byoc-xr-uid/demo-x7k2p"), "{said}");
    // The Secrets stay as long as it needs them.
    assert!(world.has_part("byoc-namespace") && world.has_part("byoc-request"));
    assert!(world.brought[POOL]["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(world.objects[POOL].object["spec"]["managementPolicies"], json!(["Observe", "Delete"]));
    goes(world, "Deprovisioned");
}

#[test]
fn unclaimed_cluster_is_destroyed_at_the_provision_timeout() {
    let mut world = installing();
    world.advance_time(SignedDuration::from_hours(5));
    world.settle();
    is(&world, "ClusterReady", "False", "Failed");
    is(&world, "ProwJobCompleted", "False", "TearingDown");
    assert!(world.brought[POOL]["metadata"]["deletionTimestamp"].is_string());
    goes(world, "Failed");
}

#[test]
fn a_hub_that_is_away_is_waited_for() {
    let mut world = installing();
    tear_down(&mut world);
    world.reachable = false;
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    let said = world.status["message"].as_str().unwrap();
    assert!(said.contains("the hub cannot be reached: the connection is refused"), "{said}");
    world.reachable = true;
    goes(world, "Deprovisioned");
}

#[test]
fn unclaimed_cluster_survives_aborted_passes_and_restores() {
    let breaks: [fn(&mut World); 5] = [
        |world| world.breaks_off(POOL),
        World::applies_nothing,
        World::drop_status,
        |world| world.catalogue = None,
        // Somebody deletes its Object by hand, and the finalizer too.
        |world| {
            world.objects.remove(POOL);
            world.refs.remove(POOL);
        },
    ];
    for (which, breaks) in breaks.into_iter().enumerate() {
        // Each of them at every moment of the end.
        for passes in 0..8 {
            let mut world = installing();
            world.spec["tearDownCluster"] = json!(true);
            for _ in 0..passes {
                world.pass();
                world.reconcile_objects();
            }
            breaks(&mut world);
            world.settle();
            assert_eq!(world.phase(), "Deprovisioning", "{which} {passes}");
            assert!(world.brought[POOL]["metadata"]["deletionTimestamp"].is_string(), "{which} {passes}");
            goes(world, "Deprovisioned");
        }
    }
}

#[test]
fn bound_cluster_is_deleted_with_its_claim_before_the_pool() {
    let mut world = installing();
    world.hive_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    tear_down(&mut world);
    assert!(world.brought[POOL]["metadata"]["deletionTimestamp"].is_null(), "the claim goes first");
    goes(world, "Deprovisioned");
}

#[test]
fn completed_claim_stays_completed() {
    let mut world = installing();
    tear_down(&mut world);
    world.hive_is_done();
    world.settle();
    let before = world.status.clone();
    world.drop_status();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    is(&world, "ProwJobCompleted", "True", "TornDown");
    assert_eq!(before["phase"], world.status["phase"]);
}
