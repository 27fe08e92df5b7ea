//! State that the primary Object has forgotten, or that one pass did not see. Others remember it.

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::json;
use testplatform_apis::names::ours;

use crate::recovery::told_to_end;

/// The owner may have taken the wish back meanwhile, or asked for a longer life: an end that was begun is not taken back.
#[test]
fn requested_teardown_survives_an_incomplete_pass() {
    let lose: [fn(&mut World); 2] = [
        // It is there, and its writer is as well.
        |world| world.refs.clear(),
        |world| {
            world.objects.remove("ec");
            world.drop_status();
        },
    ];
    for (expired, arrives) in [(false, true), (true, true), (false, false)] {
        for lose in lose.into_iter().take(if arrives { 2 } else { 1 }) {
            let mut world = World::default();
            world.spec["lifetime"] = json!("2h");
            world.settle();
            world.hub_ready();
            world.settle();
            world.reachable = arrives;
            if expired {
                world.advance_time(SignedDuration::from_hours(2));
            } else {
                world.spec["tearDownCluster"] = json!(true);
            }
            world.settle();
            assert_eq!((world.phase().as_str(), told_to_end(&world)), ("Deprovisioning", arrives));
            world.spec["tearDownCluster"] = json!(false);
            world.spec["lifetime"] = json!("8h");
            lose(&mut world);
            world.pass();
            world.reachable = true;
            world.settle();
            assert!(told_to_end(&world), "expired: {expired}");
            assert_eq!(world.phase(), "Deprovisioning");
        }
    }
}

#[test]
fn third_attempt_never_happens_after_lost_records() {
    let lost: [&[&str]; 3] = [&[ours::ATTEMPT], &[ours::VANISHED_UID], &[ours::ATTEMPT, ours::VANISHED_UID]];
    for keys in lost {
        for told in [false, true] {
            let mut world = World::default();
            world.settle();
            world.remote = None;
            world.settle();
            assert_eq!((world.phase().as_str(), world.made), ("Pending", 2));
            let annotations = &mut world.objects.get_mut("ec").unwrap().object["metadata"]["annotations"];
            for key in keys {
                annotations.as_object_mut().unwrap().remove(*key).unwrap();
            }
            if told {
                world.settle();
                let ec = &world.objects["ec"].object["metadata"]["annotations"];
                assert_eq!(
                    (&world.status["backend"]["attempt"], &ec[ours::ATTEMPT]),
                    (&json!(2), &json!("2"))
                );
                assert_eq!(ec[ours::VANISHED_UID], "remote-1");
            }
            world.remote = None;
            world.settle();
            assert_eq!((world.phase().as_str(), world.made), ("Failed", 2), "{keys:?}");
        }
    }
}

/// Caches lag, each on its own: what status and `credentials` tell of the second try is no sign that it vanished too.
#[test]
fn second_attempt_survives_an_earlier_primary_object() {
    for both in [false, true] {
        let mut world = World::default();
        world.settle();
        world.remote = None;
        world.reconcile_objects();
        let before = world.objects.clone();
        world.pass();
        let after = std::mem::replace(&mut world.objects, before);
        assert_eq!(world.status["backend"]["attempt"], 2);
        if !both {
            world.objects.insert("credentials".into(), after["credentials"].clone());
        }
        world.pass();
        assert_eq!(world.phase(), "Pending");
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Pending", 2));
    }
}

/// Such as one that was restored, as an administrator may be told to do, from a backup of before its remote object was first seen.
#[test]
fn primary_object_without_uid_creates_no_second_cluster() {
    for world in [World::ready(), World::hive_ready(), World::hosted_ready()] {
        for (gone, looked, restored) in [
            (true, false, false),
            (true, false, true),
            (false, false, false),
            (false, false, true),
            (false, true, false),
        ] {
            let mut world = world.clone();
            let name = world.writer();
            // An EphemeralCluster's uid is remembered by status alone.
            if restored && name == "ec" {
                continue;
            }
            let writer = &mut world.objects.get_mut(name).unwrap().object;
            writer["status"] = json!({});
            writer["metadata"]["annotations"]
                .as_object_mut()
                .unwrap()
                .retain(|key, _| !key.contains("external-create"));
            writer["spec"]["forProvider"]["manifest"]["metadata"].as_object_mut().unwrap().remove("uid");
            if gone {
                world.remote = None;
            }
            if looked {
                // provider-kubernetes looks before the next pass.
                world.reconcile_objects();
            }
            if restored {
                world.drop_status();
            }
            world.settle();
            let phase = if gone { "Failed" } else { "Ready" };
            assert_eq!((world.phase().as_str(), world.made), (phase, 1), "{name}, looked: {looked}");
        }
    }
}
