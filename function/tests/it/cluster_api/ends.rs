//! Teardown, and what is lost.

use function_model::world::World;
use rstest::rstest;
use serde_json::json;

use crate::cluster_api::{is, minutes};

#[test]
fn teardown_reports_its_step_and_leaves_nothing() {
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
        world.report_cluster_api(&[("Deleting", "True", reason, "")]);
        world.settle();
        assert_eq!(world.status["progress"]["step"], reason);
        assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    }
    // Cluster API says the same of a cluster whose workers are gone and of one that never was to have any.
    world.report_cluster_api(&[("WorkersAvailable", "True", "NoWorkers", "")]);
    world.settle();
    assert_eq!(world.condition("NodesReady"), is("False", "NotEnough"));
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
    let mut world = World::cluster_api_claim();
    world.spec["timeouts"] = json!({ "teardown": "1h" });
    world.settle();
    world.capi_installs();
    world.hypershift_publishes();
    world.settle();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.report_cluster_api(&[("Deleting", "True", reason, "")]);
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    world.report_cluster_api(&[("Deleting", "True", reason, message)]);
    world.advance_time(minutes(later));
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("False", "Blocked"));
    assert!(
        world.condition_message("TearDownComplete").contains(part),
        "{}",
        world.condition_message("TearDownComplete")
    );
    assert_eq!(world.phase(), "Deprovisioning", "it goes on all the same");
}

/// provider-kubernetes tries the manifest before it deletes, and deletes nothing that it could not apply.
#[rstest]
#[case::by_its_owner(true, |w: &mut World| w.spec["tearDownCluster"] = json!(true), "Deprovisioned")]
#[case::by_its_lifetime(true, |w: &mut World| { w.spec["lifetime"] = json!("1h"); w.advance_time(minutes(61)); }, "Deprovisioned")]
#[case::not_ready_in_time(false, |w: &mut World| w.advance_time(minutes(241)), "Failed")]
fn refused_change_does_not_block_teardown(
    #[case] ready: bool,
    #[case] end: fn(&mut World),
    #[case] phase: &str,
) {
    let mut world = if ready { World::topology_ready() } else { World::cluster_api_claim() };
    world.settle();
    world.fixed.insert("/topology/variables".into());
    world.spec["parameters"] = json!({ "sshKeyName": "team" });
    world.settle();
    assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
    end(&mut world);
    world.settle();
    let remote = world.remote.as_ref().unwrap();
    assert!(!remote["metadata"]["deletionTimestamp"].is_null(), "{:#?}", world.conditions);
    world.hive_is_done();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), (phase, 1));
    assert_eq!(world.condition("ProwJobCompleted").0, "True");
}

/// The webhook refuses every update of a Cluster whose class does not exist, one without a change too.
#[test]
fn deletion_that_the_hub_refuses_is_blocked_with_its_reason() {
    let mut world = World::cluster_api_claim();
    world.classes.missing.insert("openstack-v3".into());
    world.settle();
    assert!(world.remote.is_some(), "a hub without facts is believed to have the class");
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert_eq!(world.condition("TearDownComplete"), is("False", "Blocked"));
    let message = world.condition_message("TearDownComplete");
    for part in ["has to be deleted on the hub", "ClusterClass clusters/openstack-v3 not found"] {
        assert!(message.contains(part), "{message}");
    }
    // Somebody does that.
    world.remove_remote();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1));
}

/// The hub reports its cluster classes: nothing is made on one without that of the template.
#[test]
fn unknown_class_is_refused_before_anything_is_made() {
    let mut world = World::cluster_api_claim();
    world.report_cluster_classes(&["clusters/openstack-v9"]);
    world.settle();
    assert_eq!(world.phase(), "Pending");
    assert_eq!(world.condition("RequestAccepted"), is("False", "NoHubMatches"));
    let message = world.refusal_message();
    assert!(message.contains("hub-1: it has no ClusterClass clusters/openstack-v3"), "{message}");
    assert!(world.remote.is_none() && !world.objects.contains_key("topology"));
    world.report_cluster_classes(&["clusters/openstack-v9", "clusters/openstack-v3"]);
    world.settle();
    assert_eq!((world.condition("RequestAccepted").0.as_str(), world.made), ("True", 1));
}
