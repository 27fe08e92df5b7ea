//! Who decides about the size, and when.

use function_model::pool::PoolWorld;
use serde_json::{Value, json};

use crate::cluster_pool::{asked, is, made, sizes};

fn by_day() -> Value {
    json!({ "schedule": {
        "timeZone": "Europe/Prague", "default": { "size": 1, "runningCount": 0 },
        "windows": [{ "name": "work", "days": ["Mon"], "start": "07:00", "end": "18:00", "size": 8, "runningCount": 2, "maxSize": 20 }],
    } })
}

#[test]
fn size_follows_schedule_until_its_next_boundary() {
    // A Monday, 11:00 in Prague.
    let mut world = made(&by_day());
    assert_eq!(sizes(&world), (json!(8), json!(2), json!(20)));
    assert_eq!(
        world.status["schedule"],
        json!({ "activeWindow": "work", "nextTransition": "2026-11-23T17:00:00Z" })
    );
    assert_eq!(world.ttl, 60);
    world.now = "2026-11-23T16:59:40Z".parse().unwrap();
    world.pass();
    assert_eq!((world.ttl, sizes(&world).0), (18, json!(8)), "nine tenths of what is left");
    world.now = "2026-11-23T16:59:59.5Z".parse().unwrap();
    world.pass();
    assert_eq!(world.ttl, 1);
    world.now = "2026-11-23T17:00:00Z".parse().unwrap();
    world.settle();
    assert_eq!(sizes(&world), (json!(1), json!(0), json!(10)));
    assert_eq!(world.status["schedule"], json!({ "nextTransition": "2026-11-30T06:00:00Z" }));
    // Nothing ran for three weeks: what time it is is what counts.
    world.now = "2026-12-14T09:00:00Z".parse().unwrap();
    world.settle();
    assert_eq!(sizes(&world).0, 8);
}

#[test]
fn unusable_schedule_keeps_the_running_size() {
    let mut world = made(&by_day());
    let mut broken = by_day();
    let lunch = json!({ "name": "lunch", "days": ["Mon"], "start": "12:00", "end": "13:00", "size": 2 });
    broken["schedule"]["windows"].as_array_mut().unwrap().push(lunch);
    world.change(&broken);
    world.change(&json!({ "maxConcurrent": 5 }));
    world.now = "2026-11-23T20:00:00Z".parse().unwrap();
    world.settle();
    is(&world, "RequestAccepted", "False", "WindowsOverlap");
    let said = world.condition_message("RequestAccepted");
    assert!(said.starts_with("windows work and lunch overlap, on Mon at 12:00"), "{said}");
    assert_eq!(sizes(&world), (json!(8), json!(2), json!(20)), "as it was");
    assert_eq!(world.manifest()["spec"]["maxConcurrent"], 5, "everything else is taken up");
    assert_eq!(world.phase(), "Ready");
    // One that was never made waits.
    let mut world = PoolWorld::with(&broken);
    world.settle();
    is(&world, "RequestAccepted", "False", "WindowsOverlap");
    assert_eq!((world.phase().as_str(), world.objects.len()), ("Pending", 0));
    let mut zone = by_day();
    zone["schedule"]["timeZone"] = json!("Mars/Olympus");
    let mut world = PoolWorld::with(&zone);
    world.settle();
    is(&world, "RequestAccepted", "False", "ScheduleInvalid");
}

