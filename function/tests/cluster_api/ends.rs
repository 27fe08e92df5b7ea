//! Teardown, and what is lost.

use rstest::rstest;
use serde_json::json;

use crate::support::{cluster_api::hub, world::World};
use crate::{asked, is, minutes, topology};

#[test]
fn a_teardown_says_what_it_waits_for_and_nothing_is_left() {
    let mut world = World::topology_ready();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert!(!world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    for reason in [
        "WaitingForBeforeDeleteHook",
        "WaitingForWorkersDeletion",
        "WaitingForControlPlaneDeletion",
        "WaitingForInfrastructureDeletion",
    ] {
        world.capi_says(&[("Deleting", "True", reason, "")]);
        world.settle();
        assert_eq!(world.status["progress"]["step"], reason);
        assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    }
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(world.condition("TearDownComplete"), is("True", "TornDown"));
    assert_eq!(world.made, 1);
}

/// Who keeps a teardown from coming about is told: by the cloud, or by the clock.
#[rstest]
#[case("WaitingForInfrastructureDeletion", "Authentication failed", 0, "Authentication failed")]
#[case("WaitingForWorkersDeletion", "2 machines are left", 61, "2 machines are left")]
fn a_teardown_that_does_not_come_about_is_blocked(
    #[case] reason: &str,
    #[case] message: &str,
    #[case] later: i64,
    #[case] part: &str,
) {
    let mut world = World::topology();
    world.spec["timeouts"] = json!({ "teardown": "1h" });
    world.settle();
    world.capi_installs();
    world.hypershift_publishes();
    world.settle();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.capi_says(&[("Deleting", "True", reason, "")]);
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    world.capi_says(&[("Deleting", "True", reason, message)]);
    world.later(minutes(later));
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("False", "Blocked"));
    assert!(world.said("TearDownComplete").contains(part), "{}", world.said("TearDownComplete"));
    assert_eq!(world.phase(), "Deprovisioning", "it goes on all the same");
}

#[test]
fn what_vanished_is_not_made_again() {
    let mut world = World::topology_ready();
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
}

#[test]
fn what_another_made_is_not_taken_over() {
    let mut world = World::topology();
    world.pass();
    world.remote = Some(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": { "name": "demo-x7k2p", "namespace": "clusters", "uid": "somebody-elses", "annotations": {} },
        "spec": {}, "status": {},
    }));
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(world.condition("RemoteConsistent"), is("False", "RemoteReplaced"));
    assert_eq!(world.policies(), json!(["Observe"]));
    assert!(world.status["backend"]["uid"].is_null());
}

#[test]
fn a_writer_that_is_lost_is_made_anew_to_look_and_finds_the_cluster() {
    let mut world = World::topology_ready();
    let before = topology(&world).clone();
    world.drop_status();
    world.objects.remove("topology");
    world.refs.remove("topology");
    world.hubs = Some(vec![hub("hub-0")]);
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
    assert_eq!(world.status["hub"]["name"], "hub-1");
    assert_eq!(topology(&world), &before);
    assert!(asked(&world)["spec"]["controlPlaneEndpoint"].is_null(), "what controllers write stays theirs");
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

#[test]
fn a_hub_that_makes_no_such_clusters_is_not_chosen() {
    let mut world = World::topology();
    world.hubs = Some(vec![crate::support::hypershift::hub("hub-1")]);
    world.settle();
    assert_eq!(world.phase(), "Pending");
    assert!(world.refusal().contains("it makes no clusters with cluster-api"), "{}", world.refusal());
}
