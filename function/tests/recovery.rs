//! What went wrong elsewhere and comes right again: lost writers, lost Secrets, a hub that forgets, a create of which
//! nobody knows how it ended. No cluster may be lost by it, made twice, or left running with nobody told.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on says so")]

mod support;

use jiff::SignedDuration;
use serde_json::json;
use support::world::World;
use testplatform_apis::names::ours;

fn is(world: &World, type_: &str, status: &str, reason: &str) {
    assert_eq!(world.condition(type_), (status.to_owned(), reason.to_owned()), "{type_}");
}

fn told_to_end(world: &World) -> bool {
    world.remote.as_ref().unwrap()["spec"]["tearDownCluster"] == json!(true)
}

fn provisioning() -> World {
    let mut world = World::default();
    world.settle();
    world.hub("Provisioning", &[]);
    world.settle();
    world
}

fn lose_secrets(world: &mut World) {
    world.details.clear();
    world.objects.get_mut("credentials").unwrap().details.clear();
}

#[test]
fn a_refused_request_that_runs_after_all_is_told_to_end() {
    let mut world = World::default();
    world.settle();
    let refused = ("ProwJobCreating", "False", "EphemeralClusterValidationFailure", "no such profile");
    world.hub("Failed", &[refused]);
    world.settle();
    is(&world, "ProwJobCompleted", "True", "NothingToTearDown");
    // The controller restarts after the ownership was corrected.
    world.hub("Provisioning", &[("ProwJobCreating", "False", "ProwJob has been properly created", "")]);
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert!(told_to_end(&world));
    is(&world, "ProwJobCompleted", "False", "TearingDown");
}

#[test]
fn jobs_behind_a_refusal_are_told_to_end() {
    let mut world = World::default();
    world.settle();
    world.hub("Failed", &[("ProwJobCreating", "False", "TooManyProwJobsBound", "a bug")]);
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert!(told_to_end(&world));
}

#[test]
fn lost_connection_secrets_are_read_again_and_nothing_is_wiped_meanwhile() {
    let mut world = World::ready();
    lose_secrets(&mut world);
    let tenant = world.tenant.clone();
    world.pass();
    is(&world, "ClusterReady", "False", "WaitingForCredentials");
    assert_eq!(world.tenant, tenant);
    let annotations = &world.objects["credentials"].object["metadata"]["annotations"];
    assert_eq!(annotations["testplatform.ci.openshift.org/read-again"], "true");
    world.settle();
    is(&world, "ClusterReady", "True", "Ready");
}

#[test]
fn what_came_from_the_shared_secret_is_never_given() {
    let mut world = provisioning();
    world.drop_status();
    let credentials = world.objects.get_mut("credentials").unwrap();
    credentials.object["metadata"]["annotations"] = json!({});
    credentials.object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
    credentials.object["spec"]["forProvider"]["manifest"]["metadata"]["name"] = json!("pending");
    credentials.object["status"]["atProvider"]["manifest"] = json!({ "metadata": { "name": "pending" } });
    credentials.details.insert("kubeconfig".into(), "somebody else's".into());
    world.details.clone_from(&world.objects["credentials"].details);
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(world.tenant.get("kubeconfig"), None);
    world.hub_ready();
    world.settle();
    is(&world, "ClusterReady", "True", "Ready");
}

#[test]
fn a_lost_writer_is_found_again_with_its_cluster() {
    let mut world = World::ready();
    world.objects.remove("ec");
    world.pass();
    assert_eq!(world.phase(), "Degraded");
    assert_eq!(world.policies(), json!(["Observe", "Delete"]), "it looks, and can make nothing");
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
    assert_eq!(world.policies(), json!(["*"]));
}