#[test]
fn externally_scaled_size_is_written_once() {
    let mut world = PoolWorld::with(&json!({ "scalingMode": "External" }));
    let policies = |world: &PoolWorld, name: &str| world.objects[name]["spec"]["managementPolicies"].clone();
    world.pass();
    assert_eq!(sizes(&world).0, 3, "it is made with one");
    assert!(!world.objects.contains_key("size"));
    world.settle();
    assert_eq!(sizes(&world), (Value::Null, json!(1), json!(10)), "and then it is let go of");
    assert_eq!(policies(&world, "size"), json!(["Observe"]));
    let second = &world.objects["size"]["spec"]["forProvider"]["manifest"];
    assert_eq!(second["spec"], json!({ "size": 3 }));
    assert_eq!(asked(&world).size, None);
    // An autoscaler takes over; whatever else changes in Git still arrives.
    world.on_the_hub(&json!({ "spec": { "size": 7 } }));
    world.change(&json!({ "imageSetRef": { "name": "ocp-4.20.1" } }));
    world.settle();
    assert_eq!(sizes(&world).0, Value::Null);
    assert_eq!(world.remote()["spec"]["size"], 7);
    assert_eq!(world.remote()["spec"]["imageSetRef"]["name"], "ocp-4.20.1");
    // The pool's own Object is lost, as in a restore of half of them: where it is made anew, it is with the size that there is.
    let lost = world.objects.remove("pool").unwrap();
    world.pass();
    assert_eq!(sizes(&world).0, 7);
    assert_eq!(policies(&world, "size"), json!(["Observe"]));
    assert!(world.objects["size"]["metadata"].get("deletionTimestamp").is_none());
    world.objects.insert("pool".into(), lost);
    world.change(&json!({ "refresh": { "nonce": "1" } }));
    world.settle();
    is(&world, "Refreshing", "False", "ExternalScaling");
    // And back, at first with a schedule that cannot be used.
    let mut schedule = by_day()["schedule"].take();
    schedule["timeZone"] = json!("Mars/Olympus");
    world.change(&json!({ "scalingMode": null, "schedule": schedule }));
    world.settle();
    is(&world, "RequestAccepted", "False", "ScheduleInvalid");
    assert_eq!(world.remote()["spec"]["size"], 7);
    world.change(&json!({ "schedule": null }));
    world.change(&json!({ "scalingMode": null, "size": 4 }));
    world.settle();
    assert_eq!(world.remote()["spec"]["size"], 4);
    assert!(world.objects["size"]["metadata"]["deletionTimestamp"].is_string());
}

/// The order matters: left out while it has no other owner, the hub would refuse the pool; written once more, it would undo the other's work.
#[test]
fn size_is_released_only_with_a_second_owner() {
    let mut world = made(&json!({}));
    world.change(&json!({ "scalingMode": "External", "size": 9 }));
    world.on_the_hub(&json!({ "spec": { "size": 3 } }));
    world.pass();
    assert_eq!(sizes(&world).0, 3, "what stands is kept, whatever Git says by now");
    assert_eq!(world.objects["size"]["spec"]["managementPolicies"], json!(["Observe", "Update"]));
    assert_eq!(world.objects["size"]["spec"]["forProvider"]["manifest"]["spec"], json!({ "size": 3 }));
    is(&world, "RequestAccepted", "True", "HandingOver");
    world.pass();
    assert_eq!(sizes(&world).0, 3, "the second owner has not reported yet");
    world.objects.get_mut("size").unwrap()["status"] = json!({
        "atProvider": { "manifest": { "metadata": { "name": "aws-420" } } },
        "conditions": [{ "type": "Synced", "status": "False", "reason": "ReconcileError", "message": "update failed: x" }],
    });
    world.pass();
    assert_eq!(sizes(&world).0, 3, "nor is it one");
    world.settle();
    assert_eq!(sizes(&world).0, Value::Null);
    is(&world, "RequestAccepted", "True", "Accepted");
    // Who scales while the second owner still writes would be undone.
    let second = world.objects.get_mut("size").unwrap();
    second["spec"]["managementPolicies"] = json!(["Observe", "Update"]);
    world.pass();
    is(&world, "RequestAccepted", "True", "HandingOver");
    assert_eq!(sizes(&world).0, Value::Null, "the first lets go once");
    // It is to watch, and provider-kubernetes has not taken that up yet.
    let second = world.objects.get_mut("size").unwrap();
    second["metadata"]["generation"] = json!(9);
    second["status"]["conditions"][0]["observedGeneration"] = json!(8);
    world.pass();
    is(&world, "RequestAccepted", "True", "HandingOver");
    world.settle();
    is(&world, "RequestAccepted", "True", "Accepted");
}

