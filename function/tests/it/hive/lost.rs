//! Lost objects, and which of them are found again.

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::json;
use testplatform_apis::names::ours;

use crate::hive::{assigned, is, manifest, tear_down};

#[test]
fn vanished_claim_is_recreated_once_before_bind_and_never_after() {
    let mut world = World::hive_claim();
    world.settle();
    world.hive_queues(&json!({}));
    world.settle();
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Pending", 2));
    assert_eq!(world.status["backend"]["attempt"], 2);
    assert_eq!(manifest(&world)["spec"]["subjects"][0]["name"], "testplatform-provider");
    let mut served = world.clone();
    served.hive_publishes();
    served.settle();
    assert_eq!((served.phase().as_str(), served.made), ("Ready", 2));
    tear_down(&mut served);
    served.hive_is_done();
    served.settle();
    assert_eq!((served.phase().as_str(), served.remote), ("Deprovisioned", None));
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 2), "once");

    for mut world in [assigned(), World::hive_ready()] {
        world.remote = None;
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
        is(&world, "ProwJobCompleted", "True", "RemoteDeleted");
        assert_eq!(world.management_policies(), json!(["Observe", "Delete"]));
        world.drop_status();
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 1), "also after a restore");
    }
}

/// Both limits and the namespace of the credentials are those of the pool and the hub, and the catalogue is not asked again.
#[test]
fn lost_primary_object_is_restored_with_its_limits() {
    let lost: [&[&str]; 2] = [&["claim"], &["claim", "credentials"]];
    for own in [None, Some("9h")] {
        for lost in lost {
            let mut world = World::hive_claim();
            world.catalogue.as_mut().unwrap()["pools"][0]["maxLifetime"] = json!("3h");
            world.catalogue.as_mut().unwrap()["pools"][0]["defaultLifetime"] = json!("2h");
            if let Some(own) = own {
                world.spec["lifetime"] = json!(own);
            }
            world.settle();
            world.hive_publishes();
            world.settle();
            let expires = if own.is_some() { "2026-11-21T13:00:00Z" } else { "2026-11-21T12:00:00Z" };
            assert_eq!(world.status["expiresAt"], expires);
            let before = manifest(&world).clone();
            world.input["defaults"] = json!({ "lifetime": "1m" });
            world.input["maxima"] = json!({ "lifetime": "2m" });
            world.advance_time(SignedDuration::from_hours(1));
            for name in lost {
                world.objects.remove(*name);
            }
            world.pass();
            let notes = &manifest(&world)["metadata"]["annotations"];
            for key in [ours::LIFETIME, ours::MAX_LIFETIME, ours::PROVISION_TIMEOUT] {
                assert!(notes[key].is_null(), "what is only looked for is told nothing: {notes}");
            }
            world.settle();
            assert_eq!((world.phase().as_str(), &world.status["expiresAt"]), ("Ready", &json!(expires)));
            assert_eq!(*manifest(&world), before);
            let credentials = &world.objects["credentials"].object["spec"]["forProvider"]["manifest"];
            assert_eq!(credentials["metadata"]["namespace"], "published");
        }
    }
}

/// Nothing but the kubeconfig in the composite's own Secret is left.
#[test]
fn cluster_of_unknown_place_needs_an_administrator() {
    let mut world = World::hive_ready();
    world.objects.clear();
    world.drop_status();
    for phase in ["Degraded", "Deprovisioning"] {
        world.settle();
        assert_eq!(world.phase(), phase);
        is(&world, "RemoteConsistent", "Unknown", "PlaceUnknown");
        let message = world.status["message"].as_str().unwrap();
        assert!(message.contains("an administrator must restore Object managed-demo-x7k2p"), "{message}");
        world.spec["tearDownCluster"] = json!(true);
    }
    is(&world, "ProwJobCompleted", "False", "TearingDown");
    assert_eq!(world.made, 1);
}

/// `credentials` have lost where the cluster is, and nothing else: what they remember beside that stays, or a second cluster would be made.
#[test]
fn credentials_without_their_pool_keep_other_records() {
    let mut world = World::hive_ready();
    world.objects.remove("claim");
    world.drop_status();
    let noted = |world: &World, key: &str| {
        world.objects["credentials"].object["metadata"]["annotations"][key].clone()
    };
    let [uid, at, pool] = [ours::REMOTE_UID, ours::READY_AT, ours::POOL].map(|key| noted(&world, key));
    assert!(uid.is_string() && at.is_string() && pool.is_string(), "{uid} {at} {pool}");
    let mut lost = world.objects["credentials"].object["metadata"]["annotations"].clone();
    lost.as_object_mut().unwrap().remove(ours::POOL);
    world.objects.get_mut("credentials").unwrap().object["metadata"]["annotations"] = lost;
    let hub = world.objects["credentials"].object["spec"].clone();
    for _ in 0..3 {
        world.settle();
        world.drop_status();
        assert_eq!(
            (noted(&world, ours::REMOTE_UID), noted(&world, ours::READY_AT)),
            (uid.clone(), at.clone())
        );
        assert_eq!(world.objects["credentials"].object["spec"], hub);
    }
    world.settle();
    is(&world, "RemoteConsistent", "Unknown", "PlaceUnknown");
    assert_eq!((world.phase().as_str(), world.made), ("Degraded", 1));

    world.objects.get_mut("credentials").unwrap().object["metadata"]["annotations"][ours::POOL] = pool;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1), "restored, it is found again");
}

