//! A pool with a cluster at hand gives it within seconds: steps on the way are not told, because each would cost core more than the whole way.

use function_model::world::{KUBECONFIG, World};
use jiff::SignedDuration;
use serde_json::json;

use super::is;

fn queued(supply: &str) -> World {
    let mut world = World::hive_claim();
    world.settle();
    world.advance_time(SignedDuration::from_secs(1));
    world.hive_queues(
        &json!({ "queue": { "position": 1, "depth": 1 }, "supply": supply, "pool": { "found": true } }),
    );
    world.settle();
    world
}

#[test]
fn two_transitions_lead_to_ready() {
    let mut world = queued("Resuming");
    let mut states = vec![];
    let steps: [fn(&mut World); 4] = [|_| {}, World::hive_assigns, World::hive_runs, World::hive_publishes];
    for step in steps {
        step(&mut world);
        world.settle();
        let conditions: Vec<_> = world.conditions.values().map(ToString::to_string).collect();
        states.push((world.phase(), conditions));
        world.advance_time(SignedDuration::from_secs(1));
    }
    states.dedup();
    let phases: Vec<&str> = states.iter().map(|(phase, _)| phase.as_str()).collect();
    assert_eq!(phases, ["Pending", "Provisioning", "Ready"]);
    // All is told once it is there.
    is(&world, "ClusterAssigned", "True", "Claimed");
    is(&world, "ClusterRunning", "True", "Running");
    is(&world, "CredentialsPublished", "True", "Published");
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    assert_eq!(world.status["version"], "4.20.3");
}

#[test]
fn provisioning_steps_are_reported_after_a_while() {
    let mut world = queued("Installing");
    is(&world, "ClusterAssigned", "Unknown", "AwaitingPool");
    assert_eq!(world.status["message"], "waiting for a cluster of pool hive-pools/aws-420");
    let ttl = world.pass().meta.unwrap().ttl.unwrap().seconds;
    assert!((1..=15).contains(&ttl), "{ttl}");
    world.advance_time(SignedDuration::from_secs(14));
    world.settle();
    is(&world, "ClusterAssigned", "False", "Installing");
    assert_eq!(world.status["queue"], json!({ "position": 1, "depth": 1 }));
}

#[test]
fn obstacles_are_reported_at_once() {
    for supply in ["CapacityBlocked", "PoolMisconfigured", "InventoryExhausted"] {
        let world = queued(supply);
        is(&world, "ClusterAssigned", "False", supply);
        assert_eq!(world.status["queue"]["position"], 1);
    }
}

/// The writer that ended the ClusterClaim goes, and another one watches its end: in between no remote object is seen, and nothing is taken back.
#[test]
fn teardown_repeats_no_step() {
    let mut world = queued("Immediate");
    world.hive_publishes();
    world.settle();
    is(&world, "ClusterAssigned", "True", "Claimed");
    let revision = |world: &World| {
        let credentials = world.objects.get("credentials")?;
        Some(credentials.object["metadata"]["annotations"]["testplatform.ci.openshift.org/credentials-revision"].clone())
    };
    let before = revision(&world).unwrap();
    world.spec["tearDownCluster"] = json!(true);
    let mut was_away = false;
    for _ in 0..8 {
        world.pass();
        let writer = |world: &World| {
            world
                .objects
                .get("claim")
                .map(|composed| composed.object["metadata"]["deletionTimestamp"].is_null())
        };
        was_away |= writer(&world) != Some(true);
        world.reconcile_objects();
        is(&world, "ClusterAssigned", "True", "Claimed");
        assert_eq!(revision(&world), Some(before.clone()));
    }
    assert!(was_away, "the writer was never away");
}
