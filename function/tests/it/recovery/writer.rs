//! A writer that is lost, and its cluster with it or not.

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::json;
use testplatform_apis::names::ours;

use crate::recovery::{is, provisioning, told_to_end};

#[test]
fn lost_primary_object_is_restored_with_its_cluster() {
    let mut world = World::ready();
    world.objects.remove("ec");
    world.pass();
    assert_eq!(world.phase(), "Degraded");
    assert_eq!(world.management_policies(), json!(["Observe", "Delete"]), "it looks, and can make nothing");
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
    assert_eq!(world.management_policies(), json!(["*"]));
}

#[test]
fn primary_object_missing_in_one_pass_changes_nothing() {
    let mut world = World::ready();
    let ec = world.objects.remove("ec").unwrap();
    world.pass();
    world.objects.insert("ec".into(), ec);
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
    assert!(!told_to_end(&world));
}

#[test]
fn a_writer_lost_with_its_cluster_is_a_lost_cluster() {
    for restored in [false, true] {
        let mut world = World::ready();
        world.objects.remove("ec");
        world.remote = None;
        if restored {
            world.drop_status();
        }
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 1), "restored: {restored}");
        is(&world, "ProwJobCompleted", "True", "RemoteDeleted");
    }
}

#[test]
fn a_second_try_is_remembered_without_its_writer() {
    for restored in [false, true] {
        for seen in [false, true] {
            let mut world = World::default();
            world.settle();
            world.remote = None;
            // Of the second one nothing is known but that it was asked for, or it was seen.
            while world.made < 2 {
                world.pass();
                world.reconcile_objects();
            }
            if seen {
                world.settle();
            }
            world.objects.remove("ec");
            if restored {
                world.drop_status();
            }
            world.settle();
            assert_eq!(world.status["backend"]["attempt"], 2);
            assert_eq!(world.status["backend"]["uid"], "remote-2");
            world.remote = None;
            world.settle();
            assert_eq!((world.phase().as_str(), world.made), ("Failed", 2), "restored: {restored}");
        }
    }
}

#[test]
fn current_input_does_not_apply_without_primary_object() {
    for restored in [false, true] {
        let mut world = World::ready();
        let before = world.remote.clone();
        world.advance_time(SignedDuration::from_hours(3));
        world.input["defaults"] = json!({ "lifetime": "1h", "provisionTimeout": "1h" });
        world.input["maxima"] = json!({ "lifetime": "1h" });
        world.objects.remove("ec");
        if restored {
            world.drop_status();
        }
        world.settle();
        assert_eq!((world.phase().as_str(), world.status.get("expiresAt")), ("Ready", None), "{restored}");
        assert_eq!(world.remote, before);
    }
    // Limits promised at birth hold, and so do requested and granted ones.
    for own in [None, Some("9h")] {
        let mut world = World::default();
        world.input["defaults"] = json!({ "lifetime": "4h", "provisionTimeout": "2h" });
        world.input["maxima"] = json!({ "lifetime": "5h" });
        if let Some(own) = own {
            world.spec["lifetime"] = json!(own);
        }
        world.settle();
        world.hub_ready();
        world.settle();
        let (before, expires) = (world.remote.clone(), world.status["expiresAt"].clone());
        assert_eq!(expires, if own.is_some() { "2026-11-21T15:00:00Z" } else { "2026-11-21T14:00:00Z" });
        world.input["defaults"] = json!({ "lifetime": "1m" });
        world.input["maxima"] = json!({ "lifetime": "2m" });
        world.advance_time(SignedDuration::from_hours(1));
        // Also where `credentials` is lost with it, and the remote object alone remembers.
        for lost in [vec!["ec"], vec!["ec", "credentials"]] {
            for name in lost {
                world.objects.remove(name);
            }
            world.settle();
            assert_eq!((world.phase().as_str(), &world.status["expiresAt"]), ("Ready", &expires));
            assert_eq!(world.remote, before);
        }
    }
    // Nor does a later provision timeout.
    let mut world = provisioning();
    world.advance_time(SignedDuration::from_hours(2));
    world.input["defaults"] = json!({ "provisionTimeout": "1h" });
    world.objects.remove("ec");
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
}

#[test]
fn a_maximum_timeout_holds_for_life() {
    let mut world = World::default();
    world.input["maxima"] = json!({ "provisionTimeout": "2h" });
    world.settle();
    let annotations = &world.remote.as_ref().unwrap()["metadata"]["annotations"];
    assert_eq!(annotations[ours::PROVISION_TIMEOUT], "2h0m0s");
    world.advance_time(SignedDuration::from_hours(2));
    world.settle();
    assert_eq!(world.phase(), "Failed");
}

/// A schema that became stricter says nothing about a cluster that is there.
#[test]
fn an_invalid_block_does_not_forget_the_cluster() {
    for restored in [false, true] {
        let mut world = World::ready();
        world.spec["ciOperator"]["test"]["clusterProfile"] = json!(5);
        world.settle();
        assert_eq!(world.phase(), "Ready");
        let before = world.remote.clone();
        let writer = world.objects.remove("ec").unwrap();
        if restored {
            world.drop_status();
        }
        world.pass();
        assert_eq!(world.phase(), "Degraded");
        is(&world, "RequestAccepted", "True", "ChangeIgnored");
        world.objects.insert("ec".into(), writer);
        world.settle();
        assert_eq!((world.phase().as_str(), &world.remote), ("Ready", &before));
    }
}

/// The round in which provider-kubernetes sets its finalizer looks like one that found nothing.
#[test]
fn single_observation_proves_no_absence() {
    let mut world = World::ready();
    world.objects.remove("ec");
    world.pass();
    world.reconcile_objects();
    let writer = world.objects["ec"].object.clone();
    assert_eq!(writer["status"]["conditions"][0]["status"], "True");
    assert!(writer["status"]["atProvider"].is_null(), "forgotten");
    world.pass();
    assert_eq!(world.phase(), "Degraded");
    assert_eq!(world.objects["ec"].object["spec"]["watch"], true, "a change of its spec makes it look again");
    // Nor is one that was made while another of its name was still seen.
    world.objects.remove("ec");
    world.pass();
    world.objects.get_mut("ec").unwrap().object["spec"]["watch"] = json!(true);
    world.reconcile_objects();
    world.pass();
    assert_eq!(world.phase(), "Degraded");
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
}

#[test]
fn failed_claim_without_primary_object_observes_before_completion() {
    for gone in [false, true] {
        let mut world = provisioning();
        world.reachable = false;
        world.advance_time(SignedDuration::from_hours(5));
        world.settle();
        assert_eq!(world.phase(), "Failed");
        is(&world, "ProwJobCompleted", "False", "TearingDown");
        world.objects.remove("ec");
        world.settle();
        is(&world, "ProwJobCompleted", "False", "TearingDown");
        assert!(world.objects.contains_key("credentials"));
        world.reachable = true;
        if gone {
            world.remote = None;
        }
        world.settle();
        assert_eq!(world.phase(), "Failed");
        if gone {
            is(&world, "ProwJobCompleted", "True", "TornDown");
        } else {
            assert!(told_to_end(&world));
            is(&world, "ProwJobCompleted", "False", "TearingDown");
        }
        assert_eq!(world.made, 1);
    }
}

#[test]
fn a_lost_writer_does_not_stop_a_teardown() {
    let mut world = World::ready();
    world.objects.remove("ec");
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert!(told_to_end(&world));
}