#[test]
fn an_invalid_block_does_not_forget_the_cluster() {
    let mut world = World::hive_ready();
    let before = manifest(&world).clone();
    world.spec["clusterClaim"]["timeout"] = json!("never");
    world.objects.remove("claim");
    world.pass();
    assert_eq!(world.phase(), "Degraded");
    is(&world, "RequestAccepted", "True", "ChangeIgnored");
    world.settle();
    assert_eq!((world.phase().as_str(), manifest(&world)), ("Ready", &before));
}

#[test]
fn a_second_try_is_remembered_without_its_writer() {
    for restored in [false, true] {
        let mut world = World::hive_claim();
        world.settle();
        world.remote = None;
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Pending", 2));
        world.objects.remove("claim");
        if restored {
            world.drop_status();
        }
        world.settle();
        assert_eq!(world.status["backend"]["attempt"], 2);
        world.remote = None;
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 2), "restored: {restored}");
    }
}

#[test]
fn a_replaced_claim_is_left_alone() {
    let mut world = World::hive_ready();
    world.remote.as_mut().unwrap()["metadata"]["uid"] = json!("somebody-elses");
    world.settle();
    assert_eq!(world.phase(), "Failed");
    is(&world, "RemoteConsistent", "False", "RemoteReplaced");
    assert_eq!(world.management_policies(), json!(["Observe"]), "Delete goes by name");
    tear_down(&mut world);
    assert!(world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
}

#[test]
fn deleted_cluster_releases_its_claim() {
    let mut world = World::hive_ready();
    world.hive_loses_the_cluster();
    world.settle();
    assert_eq!(world.phase(), "Failed");
    is(&world, "ProwJobCompleted", "False", "TearingDown");
    assert!(!world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    world.hive_is_done();
    world.settle();
    is(&world, "ProwJobCompleted", "True", "TornDown");
    assert_eq!(world.tenant["kubeconfig"], "");
}

#[test]
fn lost_primary_object_is_restored_with_its_cluster() {
    for restored in [false, true] {
        for ready in [false, true] {
            let mut world = if ready { World::hive_ready() } else { assigned() };
            let before = manifest(&world).clone();
            world.objects.remove("claim");
            if restored {
                world.drop_status();
            }
            world.pass();
            assert_eq!(
                world.management_policies(),
                json!(["Observe", "Delete"]),
                "it looks, and can make nothing"
            );
            world.settle();
            assert_eq!(world.phase(), if ready { "Ready" } else { "Provisioning" });
            assert_eq!((world.made, world.management_policies()), (1, json!(["*"])));
            assert_eq!(manifest(&world)["spec"], before["spec"]);
            assert_eq!(manifest(&world)["metadata"]["uid"], before["metadata"]["uid"]);
        }
    }
}

#[test]
fn a_lost_writer_does_not_stop_a_teardown() {
    let mut world = World::hive_ready();
    world.objects.remove("claim");
    tear_down(&mut world);
    assert_eq!(world.phase(), "Deprovisioning");
    assert!(!world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

#[test]
fn primary_object_missing_in_one_pass_changes_nothing() {
    let mut world = World::hive_ready();
    let before = manifest(&world).clone();
    let claim = world.objects.remove("claim").unwrap();
    world.pass();
    world.objects.insert("claim".into(), claim);
    world.settle();
    assert_eq!((world.phase().as_str(), world.made, manifest(&world)), ("Ready", 1, &before));
}

/// Nothing that is deleted on the hub comes back, and its uninstallation may take an hour.
#[test]
fn cluster_in_deletion_on_the_hub_is_lost_at_once() {
    let mut world = World::hive_ready();
    world.remote.as_mut().unwrap()["metadata"]["deletionTimestamp"] = json!(world.now);
    world.settle();
    assert_eq!(world.phase(), "Failed");
    is(&world, "ClusterReady", "False", "Failed");
    let message = world.status["message"].as_str().unwrap();
    assert!(message.contains("somebody deleted the cluster on the hub"), "{message}");
    is(&world, "ProwJobCompleted", "False", "TearingDown");
    world.hive_is_done();
    world.settle();
    assert_eq!(world.condition("ProwJobCompleted").0, "True");
    is(&world, "ClusterAssigned", "False", "Returned");
    is(&world, "ClusterRunning", "False", "Deleted");
}

/// At the end of a lifetime Hive deletes the claim by itself, and its clock may be ahead.
#[test]
fn a_claim_that_hive_ends_a_little_early_is_not_lost() {
    let mut world = World::hive_ready();
    world.remote.as_mut().unwrap()["status"]["lifetime"] = json!("3h");
    world.settle();
    world.advance_time(SignedDuration::from_hours(3) - SignedDuration::from_secs(30));
    world.remote.as_mut().unwrap()["metadata"]["deletionTimestamp"] = json!(world.now);
    world.settle();
    assert_ne!(world.phase(), "Failed");
    world.advance_time(SignedDuration::from_mins(1));
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    is(&world, "ClusterAssigned", "False", "Returned");
}

#[test]
fn claim_on_a_deleted_pool_has_no_queue_position() {
    let mut world = World::hive_claim();
    world.settle();
    let pool = json!({ "found": true, "deleting": true });
    world.hive_queues(&json!({ "pool": pool, "queue": { "position": 1, "depth": 1 } }));
    world.settle();
    is(&world, "ClusterAssigned", "False", "PoolDeleting");
    assert!(world.status["queue"].is_null(), "{}", world.status);
    let text = world.status.to_string() + &json!(world.conditions).to_string();
    assert!(!text.contains("place 1") && text.contains("no longer provides clusters"), "{text}");
}
