//! Teardown, and what is lost. A ClusterTemplateInstance goes before its cluster does.

use function_model::{bundles::build_bundle, world::World};
use serde_json::json;

use crate::caas::{is, minutes};

#[test]
fn a_teardown_without_anything_to_look_at_ends_with_its_object() {
    let mut world = World::chart_ready();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert!(!world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(world.condition("TearDownComplete"), is("True", "TornDown"));
    assert_eq!(world.made, 1);
}

#[test]
fn a_teardown_ends_with_the_hosted_cluster() {
    let mut world = World::chart_observed_ready();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    world.settle();
    assert!(world.remote.is_none(), "the ClusterTemplateInstance is gone");
    assert_eq!(world.phase(), "Deprovisioning", "and its cluster is not");
    assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    let said = world.status["progress"]["message"].as_str().unwrap();
    assert!(said.contains("clusters/remote-1 still exists, and its deletion has not started"), "{said}");
    let now = world.now;
    world.hosted.as_mut().unwrap()["metadata"]["deletionTimestamp"] = json!(now);
    world.settle();
    let said = world.status["progress"]["message"].as_str().unwrap();
    assert!(said.contains("clusters/remote-1 is being destroyed"), "{said}");
    world.advance_time(minutes(90));
    world.settle();
    assert_eq!(world.condition("ProwJobCompleted").0, "False", "however long it takes");
    world.hosted = None;
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(world.condition("TearDownComplete"), is("True", "TornDown"));
    assert!(!world.objects.contains_key("hosted"), "nothing is left to be looked at");
    assert_eq!(world.made, 1);
}

/// provider-kubernetes rests up to a minute after it found nothing, and Argo CD makes the cluster meanwhile.
#[test]
fn late_hosted_cluster_is_found_at_teardown() {
    let mut world = World::chart_observed();
    world.settle();
    assert!(
        world.objects["hosted"].object["status"]["conditions"][0]["message"]
            .to_string()
            .contains("does not exist")
    );
    world.rests = true;
    world.argo_makes();
    world.settle();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    world.settle();
    assert!(world.remote.is_none(), "the ClusterTemplateInstance is gone");
    assert_eq!(world.phase(), "Deprovisioning", "and its cluster is not");
    assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    world.rests = false;
    world.hosted = None;
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(world.condition("TearDownComplete"), is("True", "TornDown"));
    assert_eq!(world.made, 1);
}

/// Report on a HostedCluster that nobody made yet, while its ClusterTemplateInstance is being deleted.
#[test]
fn an_end_before_there_is_a_hosted_cluster_is_in_progress() {
    let mut world = World::chart_observed();
    world.settle();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert!(world.remote.is_some(), "its finalizer holds it");
    assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    world.hive_is_done();
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("True", "TornDown"));
}

/// The Object of what stands for it leaves the desired state before that is gone: that alone is no reason to look, and a look then proves nothing.
#[test]
fn hosted_cluster_is_observed_again_only_after_its_instance_is_gone() {
    let mut world = World::chart_observed();
    world.settle();
    world.rests = true;
    world.spec["tearDownCluster"] = json!(true);
    for _ in 0..6 {
        world.pass();
        world.reconcile_objects();
    }
    assert!(world.remote.is_some(), "its finalizer holds it");
    world.argo_makes();
    world.hive_is_done();
    world.reconcile_objects();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning", "its cluster is there");
    world.rests = false;
    world.hosted = None;
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

/// One that is ready, and whose end may take an hour.
fn patient_for_an_hour() -> World {
    let mut world = World::chart_observed();
    world.spec["timeouts"] = json!({ "teardown": "1h" });
    world.settle();
    world.caas_installs();
    world.caas_publishes();
    world.settle();
    world
}

/// An object that cannot be observed is not gone, and the message names who hides it.
#[test]
fn a_hosted_cluster_that_does_not_go_blocks() {
    let mut world = patient_for_an_hour();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    let now = world.now;
    world.hosted.as_mut().unwrap()["metadata"]["deletionTimestamp"] = json!(now);
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    world.advance_time(minutes(61));
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("False", "Blocked"));
    assert!(
        world.condition_message("TearDownComplete").contains("is still there"),
        "{}",
        world.condition_message("TearDownComplete")
    );
    world.hosted = None;
    world.reachable = false;
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("False", "Blocked"));
    assert!(world.condition_message("TearDownComplete").contains("cannot be read"));
    world.reachable = true;
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