/// Hive requires the size of a pool that is made, and whoever scales has nothing to write it to.
#[test]
fn recreated_externally_scaled_pool_keeps_its_size() {
    let mut world = made(&json!({ "scalingMode": "External" }));
    world.on_the_hub(&json!({ "spec": { "size": 7 } }));
    world.settle();
    world.on_the_hub(&json!({ "metadata": { "deletionTimestamp": world.now } }));
    world.pass();
    is(&world, "Drained", "False", "DeletedOnTheHub");
    assert_eq!(sizes(&world).0, Value::Null, "while it goes it is as it was");
    // Either of the two Objects may be the first to tell.
    let missing = "create failed: cannot create object: cannot create object: ClusterPool.hive.openshift.io \"aws-420\" is invalid: spec.size: Required value";
    for (object, message) in [("pool", missing), ("size", "observe failed: external resource does not exist")]
    {
        let mut world = world.clone();
        world.objects.get_mut(object).unwrap()["status"]["conditions"] =
            json!([{ "type": "Synced", "status": "False", "reason": "ReconcileError", "message": message }]);
        for _ in 0..2 {
            world.pass();
            assert_eq!(sizes(&world).0, 7, "{object}");
            let second = &world.objects["size"]["spec"];
            assert_eq!(second["managementPolicies"], json!(["Observe", "Update"]), "{object}");
            assert_eq!(second["forProvider"]["manifest"]["spec"], json!({ "size": 7 }), "{object}");
        }
    }
    // Other refusals of the hub request no size.
    let mut refused = world.clone();
    refused.objects.get_mut("pool").unwrap()["status"]["conditions"] = json!([{
        "type": "Synced", "status": "False", "reason": "ReconcileError",
        "message": "update failed: cannot update object: ClusterPool.hive.openshift.io \"aws-420\" is invalid: spec.maxSize: Invalid value: 0",
    }]);
    refused.pass();
    assert_eq!(sizes(&refused).0, Value::Null);

    world.remove_remote();
    world.settle();
    assert!(!world.gone);
    assert_eq!((world.phase().as_str(), &world.remote()["spec"]["size"]), ("Ready", &json!(7)));
    is(&world, "RequestAccepted", "True", "Accepted");
    assert_eq!(sizes(&world).0, Value::Null, "and let go of again");
    assert_eq!(world.objects["size"]["spec"]["managementPolicies"], json!(["Observe"]));
    assert_eq!(world.owners, ["size-aws-420".to_owned()].into());
    world.on_the_hub(&json!({ "spec": { "size": 2 } }));
    world.change(&json!({ "maxConcurrent": 5 }));
    world.settle();
    assert_eq!(world.remote()["spec"]["maxConcurrent"], 5);
    assert_eq!(world.remote()["spec"]["size"], 2);
}

/// "The size with which the pool is made" limits nothing that somebody else scales.
#[test]
fn externally_scaled_pool_runs_the_defined_count() {
    let world = made(&json!({ "scalingMode": "External", "size": 1, "runningCount": 3 }));
    assert_eq!(sizes(&world).1, 3);
    let world = made(&json!({ "size": 1, "runningCount": 3 }));
    assert_eq!(sizes(&world).1, 1);
}

#[test]
fn scaling_to_zero_is_reported_and_claims_are_served() {
    let mut world = made(&json!({}));
    world.change(&json!({ "size": 0, "runningCount": 0 }));
    world.settle();
    assert_eq!(sizes(&world).0, 0);
    assert_eq!(world.events.iter().filter(|e| *e == "ScaledToZero").count(), 1);
    // A refresh of all at once takes its clusters away for an installation's time, and nobody else's size is ours.
    let mut world = made(&json!({ "refresh": { "nonce": "1", "strategy": "Recreate" } }));
    world.report_provider(&json!({ "ceiling": { "size": 0 }, "refresh": { "nonce": "1", "phase": "Down" } }));
    world.settle();
    assert_eq!(sizes(&world).0, 0);
    world.change(&json!({ "refresh": null }));
    world.settle();
    world.change(&json!({ "scalingMode": "External", "size": 0 }));
    world.settle();
    assert_eq!(world.remote()["spec"]["size"], 3);
    assert!(!world.events.contains(&"ScaledToZero".to_owned()));
}
