//! Ends: asked for, by lifetime, and for want of a cluster.

use function_model::world::{NAME, World};
use jiff::SignedDuration;
use serde_json::json;
use testplatform_apis::names::ours;
use testplatform_composites::{Options, run, sdk::proto::Severity};

use crate::hive::{assigned, is, manifest, tear_down};

#[test]
fn waiting_claim_is_torn_down() {
    for queued in [false, true] {
        let mut world = World::hive_claim();
        world.settle();
        if queued {
            world.hive_queues(&json!({ "supply": "Installing" }));
            world.settle();
        }
        tear_down(&mut world);
        assert_eq!((world.phase().as_str(), world.remote.is_none()), ("Deprovisioned", true));
        is(&world, "ProwJobCompleted", "True", "TornDown");
        world.spec["tearDownCluster"] = json!(false);
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1), "there is no way back");
    }
}

/// Core applies the status, writes the emptied keys after it, and updates the conditions last: a pass after a conflict in between, or one that sees
/// the composite as it was, sees an end that nobody has told.
#[test]
fn end_without_cluster_stays_so_after_late_writes() {
    #[derive(Clone, Copy, PartialEq)]
    enum Late {
        Conditions,
        Status,
        StatusAndDropped,
    }
    for timed_out in [false, true] {
        for late in [Late::Conditions, Late::Status, Late::StatusAndDropped] {
            let mut world = World::hive_claim();
            world.catalogue.as_mut().unwrap()["pools"] = json!([]);
            world.settle();
            is(&world, "RequestAccepted", "False", "PoolNotFound");
            let (status, conditions) = (world.status.clone(), world.conditions.clone());
            if timed_out {
                world.advance_time(SignedDuration::from_hours(5));
            } else {
                world.spec["tearDownCluster"] = json!(true);
            }
            world.pass();
            is(&world, "ProwJobCompleted", "True", "NothingToTearDown");
            assert_eq!(world.details["kubeconfig"], "");
            world.conditions = conditions;
            if late != Late::Conditions {
                world.status = status;
            }
            if late == Late::StatusAndDropped {
                world.drop_status();
            }
            world.settle();
            // Without a status there may have been a cluster once, and nothing tells how it ended.
            let dropped = late == Late::StatusAndDropped;
            let phase = if timed_out && !dropped { "Failed" } else { "Deprovisioned" };
            assert_eq!((world.phase().as_str(), world.made), (phase, 0));
            let reason = if dropped { "TornDown" } else { "NothingToTearDown" };
            is(&world, "ProwJobCompleted", "True", reason);
        }
    }
}

/// Its writer noted why it Failed. Without that, what was said stays; the deadline that passes afterwards is not the reason.
#[test]
fn failure_reason_survives_a_lost_primary_object() {
    let words = "failed to create typed patch object (ns/x; hive.openshift.io/v1, Kind=ClusterClaim): .spec.foo: field not declared in schema";
    let mut world = World::hive_claim();
    world.refuses = Some(words.into());
    world.settle();
    // So an older version ended it.
    let noted = json!({ "testplatform.ci.openshift.org/failed": "UnknownField" });
    world.objects.get_mut("claim").unwrap().object["metadata"]["annotations"] = noted;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 0));
    let said = world.conditions["ClusterReady"]["message"].clone();
    world.objects.remove("claim");
    world.advance_time(SignedDuration::from_hours(5));
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 0));
    assert_eq!(world.conditions["ClusterReady"]["message"], said);
    is(&world, "ProwJobCompleted", "True", "NothingToTearDown");
}

#[test]
fn a_teardown_cannot_be_taken_back() {
    let mut world = World::hive_ready();
    tear_down(&mut world);
    world.spec["tearDownCluster"] = json!(false);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    // Nor is it forgotten with the status: the writer's deletion, and then the note on the credentials, remember it.
    world.drop_status();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    world.hive_is_done();
    world.reconcile_objects();
    world.drop_status();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1));
    is(&world, "ProwJobCompleted", "True", "TornDown");
    world.drop_status();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1), "nor afterwards");
}

/// It costs money until somebody helps.
#[test]
fn failed_destruction_is_explained() {
    let mut world = World::hive_ready();
    tear_down(&mut world);
    let failure = json!({ "reason": "AuthenticationFailed", "message": "the credentials are not accepted" });
    world.report_status(&json!({ "ownership": "Confirmed", "deprovisionFailure": failure }));
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    let why = "the hub cannot destroy it and retries: AuthenticationFailed: the credentials are not accepted";
    assert_eq!(world.status["message"], format!("the cluster is being torn down; {why}"));
    is(&world, "ProwJobCompleted", "False", "TearingDown");
    assert!(world.conditions["ProwJobCompleted"]["message"].as_str().unwrap().ends_with(why));
    world.hive_is_done();
    world.settle();
    assert_eq!(
        (world.phase().as_str(), &world.status["message"]),
        ("Deprovisioned", &json!("the cluster is gone"))
    );
}

