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