#[test]
fn a_writer_that_one_pass_did_not_see_changes_nothing() {
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
                world.provider();
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
fn todays_input_does_not_reach_back_to_a_cluster_whose_writer_is_lost() {
    for restored in [false, true] {
        let mut world = World::ready();
        let before = world.remote.clone();
        world.later(SignedDuration::from_hours(3));
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
    // What it was promised at birth holds, and so does what it asked for and was given.
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
        world.later(SignedDuration::from_hours(1));
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
    world.later(SignedDuration::from_hours(2));
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
    world.later(SignedDuration::from_hours(2));
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

/// Until something was asked of a hub, the input may still be changed.
#[test]
fn a_held_claim_follows_the_input() {
    let mut world = World { environment: None, ..World::default() };
    world.settle();
    assert_eq!(world.status["backend"]["namespace"], "ephemeral-cluster");
    world.input["namespace"] = json!("new");
    world.input["providerConfig"] = json!("hub-new");
    world.environment = Some(json!({ "clusterName": "c" }));
    world.settle();
    let writer = &world.objects["ec"].object["spec"];
    assert_eq!(writer["providerConfigRef"]["name"], "hub-new");
    assert_eq!(writer["forProvider"]["manifest"]["metadata"]["namespace"], "new");
    assert_eq!(world.status["hub"]["name"], "hub-new");
    assert_eq!(world.status["backend"]["namespace"], "new");
}

/// The hub quotes what the tenant wrote.
#[test]
fn a_tenants_words_are_no_loss() {
    for quoted in [
        "uid mismatch: the provided object specified uid a, and no existing object was found",
        "metadata.uid: Invalid value: \"a\": field is immutable",
    ] {
        let layers = "observe failed: cannot get desired state: cannot dry run SSA: ";
        for words in [
            format!("admission webhook \"w\" denied the request: env X: {quoted}"),
            format!(
                "EphemeralCluster.ci.openshift.io \"x\" is invalid: spec.ciOperator.test.env.X: Invalid value: {quoted:?}"
            ),
        ] {
            let mut world = World::ready();
            let status = &mut world.objects.get_mut("ec").unwrap().object["status"]["conditions"][0];
            status["status"] = json!("False");
            status["message"] = json!(format!("{layers}{words}"));
            world.pass();
            assert_eq!(world.phase(), "Ready", "{words}");
            is(&world, "RemoteConsistent", "False", "HubRefused");
            assert_eq!(world.policies(), json!(["*"]));
        }
    }
}

/// The round in which provider-kubernetes sets its finalizer looks like one that found nothing.
#[test]
fn one_look_is_none() {
    let mut world = World::ready();
    world.objects.remove("ec");
    world.pass();
    world.provider();
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
    world.provider();
    world.pass();
    assert_eq!(world.phase(), "Degraded");
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
}

#[test]
fn a_failed_claim_without_its_writer_looks_before_it_says_that_nothing_is_left() {
    for gone in [false, true] {
        let mut world = provisioning();
        world.reachable = false;
        world.later(SignedDuration::from_hours(5));
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

#[test]
fn what_an_ambiguous_create_made_is_told_to_end_and_nothing_is_made_later() {
    for late in [false, true] {
        for made in [false, true] {
            let mut world = World {
                refuses: Some("Patch \"https://hub\": context deadline exceeded".into()),
                ..World::default()
            };
            world.settle();
            is(&world, "RemoteConsistent", "False", "HubUnreachable");
            if late {
                world.later(SignedDuration::from_hours(5));
            } else {
                world.spec["tearDownCluster"] = json!(true);
            }
            world.pass();
            is(&world, "ProwJobCompleted", "False", "TearingDown");
            world.refuses = None;
            if made {
                world.make();
            }
            world.settle();
            assert_eq!(world.made, usize::from(made));
            if made {
                assert!(told_to_end(&world));
            } else {
                is(&world, "ProwJobCompleted", "True", "NothingToTearDown");
            }
        }
    }
}

#[test]
fn ready_in_time_is_ready_however_late_it_is_seen() {
    let mut world = provisioning();
    world.later(SignedDuration::from_mins(210));
    world.hub_ready();
    world.provider();
    world.later(SignedDuration::from_mins(90));
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn a_kubeconfig_that_never_comes_is_a_timeout_all_the_same() {
    let mut world = provisioning();
    world.hub_ready();
    world.secrets.clear();
    world.settle();
    world.later(SignedDuration::from_hours(5));
    world.settle();
    assert_eq!(world.phase(), "Failed");
}

#[test]
fn an_old_cluster_survives_the_loss_of_status_and_secrets() {
    for ready in [false, true] {
        let mut world = World::ready();
        world.later(SignedDuration::from_hours(5));
        let shown = world.conditions["Ready"].clone();
        world.drop_status();
        if ready {
            world.conditions.insert("Ready".into(), shown);
        }
        lose_secrets(&mut world);
        world.settle();
        assert_eq!(world.phase(), "Ready");
    }
}

#[test]
fn a_default_ends_no_cluster_that_was_promised_none_or_more() {
    let mut world = World::ready();
    world.input["defaults"] = json!({ "lifetime": "1h" });
    world.later(SignedDuration::from_hours(3));
    world.spec["lifetime"] = json!("8h");
    world.settle();
    world.spec.as_object_mut().unwrap().remove("lifetime");
    world.settle();
    assert_eq!((world.phase().as_str(), world.status.get("expiresAt")), ("Ready", None));

    let mut world = World::default();
    world.input["defaults"] = json!({ "lifetime": "4h" });
    world.settle();
    world.hub_ready();
    world.settle();
    world.later(SignedDuration::from_hours(2));
    for defaults in [json!({ "lifetime": "1h", "provisionTimeout": "1m" }), json!({})] {
        world.input["defaults"] = defaults;
        world.settle();
        assert_eq!(world.status["expiresAt"], "2026-11-21T14:00:00Z");
    }
    let mut world = provisioning();
    world.later(SignedDuration::from_hours(2));
    world.input["defaults"] = json!({ "provisionTimeout": "1h" });
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "a later timeout does not reach back");
}

#[test]
fn a_lifetime_can_be_extended_without_a_maximum_as_far_as_the_hub_goes() {
    let mut world = World::default();
    world.spec["lifetime"] = json!("1h");
    world.settle();
    world.hub_ready();
    world.settle();
    world.spec["lifetime"] = json!("2h");
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T12:00:00Z");
    is(&world, "RequestAccepted", "True", "Accepted");
}

#[test]
fn a_hub_that_forgot_does_not_take_a_running_cluster_away() {
    let mut world = World::ready();
    let refused = json!({ "type": "ProwJobCreating", "status": "False", "reason": "EphemeralClusterValidationFailure", "message": "m" });
    world.remote.as_mut().unwrap()["status"] = json!({ "phase": "Failed", "conditions": [refused] });
    world.settle();
    assert_eq!(world.phase(), "Degraded");
    is(&world, "ClusterReady", "True", "Degraded");
}

#[test]
fn what_cannot_be_read_counts_as_bound() {
    let mut world = World::default();
    world.settle();
    world.hub("Provisioning", &[]);
    world.remote.as_mut().unwrap()["status"]["conditions"] = json!([{ "type": "A", "status": 5 }]);
    world.settle();
    is(&world, "RemoteConsistent", "False", "Unreadable");
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
}

#[test]
fn words_of_the_hub_about_a_field_named_timeout_are_a_refusal() {
    let words = "EphemeralCluster.ci.openshift.io \"x\" is invalid: spec.ciOperator.test.clusterClaim.timeout: Invalid value";
    let mut world = World { refuses: Some(words.into()), ..World::default() };
    world.settle();
    is(&world, "RemoteConsistent", "False", "HubRefused");
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    is(&world, "ProwJobCompleted", "True", "NothingToTearDown");
}

#[test]
fn the_settled_say_nothing_more() {
    let mut world = World { environment: None, ..World::default() };
    world.settle();
    world.environment = Some(json!({ "clusterName": "c" }));
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.events.clear();
    for environment in [None, Some(json!({ "clusterName": "c" }))] {
        world.environment = environment;
        world.settle();
    }
    assert_eq!(world.events, Vec::<String>::new());

    let mut world = World::ready();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.events.clear();
    world.remote = None;
    world.settle();
    assert_eq!(world.events, ["TornDown"]);
}

/// Core's cache can show the emptied keys of an end before the status of the same pass.
#[test]
fn emptied_keys_without_status_are_those_of_an_end_before_anything_was_made() {
    let mut world = World::default();
    world.spec["tearDownCluster"] = json!(true);
    world.pass();
    world.drop_status();
    world.settle();
    is(&world, "ProwJobCompleted", "True", "NothingToTearDown");
    assert!(!world.objects.contains_key("ec"));
}

#[test]
fn a_flapping_hub_repeats_no_advice() {
    let mut world = World::default();
    world.spec["lifetime"] = json!("4h");
    world.settle();
    world.hub_ready();
    world.settle();
    world.events.clear();
    for _ in 0..2 {
        world.hub("Provisioning", &[("ClusterReady", "False", "SecretsFetchFailure", "t")]);
        world.settle();
        world.hub_ready();
        world.settle();
    }
    assert!(!world.events.contains(&"RequestAdjusted".to_owned()), "{:?}", world.events);
}

#[test]
fn mirrored_conditions_of_a_replaced_object_are_unknown() {
    let mut world = World::ready();
    world.hub("Ready", &[("ClusterReady", "True", "", ""), ("TestCompleted", "True", "", "")]);
    world.settle();
    world.remote.as_mut().unwrap()["metadata"]["uid"] = json!("other");
    world.settle();
    is(&world, "TestCompleted", "Unknown", "NotReported");
}

#[test]
fn what_the_hub_noted_outlives_its_object() {
    let mut world = World::ready();
    let noted = json!({ "reason": "ProwJobFailure" }).to_string();
    world.remote.as_mut().unwrap()["metadata"]["annotations"][ours::DIAGNOSTICS] = noted.as_str().into();
    world.settle();
    assert_eq!(world.status["diagnostics"], noted);
    world.remote = None;
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(world.status["diagnostics"], noted);
}

/// Setting its finalizer makes provider-kubernetes forget what it observed, until it looks again half a minute later.
#[test]
fn credentials_of_which_the_observation_is_lost_are_read_again() {
    let mut world = World::ready();
    let credentials = world.objects.get_mut("credentials").unwrap();
    credentials.object["status"]["atProvider"] = json!({});
    world.pass();
    let again = |world: &World| {
        world.objects["credentials"].object["metadata"]["annotations"][ours::READ_AGAIN].clone()
    };
    assert_eq!(again(&world), "true");
    world.settle();
    assert!(again(&world).is_null());
    assert_eq!(world.phase(), "Ready");
}