/// Why it ends was noted when it began to, and holds.
#[test]
fn torn_down_claim_does_not_become_expired() {
    let mut world = World::hive_claim();
    world.spec["lifetime"] = json!("2h");
    world.settle();
    world.hive_publishes();
    world.settle();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.advance_time(SignedDuration::from_hours(3));
    world.spec["tearDownCluster"] = json!(false);
    world.settle();
    let told = |world: &World| (world.phase(), world.status["message"].as_str().unwrap().to_owned());
    assert_eq!(told(&world), ("Deprovisioning".into(), "the cluster is being torn down".into()));
    world.hive_is_done();
    world.settle();
    assert_eq!(told(&world), ("Deprovisioned".into(), "the cluster is gone".into()));
    is(&world, "ProwJobCompleted", "True", "TornDown");
}

/// Cause of a cluster's end, the phase that it leads to, and the reason why nothing remains.
type End = (fn(&mut World), &'static str, &'static str);

/// Core shows nothing of an Object that it deletes, until it is desired again.
#[test]
fn hidden_object_does_not_count_as_gone() {
    let ends: [End; 4] = [
        (|w| w.spec["tearDownCluster"] = json!(true), "Deprovisioning", "TornDown"),
        (|w| w.advance_time(SignedDuration::from_hours(2)), "Deprovisioning", "Expired"),
        (World::hive_loses_the_cluster, "Failed", "TornDown"),
        // It was never ready, and is given back all the same.
        (|w| w.advance_time(SignedDuration::from_hours(4)), "Failed", "TornDown"),
    ];
    for (i, (end, phase, reason)) in ends.into_iter().enumerate() {
        let mut world = World::hive_claim();
        world.spec["lifetime"] = json!("2h");
        world.settle();
        world.hive_assigns();
        if i < 3 {
            world.hive_publishes();
        }
        world.settle();
        end(&mut world);
        world.reconcile_objects();
        if phase == "Failed" {
            world.pass();
            assert!(world.refs.contains("claim"), "why it Failed is noted first");
        }
        world.pass_once();
        assert!(
            !world.refs.contains("claim") && world.objects.contains_key("claim"),
            "on its way out, unseen"
        );
        for _ in 0..3 {
            world.pass();
            assert!(world.refs.contains("claim"), "desired again, so that it is seen");
            world.reconcile_objects();
            world.drop_status();
            world.settle();
            assert_eq!(world.phase(), phase, "end {i}");
            is(&world, "ProwJobCompleted", "False", "TearingDown");
        }
        assert!(world.remote.is_some());
        world.hive_is_done();
        world.settle();
        is(&world, "ProwJobCompleted", "True", reason);
        assert_eq!(world.phase(), if phase == "Failed" { "Failed" } else { "Deprovisioned" });
        // The Object that looked, and found nothing, remembers all of it.
        world.drop_status();
        world.settle();
        is(&world, "ProwJobCompleted", "True", reason);
        assert_eq!(world.phase(), if phase == "Failed" { "Failed" } else { "Deprovisioned" });
        assert_eq!(world.made, 1);
    }
}