/// CaaS does not wait for Argo CD, which may leave it.
#[test]
fn remaining_hosted_cluster_blocks_teardown() {
    let mut world = patient_for_an_hour();
    world.advance_time(minutes(600));
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.hive_is_done();
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    world.advance_time(minutes(61));
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("False", "Blocked"));
    assert!(
        world.condition_message("TearDownComplete").contains("is still there"),
        "{}",
        world.condition_message("TearDownComplete")
    );
    world.hosted = None;
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

/// Where another one has the name of what stood for it nothing is taken away, and nothing made that looks for it.
#[test]
fn hosted_cluster_of_a_replaced_instance_blocks_teardown() {
    let mut world = patient_for_an_hour();
    world.advance_time(minutes(600));
    world.remote.as_mut().unwrap()["metadata"]["uid"] = json!("somebody-elses");
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(world.condition("RemoteConsistent"), is("False", "RemoteReplaced"));
    // The model's conditions of Objects have no time.
    let now = world.now;
    world.objects.get_mut("instance").unwrap().object["status"]["conditions"][0]["lastTransitionTime"] =
        json!(now);
    world.pass();
    assert_eq!(world.condition("TearDownComplete"), is("False", "InProgress"));
    world.advance_time(minutes(61));
    world.pass();
    assert_eq!(world.condition("TearDownComplete"), is("False", "Blocked"));
    assert!(
        world.condition_message("TearDownComplete").contains("is still there"),
        "{}",
        world.condition_message("TearDownComplete")
    );
    world.hosted = None;
    world.settle();
    assert_eq!(world.condition("TearDownComplete"), is("True", "RemoteReplaced"));
}

/// Such as by a quota of CaaS' own, of whatever namespace.
#[test]
fn vanished_instance_is_not_recreated_and_ends_with_its_cluster() {
    let mut world = World::chart_observed_ready();
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
    assert_eq!(world.condition("RemoteConsistent"), is("False", "RemoteDeleted"));
    assert_eq!(world.condition("ProwJobCompleted").0, "False", "its cluster costs money still");
    world.hosted = None;
    world.settle();
    assert_eq!(world.condition("ProwJobCompleted"), is("True", "RemoteDeleted"));
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
    assert!(!world.objects.contains_key("hosted"));
}

/// The observing Object stays until the cluster is gone while work before the deletion goes on, even if the ClusterTemplateInstance goes
/// first.
#[test]
fn observing_object_stays_until_the_cluster_is_gone() {
    for replaced in [false, true] {
        let mut world = World::chart_observed();
        world.catalogue_entry("chart")["preDelete"] = json!([build_bundle("drain", &json!({}))]);
        world.settle();
        world.caas_installs();
        world.caas_publishes();
        world.settle();
        assert_eq!(world.phase(), "Ready", "{:#?}", world.conditions);
        world.undone = true;
        world.spec["tearDownCluster"] = json!(true);
        world.settle();
        assert!(world.refs.contains("bundles-undone") && !world.refs.contains("bundles"));
        if replaced {
            world.remote.as_mut().unwrap()["metadata"]["uid"] = json!("somebody-elses");
        } else {
            world.remote = None;
        }
        world.settle();
        assert_eq!(world.phase(), "Deprovisioning", "its cluster is there, replaced: {replaced}");
        assert!(world.refs.contains("bundles-undone"));
        world.hosted = None;
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1), "replaced: {replaced}");
        assert_eq!(world.condition("TearDownComplete"), is("True", "TornDown"));
        assert!(!world.refs.contains("bundles-undone"));
    }
}

#[test]
fn lost_instance_and_credentials_create_nothing_and_ask_for_help() {
    let mut world = World::chart_observed_ready();
    world.drop_status();
    for name in ["instance", "credentials"] {
        world.objects.remove(name);
        world.refs.remove(name);
    }
    // Only the observing Object remembers the cluster: nothing is created, and the message says who can help.
    world.settle();
    assert_eq!(world.made, 1);
    assert!(world.objects.contains_key("hosted"));
    let said = world.status["message"].as_str().unwrap();
    assert!(said.contains("no record is left of the hub that the cluster is on"), "{said}");
}
