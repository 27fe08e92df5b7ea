//! One event at each phase of a cluster: its remote object is replaced or deleted, its claim is deleted, its teardown is requested.

use function_model::world::World;
use jiff::SignedDuration;
use rstest::rstest;
use serde_json::json;

use super::{is, pair};

/// The remote object exists, and the hub has not taken it up.
fn requested() -> World {
    let mut world = World::default();
    world.settle();
    assert!(world.is_pinned());
    world
}

fn provisioning() -> World {
    let mut world = requested();
    world.report_phase("Provisioning", &[]);
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world
}

fn deprovisioning() -> World {
    let mut world = World::ready();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    hub_deprovisions(&mut world);
    world
}

fn deprovisioned() -> World {
    let mut world = deprovisioning();
    world.hub_done("Deprovisioned");
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    world
}

fn failed() -> World {
    let mut world = provisioning();
    world.hub_done("Failed");
    world.settle();
    assert_eq!(world.phase(), "Failed");
    world
}

fn hub_deprovisions(world: &mut World) {
    world.report_phase(
        "Deprovisioning",
        &[("ClusterReady", "True", "", ""), ("TestCompleted", "True", "", "")],
    );
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
}

/// Core deletes the Objects of a deleted composite, and does not call the function.
fn delete_claim(world: &mut World) {
    world.objects.get_mut("ec").unwrap().object["metadata"]["deletionTimestamp"] = json!(world.now);
    world.reconcile_objects();
    assert!(!world.objects.contains_key("ec"));
}

#[rstest]
#[case::requested(requested())]
#[case::provisioning(provisioning())]
#[case::ready(World::ready())]
#[case::deprovisioning(deprovisioning())]
fn a_replaced_remote_object_is_neither_changed_nor_deleted(#[case] mut world: World) {
    let theirs = world.remote.as_mut().unwrap();
    theirs["metadata"]["uid"] = json!("somebody-elses");
    theirs["spec"]["tearDownCluster"] = json!(false);
    let theirs = world.remote.clone();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
    assert_eq!(is(&world, "RemoteConsistent"), pair("False", "RemoteReplaced"));
    assert_eq!(is(&world, "ClusterReady"), pair("False", "Failed"));
    assert_eq!(world.management_policies(), json!(["Observe"]));
    delete_claim(&mut world);
    assert_eq!(world.remote, theirs);
}

#[rstest]
#[case::provisioning(provisioning())]
#[case::ready(World::ready())]
fn a_bound_remote_object_that_is_deleted_is_a_lost_cluster(#[case] mut world: World) {
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
    assert_eq!(is(&world, "RemoteConsistent"), pair("False", "RemoteDeleted"));
    assert_eq!(is(&world, "ClusterReady"), pair("False", "Failed"));
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "RemoteDeleted"));
    assert_eq!(world.management_policies(), json!(["Observe", "Delete"]));
    assert!(world.tenant.values().all(String::is_empty), "{:?}", world.tenant);
}

#[test]
fn remote_object_deleted_during_teardown_is_torn_down() {
    let mut world = deprovisioning();
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1));
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "TornDown"));
    assert_eq!(is(&world, "ClusterReady"), pair("False", "Deprovisioned"));
    assert_eq!(world.management_policies(), json!(["Observe", "Delete"]));
    assert!(world.tenant.values().all(String::is_empty), "{:?}", world.tenant);
}

/// provider-kubernetes deletes the remote object where the Object may delete.
#[rstest]
#[case::requested(requested())]
#[case::provisioning(provisioning())]
#[case::ready(World::ready())]
#[case::deprovisioning(deprovisioning())]
#[case::deprovisioned(deprovisioned())]
#[case::failed(failed())]
fn a_deleted_claim_deletes_its_remote_object(#[case] mut world: World) {
    let policies = world.management_policies();
    let may_delete = |policy| policies.as_array().unwrap().contains(&json!(policy));
    assert!(may_delete("*") || may_delete("Delete"), "{policies}");
    delete_claim(&mut world);
    assert_eq!(world.remote, None);
}

#[test]
fn teardown_of_an_unstarted_object_completes() {
    let mut world = requested();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert_eq!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true);
    assert_eq!(is(&world, "ProwJobCompleted").0, "False");
    world.hub_done("Deprovisioned");
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "ProwJobCompleted"));
}

/// A job ends by itself when its own time is over.
#[test]
fn a_teardown_is_requested_also_where_the_hub_has_begun_it() {
    let mut world = World::ready();
    hub_deprovisions(&mut world);
    assert_ne!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true);
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert_eq!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true);
    world.hub_done("Deprovisioned");
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "ProwJobCompleted"));
    assert!(world.tenant.values().all(String::is_empty), "{:?}", world.tenant);
}

#[test]
fn a_teardown_changes_nothing_of_a_failed_job() {
    let mut world = failed();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "ProwJobFailure"));
}

/// Konflux's deprovision task succeeds by the reason alone.
#[test]
fn a_teardown_whose_job_fails_has_the_reason_of_the_failure() {
    let mut world = deprovisioning();
    world.hub_done("Failed");
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(world.conditions["ProwJobCompleted"]["status"], "True");
    assert_eq!(world.conditions["ProwJobCompleted"]["reason"], "ProwJobFailure");
}

/// The function ends the job that still runs. A teardown that the owner requests later does not make a success of that.
#[test]
fn a_teardown_after_the_provision_timeout_stays_failed() {
    let mut world = provisioning();
    world.advance_time(SignedDuration::from_hours(4));
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(is(&world, "ClusterReady"), pair("False", "Failed"));
    assert_eq!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true);
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("False", "TearingDown"));
    world.hub_done("Deprovisioned");
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(is(&world, "ProwJobCompleted").0, "True");
}