/// A claim, what befalls it, and why it Failed then.
type Failing = (fn() -> World, fn(&mut World), &'static str);

/// Core takes away before it writes anything: what a pass that breaks off leaves tells why it Failed all the same.
#[test]
fn failure_reason_survives_an_aborted_pass() {
    let all: [Failing; 2] = [
        (assigned, |w| w.advance_time(SignedDuration::from_hours(4)), "ProvisionTimeout"),
        (World::hive_ready, World::hive_loses_the_cluster, "ClusterDeleted"),
    ];
    let breaks: [fn(&mut World); 2] = [|w| w.breaks_off("claim"), World::applies_nothing];
    for (begins, fails, why) in all {
        for (i, breaks) in breaks.into_iter().enumerate() {
            for noted in [false, true] {
                let context = format!("{why}, break {i}, noted: {noted}");
                let mut world = begins();
                fails(&mut world);
                world.reconcile_objects();
                if noted {
                    world.pass();
                }
                breaks(&mut world);
                world.settle();
                assert_eq!(world.phase(), "Failed", "{context}");
                is(&world, "ProwJobCompleted", "False", "TearingDown");
                world.hive_is_done();
                world.settle();
                assert_eq!((world.phase().as_str(), world.made), ("Failed", 1), "{context}");
                is(&world, "ProwJobCompleted", "True", "TornDown");
                let notes = &world.objects["claim"].object["metadata"]["annotations"];
                assert_eq!(notes[ours::FAILED], why, "{context}");
                assert!(world.remote.is_none(), "{context}");
            }
        }
    }
}

/// Neither is what an Object leaves behind that an administrator freed of its finalizer.
#[test]
fn an_object_that_is_gone_is_no_proof() {
    let mut world = World::hive_ready();
    world.reachable = false;
    tear_down(&mut world);
    world.objects.remove("claim");
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    is(&world, "ProwJobCompleted", "False", "TearingDown");
    world.reachable = true;
    world.settle();
    let remote = world.remote.as_ref().unwrap();
    assert!(!remote["metadata"]["deletionTimestamp"].is_null(), "found, and taken away once more");
    assert_eq!(world.phase(), "Deprovisioning");
    world.hive_is_done();
    world.settle();
    is(&world, "ProwJobCompleted", "True", "TornDown");
}

/// Another claim of the same name is not ours to end.
#[test]
fn reused_name_proves_the_end() {
    let mut world = World::hive_ready();
    tear_down(&mut world);
    world.hive_is_done();
    world.reconcile_objects();
    world.remote = Some(json!({ "metadata": { "name": NAME, "uid": "somebody-elses" } }));
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    is(&world, "ProwJobCompleted", "True", "TornDown");
    assert!(world.remote.is_some());
    assert_eq!(world.management_policies(), json!(["Observe"]));
}

#[test]
fn the_end_waits_for_a_hub_that_cannot_be_reached() {
    let mut world = World::hive_ready();
    world.reachable = false;
    tear_down(&mut world);
    assert_eq!(world.phase(), "Deprovisioning");
    assert!(world.remote.is_some() && world.objects.contains_key("claim"));
    world.reachable = true;
    world.settle();
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

#[test]
fn lifetime_of_the_claim_ends_the_cluster() {
    let mut world = World::hive_claim();
    world.spec["lifetime"] = json!("2h");
    world.settle();
    world.hive_publishes();
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T12:00:00Z");
    world.advance_time(SignedDuration::from_hours(2));
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    // A longer one comes too late.
    world.spec["lifetime"] = json!("8h");
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    is(&world, "ProwJobCompleted", "True", "Expired");
    assert_eq!(world.tenant["kubeconfig"], "");
}

/// Nobody can use it before.
#[test]
fn a_lifetime_counts_from_the_credentials_on() {
    let mut world = World::hive_claim();
    world.spec["lifetime"] = json!("1h");
    world.settle();
    world.hive_runs();
    world.settle();
    world.advance_time(SignedDuration::from_mins(100));
    world.settle();
    assert_ne!(world.phase(), "Ready");
    let since_before = world.remote.as_ref().unwrap()["status"]["conditions"].clone();
    world.hive_publishes();
    world.remote.as_mut().unwrap()["status"]["conditions"] = since_before;
    while world.phase() != "Ready" {
        world.reconcile_objects();
        let credentials = &mut world.objects.get_mut("credentials").unwrap().object;
        credentials["status"]["conditions"][0]["lastTransitionTime"] = json!(world.now);
        world.pass();
        assert_ne!(world.phase(), "Deprovisioning", "{}", world.status);
    }
    assert_eq!(world.status["readyAt"], json!(world.now));
    let end = world.status["expiresAt"].clone();
    world.settle();
    world.drop_status();
    world.advance_time(SignedDuration::from_mins(10));
    world.settle();
    assert_eq!((world.phase().as_str(), &world.status["expiresAt"]), ("Ready", &end));
}

/// Also where nothing of ours ends it.
#[test]
fn cluster_that_hive_ends_is_reported_as_expiring() {
    let mut world = World::hive_ready();
    world.remote.as_mut().unwrap()["status"]["lifetime"] = json!("3h");
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T13:00:00Z");
    is(&world, "ClusterReady", "True", "Ready");
    world.input["ttl"] = json!("10h");
    let ttl = world.pass().meta.unwrap().ttl.unwrap();
    assert!(ttl.seconds <= 165 * 60, "{ttl:?}");
    world.advance_time(SignedDuration::from_mins(166));
    world.settle();
    is(&world, "ClusterReady", "True", "Expiring");
}

#[test]
fn hives_own_end_is_an_end_and_no_loss() {
    for seen in [false, true] {
        let mut world = World::hive_ready();
        let remote = world.remote.as_mut().unwrap();
        remote["status"]["lifetime"] = json!("3h");
        world.settle();
        assert_eq!(world.status["expiresAt"], "2026-11-21T13:00:00Z", "the pool's maximum");
        if seen {
            world.advance_time(SignedDuration::from_hours(3));
            world.settle();
            assert_eq!(world.phase(), "Deprovisioning");
            world.hive_is_done();
        } else {
            // Nobody looked, and meanwhile it is gone.
            world.remote = None;
            world.secrets.clear();
            world.advance_time(SignedDuration::from_hours(4));
        }
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1));
        is(&world, "ProwJobCompleted", "True", "Expired");
    }
}

#[test]
fn the_pools_limits_are_the_claims() {
    let mut world = World::hive_claim();
    world.catalogue.as_mut().unwrap()["pools"][0]["maxLifetime"] = json!("3h");
    world.spec["lifetime"] = json!("9h");
    world.settle();
    is(&world, "RequestAccepted", "True", "LifetimeClamped");
    assert_eq!(
        manifest(&world)["spec"]["lifetime"],
        "7h15m0s",
        "3h, 4h to provision, and a quarter of an hour"
    );
    world.hive_publishes();
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T13:00:00Z");
    let mut world = World::hive_claim();
    world.catalogue.as_mut().unwrap()["pools"][0]["maxLifetime"] = json!("3h");
    world.catalogue.as_mut().unwrap()["pools"][0]["defaultLifetime"] = json!("1h");
    world.settle();
    world.hive_publishes();
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T11:00:00Z");
    let mut world = World::hive_ready();
    world.settle();
    assert_eq!(world.status.get("expiresAt"), None, "no limit, no end");
    assert_eq!(manifest(&world)["spec"].get("lifetime"), None);
}

#[test]
fn claim_unserved_in_time_fails_and_is_released() {
    for bound in [false, true] {
        let mut world = World::hive_claim();
        world.spec["clusterClaim"]["timeout"] = json!("1h");
        world.settle();
        if bound {
            world.hive_assigns();
            world.settle();
        }
        world.advance_time(SignedDuration::from_hours(1));
        world.settle();
        assert_eq!(world.phase(), "Failed");
        is(
            &world,
            "ProwJobCompleted",
            if bound { "False" } else { "True" },
            if bound { "TearingDown" } else { "TornDown" },
        );
        world.hive_is_done();
        world.settle();
        is(&world, "ProwJobCompleted", "True", "TornDown");
        assert!(!world.objects.contains_key("credentials") && world.remote.is_none());
        let message = world.status["message"].as_str().unwrap().to_owned();
        assert!(
            message.starts_with("not ready within the provision timeout")
                && !message.contains("what is left"),
            "{message}"
        );
        world.settle();
        assert_eq!(world.status["message"], message);
    }
    // Once ready, it no longer counts.
    let mut world = World::hive_claim();
    world.spec["clusterClaim"]["timeout"] = json!("1h");
    world.settle();
    world.hive_publishes();
    world.settle();
    world.advance_time(SignedDuration::from_hours(30));
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

/// A backstop on the hub never ends a cluster that was promised no end.
#[test]
fn the_inputs_maximum_is_a_default_too() {
    let mut world = World::hive_claim();
    world.input["maxima"] = json!({ "lifetime": "6h" });
    world.settle();
    assert_eq!(manifest(&world)["spec"]["lifetime"], "10h15m0s");
    world.hive_publishes();
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T16:00:00Z", "ours, before Hive's own");
    is(&world, "RequestAccepted", "True", "Accepted");
}

/// A field that somebody removed from the manifest is restored from any record of it; without one, nothing changes, and the message helps.
#[test]
fn a_manifest_that_names_no_pool_ends_nothing() {
    let without = |world: &mut World| {
        let claim = &mut world.objects.get_mut("claim").unwrap().object;
        claim["spec"]["forProvider"]["manifest"]["spec"].as_object_mut().unwrap().remove("clusterPoolName");
    };
    let mut world = World::hive_ready();
    let before = manifest(&world).clone();
    without(&mut world);
    world.settle();
    assert_eq!((world.phase().as_str(), manifest(&world)), ("Ready", &before));

    without(&mut world);
    world.drop_status();
    let credentials = &mut world.objects.get_mut("credentials").unwrap().object;
    credentials["metadata"]["annotations"].as_object_mut().unwrap().remove(ours::POOL);
    let results = run(&world.request(), &Options::default(), world.now).results;
    let said = results.iter().find(|result| result.severity == i32::from(Severity::Fatal));
    assert!(said.is_some_and(|said| said.message.contains("put clusterPoolName back")), "{results:?}");
}
