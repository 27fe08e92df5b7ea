//! Lives of a claim for a cluster out of a Hive pool, from the tenant's side: good ones, and such in which something goes
//! wrong and comes right again.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on says so")]

mod support;

use jiff::SignedDuration;
use serde_json::{Value, json};
use support::{
    hive::{catalogue, condition, holding, peer},
    world::{KUBECONFIG, NAME, World},
};
use testplatform_apis::names::ours;

fn is(world: &World, type_: &str, status: &str, reason: &str) {
    assert_eq!(world.condition(type_), (status.to_owned(), reason.to_owned()), "{type_}");
}

fn manifest(world: &World) -> &Value {
    &world.objects["claim"].object["spec"]["forProvider"]["manifest"]
}

fn assigned() -> World {
    let mut world = World::hive();
    world.settle();
    world.hive_assigns();
    world.settle();
    world
}

fn tear_down(world: &mut World) {
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
}

#[test]
fn from_the_queue_to_ready_and_to_its_end() {
    let mut world = World::hive();
    world.settle();
    assert_eq!((world.phase().as_str(), world.word().as_str()), ("Pending", "Provisioning"));
    is(&world, "ClusterAssigned", "Unknown", "AwaitingPool");
    is(&world, "ClusterRunning", "Unknown", "NotAssigned");
    is(&world, "CredentialsPublished", "False", "NotAssigned");
    world.hive_queues(
        &json!({ "queue": { "position": 3, "depth": 5 }, "supply": "Installing", "pool": { "found": true } }),
    );
    world.settle();
    assert_eq!(world.phase(), "Pending");
    is(&world, "ClusterAssigned", "False", "Installing");
    assert_eq!(world.status["queue"], json!({ "position": 3, "depth": 5 }));
    assert_eq!(
        world.status["message"],
        "waiting for a cluster of pool hive-pools/aws-420, place 3 of 5 in its queue; one is being installed"
    );
    world.hive_assigns();
    world.settle();
    assert_eq!((world.phase().as_str(), world.word().as_str()), ("Provisioning", "Provisioning"));
    is(&world, "ClusterAssigned", "True", "Claimed");
    is(&world, "ClusterRunning", "False", "StartingMachines");
    is(&world, "CredentialsPublished", "False", "NotRunning");
    world.hive_runs();
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "running is not ready");
    is(&world, "CredentialsPublished", "False", "SecretMissing");
    world.hive_publishes();
    world.settle();
    assert_eq!((world.phase().as_str(), world.word().as_str()), ("Ready", "Ready"));
    is(&world, "ClusterReady", "True", "Ready");
    is(&world, "ClusterRunning", "True", "Running");
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    assert_eq!(world.status["version"], "4.20.3");
    assert_eq!(world.status["apiServerURL"], "https://api.x7k2p.example:6443");
    assert_eq!(world.status["hub"], json!({ "name": "hive-a-config", "reason": "OnlyPool" }));
    assert_eq!(world.status["backend"]["kind"], "ClusterClaim");
    assert_eq!(world.status["backend"]["pool"], "aws-420");
    assert_eq!(world.status.get("queue"), None);

    tear_down(&mut world);
    assert_eq!((world.phase().as_str(), world.word().as_str()), ("Deprovisioning", "Deprovisioning"));
    is(&world, "ProwJobCompleted", "False", "TearingDown");
    is(&world, "ClusterReady", "True", "Deprovisioning");
    assert!(!world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    assert!(world.objects.contains_key("credentials"), "until the cluster is gone");
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    is(&world, "ProwJobCompleted", "True", "TornDown");
    assert_eq!(world.objects.keys().collect::<Vec<_>>(), ["claim"], "what looked for it remembers the end");
    assert_eq!(world.policies(), json!(["Observe", "Delete"]));
    assert_eq!((world.tenant["kubeconfig"].as_str(), world.made), ("", 1));
    let mut events = world.events.clone();
    events.sort_unstable();
    let told = ["ClusterReady", "CredentialsPublished", "Provisioning", "TearingDown", "TornDown"];
    assert_eq!(events, told);
}

#[test]
fn the_manifest_says_what_hive_and_the_provider_need_and_nothing_of_theirs() {
    let mut world = World::hive();
    world.spec["lifetime"] = json!("4h");
    world.spec["clusterClaim"]["timeout"] = json!("1h");
    world.spec["clusterClaim"]["resume"] = json!(false);
    world.input["maxima"] = json!({ "lifetime": "6h" });
    world.settle();
    let born = manifest(&world).clone();
    assert_eq!(born["metadata"]["namespace"], "hive-pools");
    assert_eq!(born["metadata"]["name"], NAME);
    assert_eq!(
        born["spec"],
        json!({
            "clusterPoolName": "aws-420",
            "subjects": [{ "kind": "ServiceAccount", "name": "testplatform-provider", "namespace": "testplatform" }],
            // The longest lifetime, the provision timeout and a quarter of an hour.
            "lifetime": "7h15m0s",
        })
    );
    let notes = &born["metadata"]["annotations"];
    assert_eq!(notes["ephemeralcluster.ci.openshift.io/konflux-tenant"], "tenant-a");
    assert_eq!(notes["ephemeralcluster.ci.openshift.io/konflux-cluster"], "stone-prd");
    assert_eq!(notes[ours::RESUME], "false");
    assert_eq!(notes[ours::LIFETIME], "4h0m0s");
    world.hive_publishes();
    world.settle();
    let mut live = manifest(&world).clone();
    assert_eq!(live["metadata"]["uid"], "remote-1", "the uid pins the cluster");
    live["metadata"].as_object_mut().unwrap().remove("uid");
    assert_eq!(live["spec"], born["spec"], "Hive's namespace is not ours to write");
    let object = &world.objects["claim"].object;
    assert_eq!(object["metadata"]["labels"]["testplatform.ci.openshift.org/component"], "claim");
    assert_eq!(object["spec"]["providerConfigRef"]["name"], "hive-a-config");
    let credentials = &world.objects["credentials"].object["spec"];
    assert_eq!(credentials["forProvider"]["manifest"]["metadata"]["namespace"], "published");
    assert_eq!(credentials["providerConfigRef"]["name"], "hive-a-config");
    // The lifetime changes without a word to Hive.
    world.spec["lifetime"] = json!("5h");
    world.settle();
    assert_eq!(manifest(&world)["spec"], born["spec"]);
}

#[test]
fn what_is_not_published_is_never_ready() {
    let mut world = assigned();
    let running = condition(&world, "ClusterRunning", "True", "Running");
    world.hive_says(&[running]);
    // Without a word of the provider, and with words that are not to be believed.
    let reports = [
        json!({}),
        json!({ "credentials": { "secretName": "another-claim-credentials" } }),
        json!({ "ownership": "Mismatch", "credentials": { "secretName": format!("{NAME}-credentials") } }),
        json!({ "blockingReason": { "reason": "KubeconfigRejected" } }),
    ];
    let shown = ["SecretMissing", "SecretMissing", "OwnershipMismatch", "KubeconfigRejected"];
    world.secrets.insert("another-claim-credentials".into(), ("stolen".into(), "stolen".into()));
    for (report, reason) in reports.iter().zip(shown) {
        world.reports(report);
        world.settle();
        assert_eq!(world.phase(), "Provisioning", "{report}");
        is(&world, "ClusterReady", "False", "Provisioning");
        is(&world, "CredentialsPublished", "False", reason);
    }
    world.remote.as_mut().unwrap()["metadata"]["annotations"].as_object_mut().unwrap().remove(ours::STATUS);
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "{:?}", world.status["message"]);
    is(&world, "ClusterAssigned", "True", "Claimed");
    is(&world, "ClusterRunning", "True", "Running");
    world.remote.as_mut().unwrap()["metadata"]["annotations"][ours::STATUS] = json!("no json");
    world.settle();
    is(&world, "RemoteConsistent", "False", "Unreadable");
    world.hive_publishes();
    world.settle();
    is(&world, "ClusterReady", "True", "Ready");
}

#[test]
fn a_flap_or_a_hibernation_withdraws_nothing() {
    let mut world = World::hive_ready();
    world.hive_stops("Hibernating");
    world.settle();
    assert_eq!((world.phase().as_str(), world.word().as_str()), ("Degraded", "Ready"));
    is(&world, "ClusterRunning", "False", "Hibernating");
    is(&world, "ClusterReady", "True", "Degraded");
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    world.hive_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn the_choice_is_made_once() {
    let changes: [fn(&mut World); 4] = [
        |w| w.catalogue = None,
        |w| w.catalogue = Some(json!({ "pools": "broken" })),
        |w| w.catalogue.as_mut().unwrap()["hubs"][0]["cordon"] = json!(true),
        |w| w.catalogue.as_mut().unwrap()["pools"][0]["maxLifetime"] = json!("1m"),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut world = World::hive_ready();
        let before = (world.objects["claim"].object["spec"].clone(), world.status.clone());
        change(&mut world);
        world.drop_status();
        world.settle();
        let mut after = (world.objects["claim"].object["spec"].clone(), world.status.clone());
        assert_eq!(after.1["hub"]["name"], "hive-a-config");
        after.1["hub"] = before.1["hub"].clone();
        assert_eq!(after, before, "change {i}");
    }
}

#[test]
fn what_is_asked_of_core_does_not_depend_on_what_was_fetched() {
    let asked = |world: &World, fetched: bool| {
        let mut request = world.request();
        if !fetched {
            request.required_resources.clear();
        }
        let options = function_testplatform::Options::default();
        let response = function_testplatform::run(&request, &options, world.now);
        let keys =
            |r: function_testplatform::proto::Requirements| r.resources.into_keys().collect::<Vec<_>>();
        response.requirements.map(keys).unwrap_or_default()
    };
    let mut world = World::hive();
    for fetched in [false, true] {
        assert_eq!(asked(&world, fetched), ["clusters", "envcfg", "pools"]);
    }
    world.settle();
    for fetched in [false, true] {
        assert_eq!(asked(&world, fetched), ["envcfg"], "the writer is the pin");
    }
    tear_down(&mut world);
    assert_eq!((world.phase().as_str(), asked(&world, true)), ("Deprovisioned", vec!["envcfg".to_owned()]));
    assert_eq!(asked(&World::default(), false), ["envcfg"], "and no catalogue without a pool");
}

#[test]
fn torn_down_while_it_waits() {
    for queued in [false, true] {
        let mut world = World::hive();
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
    world.provider();
    world.drop_status();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1));
    is(&world, "ProwJobCompleted", "True", "TornDown");
    world.drop_status();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1), "nor afterwards");
}

/// What ends a cluster, the phase that it leads to, and why nothing is left in the end.
type End = (fn(&mut World), &'static str, &'static str);

/// Core shows nothing of an Object that it deletes, until it is desired again.
#[test]
fn what_is_not_shown_any_more_is_not_gone() {
    let ends: [End; 4] = [
        (|w| w.spec["tearDownCluster"] = json!(true), "Deprovisioning", "TornDown"),
        (|w| w.later(SignedDuration::from_hours(2)), "Deprovisioning", "Expired"),
        (World::hive_loses_the_cluster, "Failed", "TornDown"),
        // It was never ready, and is given back all the same.
        (|w| w.later(SignedDuration::from_hours(4)), "Failed", "TornDown"),
    ];
    for (i, (end, phase, reason)) in ends.into_iter().enumerate() {
        let mut world = World::hive();
        world.spec["lifetime"] = json!("2h");
        world.settle();
        world.hive_assigns();
        if i < 3 {
            world.hive_publishes();
        }
        world.settle();
        end(&mut world);
        world.provider();
        world.pass();
        assert!(
            !world.refs.contains("claim") && world.objects.contains_key("claim"),
            "on its way out, unseen"
        );
        for _ in 0..3 {
            world.pass();
            assert!(world.refs.contains("claim"), "desired again, so that it is seen");
            world.provider();
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
fn a_name_that_is_taken_again_is_an_end() {
    let mut world = World::hive_ready();
    tear_down(&mut world);
    world.hive_is_done();
    world.provider();
    world.remote = Some(json!({ "metadata": { "name": NAME, "uid": "somebody-elses" } }));
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    is(&world, "ProwJobCompleted", "True", "TornDown");
    assert!(world.remote.is_some());
    assert_eq!(world.policies(), json!(["Observe"]));
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
fn our_lifetime_ends_it() {
    let mut world = World::hive();
    world.spec["lifetime"] = json!("2h");
    world.settle();
    world.hive_publishes();
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T12:00:00Z");
    world.later(SignedDuration::from_hours(2));
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

#[test]
fn hives_own_end_is_an_end_and_no_loss() {
    for seen in [false, true] {
        let mut world = World::hive_ready();
        let remote = world.remote.as_mut().unwrap();
        remote["status"]["lifetime"] = json!("3h");
        world.settle();
        assert_eq!(world.status["expiresAt"], "2026-11-21T13:00:00Z", "the pool's maximum");
        if seen {
            world.later(SignedDuration::from_hours(3));
            world.settle();
            assert_eq!(world.phase(), "Deprovisioning");
            world.hive_is_done();
        } else {
            // Nobody looked, and meanwhile it is gone.
            world.remote = None;
            world.secrets.clear();
            world.later(SignedDuration::from_hours(4));
        }
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 1));
        is(&world, "ProwJobCompleted", "True", "Expired");
    }
}

#[test]
fn the_pools_limits_are_the_claims() {
    let mut world = World::hive();
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
    let mut world = World::hive();
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
fn a_claim_that_is_not_served_in_time_fails_and_is_given_back() {
    for bound in [false, true] {
        let mut world = World::hive();
        world.spec["clusterClaim"]["timeout"] = json!("1h");
        world.settle();
        if bound {
            world.hive_assigns();
            world.settle();
        }
        world.later(SignedDuration::from_hours(1));
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
    let mut world = World::hive();
    world.spec["clusterClaim"]["timeout"] = json!("1h");
    world.settle();
    world.hive_publishes();
    world.settle();
    world.later(SignedDuration::from_hours(30));
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn vanished_before_bind_is_asked_for_once_more_and_after_it_never() {
    let mut world = World::hive();
    world.settle();
    world.hive_queues(&json!({}));
    world.settle();
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Pending", 2));
    assert_eq!(world.status["backend"]["attempt"], 2);
    assert_eq!(manifest(&world)["spec"]["subjects"][0]["name"], "testplatform-provider");
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 2), "once");

    for mut world in [assigned(), World::hive_ready()] {
        world.remote = None;
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
        is(&world, "ProwJobCompleted", "True", "RemoteDeleted");
        assert_eq!(world.policies(), json!(["Observe", "Delete"]));
        world.drop_status();
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 1), "also after a restore");
    }
}

/// Both limits and the namespace of the credentials are those of the pool and the hub, and the catalogue is not asked again.
#[test]
fn a_lost_writer_is_found_again_with_its_limits() {
    let lost: [&[&str]; 2] = [&["claim"], &["claim", "credentials"]];
    for own in [None, Some("9h")] {
        for lost in lost {
            let mut world = World::hive();
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
            world.later(SignedDuration::from_hours(1));
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

/// A backstop on the hub never ends a cluster that was promised no end.
#[test]
fn the_inputs_maximum_is_a_default_too() {
    let mut world = World::hive();
    world.input["maxima"] = json!({ "lifetime": "6h" });
    world.settle();
    assert_eq!(manifest(&world)["spec"]["lifetime"], "10h15m0s");
    world.hive_publishes();
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T16:00:00Z", "ours, before Hive's own");
    is(&world, "RequestAccepted", "True", "Accepted");
}

/// Nothing but the kubeconfig in the composite's own Secret is left.
#[test]
fn a_cluster_of_which_nobody_knows_where_it_is_needs_an_administrator() {
    let mut world = World::hive_ready();
    world.objects.clear();
    world.drop_status();
    for phase in ["Degraded", "Deprovisioning"] {
        world.settle();
        assert_eq!(world.phase(), phase);
        is(&world, "RemoteConsistent", "Unknown", "PlaceUnknown");
        let message = world.status["message"].as_str().unwrap();
        assert!(message.contains("an administrator has to restore Object managed-demo-x7k2p"), "{message}");
        world.spec["tearDownCluster"] = json!(true);
    }
    is(&world, "ProwJobCompleted", "False", "TearingDown");
    assert_eq!(world.made, 1);
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
        let mut world = World::hive();
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
    assert_eq!(world.policies(), json!(["Observe"]), "Delete goes by name");
    tear_down(&mut world);
    assert!(world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
}

#[test]
fn a_cluster_deleted_under_its_claim_is_lost_and_the_claim_is_given_back() {
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
fn a_lost_writer_is_found_again_with_its_cluster() {
    for restored in [false, true] {
        for ready in [false, true] {
            let mut world = if ready { World::hive_ready() } else { assigned() };
            let before = manifest(&world).clone();
            world.objects.remove("claim");
            if restored {
                world.drop_status();
            }
            world.pass();
            assert_eq!(world.policies(), json!(["Observe", "Delete"]), "it looks, and can make nothing");
            world.settle();
            assert_eq!(world.phase(), if ready { "Ready" } else { "Provisioning" });
            assert_eq!((world.made, world.policies()), (1, json!(["*"])));
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
fn a_writer_that_one_pass_did_not_see_changes_nothing() {
    let mut world = World::hive_ready();
    let before = manifest(&world).clone();
    let claim = world.objects.remove("claim").unwrap();
    world.pass();
    world.objects.insert("claim".into(), claim);
    world.settle();
    assert_eq!((world.phase().as_str(), world.made, manifest(&world)), ("Ready", 1, &before));
}

#[test]
fn quota_is_a_queue_in_the_order_of_creation() {
    let mut world = World::hive();
    world.catalogue.as_mut().unwrap()["quotas"] = json!([{ "tenant": "*", "maxConcurrent": 2 }]);
    let waiting = json!({ "conditions": [{ "type": "RequestAccepted", "status": "False", "reason": "QuotaExceeded" }] });
    let mut younger = peer("younger", "tenant-a", &waiting);
    younger["metadata"]["creationTimestamp"] = json!("2026-11-21T10:00:01Z");
    let elsewhere = peer("elsewhere", "tenant-b", &holding("hive-a-config", "aws-420"));
    world.peers = vec![
        peer("one", "tenant-a", &holding("hive-a-config", "aws-420")),
        peer("two", "tenant-a", &waiting),
        younger,
        elsewhere,
    ];
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Pending", 0));
    is(&world, "RequestAccepted", "False", "QuotaExceeded");
    is(&world, "ClusterAssigned", "False", "QuotaExceeded");
    // The older one is refused for another reason, which does not stand in the way.
    world.peers[1]["status"]["conditions"][0]["reason"] = json!("PoolNotFound");
    world.settle();
    assert_eq!(world.made, 1);
    assert_eq!(world.events, ["QuotaExceeded", "RequestAccepted"]);
}

/// A composite of which no function ever says anything, as of one with a Composition that does not exist.
#[test]
fn what_is_never_answered_is_not_waited_for() {
    let mut world = World::hive();
    world.catalogue.as_mut().unwrap()["hubs"][0]["maxClusters"] = json!(1);
    world.peers = vec![peer("mute", "tenant-b", &json!({}))];
    world.peers[0]["spec"]["clusterClaim"]["timeout"] = json!("1000h");
    world.settle();
    is(&world, "RequestAccepted", "False", "HubFull");
    // It was made an hour before, and its own timeout does not prolong it.
    world.later(SignedDuration::from_hours(3));
    world.settle();
    assert_eq!(world.made, 1);
    // Nor is one whose last pass failed.
    let mut world = World::hive();
    world.catalogue.as_mut().unwrap()["hubs"][0]["maxClusters"] = json!(1);
    let fatal = json!({ "phase": "Pending", "conditions": [{ "type": "RequestAccepted", "status": "Unknown", "reason": "FatalError" }] });
    world.peers = vec![peer("broken", "tenant-b", &fatal)];
    world.settle();
    assert_eq!(world.made, 1);
}

/// Until its end is proved, a claim holds its place.
#[test]
fn what_is_being_torn_down_counts() {
    let mut leaving = World::hive_ready();
    tear_down(&mut leaving);
    let mut status = leaving.status.clone();
    status["conditions"] = leaving.conditions.values().cloned().collect();
    let mut world = World::hive();
    world.catalogue.as_mut().unwrap()["hubs"][0]["maxClusters"] = json!(1);
    world.peers = vec![peer("leaving", "tenant-b", &status)];
    world.settle();
    is(&world, "RequestAccepted", "False", "HubFull");
    leaving.hive_is_done();
    leaving.settle();
    status = leaving.status.clone();
    status["conditions"] = leaving.conditions.values().cloned().collect();
    world.peers = vec![peer("leaving", "tenant-b", &status)];
    world.settle();
    assert_eq!(world.made, 1);
}

#[test]
fn a_claim_that_can_never_be_afforded_stops_no_other() {
    let mut world = World::hive();
    let catalogue = world.catalogue.as_mut().unwrap();
    catalogue["pools"][1]["cost"] = json!(6);
    catalogue["quotas"] = json!([{ "tenant": "tenant-a", "budget": 5 }]);
    let waits = json!({ "conditions": [{ "type": "RequestAccepted", "status": "False", "reason": "QuotaExceeded" }] });
    let mut older = peer("older", "tenant-a", &waits);
    older["spec"]["clusterClaim"]["version"] = json!("4.19");
    world.peers = vec![older];
    world.settle();
    assert_eq!(world.made, 1);
}

#[test]
fn a_pool_of_no_weight_is_given_by_its_name_only() {
    let mut world = World::hive();
    let catalogue = world.catalogue.as_mut().unwrap();
    catalogue["pools"][0]["weight"] = json!(0);
    catalogue["hubs"][0]["maxClusters"] = json!(1);
    let mut unnamed = world.clone();
    unnamed.settle();
    is(&unnamed, "RequestAccepted", "False", "PoolNotFound");
    let message = unnamed.conditions["RequestAccepted"]["message"].as_str().unwrap();
    assert!(message.contains("spec.clusterClaim.pool.name aws-420"), "{message}");
    // One that waits for what it can never get takes no place from one that names it.
    let full =
        json!({ "conditions": [{ "type": "RequestAccepted", "status": "False", "reason": "HubFull" }] });
    world.peers = vec![peer("unnamed", "tenant-b", &full)];
    world.spec["clusterClaim"] = json!({ "pool": { "name": "aws-420" } });
    world.settle();
    assert_eq!(world.made, 1);
    // And multi falls back.
    let mut world = World::hive();
    let pools = world.catalogue.as_mut().unwrap()["pools"].as_array_mut().unwrap();
    let mut multi = pools[0].clone();
    multi["name"] = json!("multi");
    multi["labels"]["architecture"] = json!("multi");
    multi["weight"] = json!(0);
    pools.push(multi);
    world.spec["clusterClaim"]["architecture"] = json!("multi");
    world.settle();
    assert_eq!(world.status["backend"]["pool"], "aws-420");
}

#[test]
fn a_limit_that_cannot_be_read_is_not_no_limit() {
    let held = [
        json!([{ "tenant": "tenant-a", "maxConcurrent": "2" }]),
        json!([{ "tenant": "tenant-a", "maxconcurrent": 2 }]),
        json!([{ "tenant": 5, "maxConcurrent": 2 }]),
        json!([{ "tenant": "*", "budget": -1 }]),
        json!([{ "tenant": "tenant-a", "budget": -1 }, { "tenant": "*" }]),
    ];
    for quotas in held {
        let mut world = World::hive();
        world.catalogue.as_mut().unwrap()["quotas"] = quotas.clone();
        world.settle();
        is(&world, "RequestAccepted", "False", "CatalogueInvalid");
        assert_eq!((world.phase().as_str(), world.made), ("Pending", 0), "{quotas}");
        world.catalogue.as_mut().unwrap()["quotas"] = json!([]);
        world.settle();
        assert_eq!(world.made, 1);
        // It never reaches what is there.
        world.catalogue.as_mut().unwrap()["quotas"] = quotas;
        world.settle();
        is(&world, "RequestAccepted", "True", "Accepted");
    }
    for quotas in [
        json!([{ "tenant": "tenant-b", "maxConcurrent": "2" }]),
        json!([{ "tenant": "*", "budget": -1 }, { "tenant": "tenant-a", "budget": 1 }]),
        json!([{ "tenant": "tenant-a", "budget": 1 }, { "tenant": "tenant-a", "budget": 2 }]),
    ] {
        let mut world = World::hive();
        world.catalogue.as_mut().unwrap()["quotas"] = quotas.clone();
        world.settle();
        assert_eq!(world.made, 1, "{quotas}");
    }
}

#[test]
fn a_budget_counts_what_clusters_cost() {
    let mut world = World::hive();
    let catalogue = world.catalogue.as_mut().unwrap();
    catalogue["pools"][0]["cost"] = json!(3);
    catalogue["quotas"] = json!([{ "tenant": "tenant-a", "budget": 5 }]);
    world.peers = vec![peer("one", "tenant-a", &holding("hive-a-config", "aws-420"))];
    world.settle();
    is(&world, "RequestAccepted", "False", "QuotaExceeded");
    // What has ended costs nothing.
    world.peers[0]["status"]["phase"] = json!("Deprovisioned");
    world.peers[0]["status"]["conditions"] =
        json!([{ "type": "ProwJobCompleted", "status": "True", "reason": "TornDown" }]);
    world.settle();
    assert_eq!(world.made, 1);
}

#[test]
fn a_full_hub_is_skipped_and_its_places_go_to_the_oldest() {
    let mut world = World::hive();
    let mut second = catalogue()["pools"][0].clone();
    second["hub"] = json!("hive-b");
    world.catalogue.as_mut().unwrap()["pools"].as_array_mut().unwrap().push(second);
    world.catalogue.as_mut().unwrap()["hubs"][0]["maxClusters"] = json!(1);
    world.peers = vec![peer("one", "tenant-b", &holding("hive-a-config", "aws-420"))];
    let mut full = world.clone();
    full.settle();
    assert_eq!(full.status["hub"], json!({ "name": "hive-b", "reason": "OnlyPoolWithRoom" }));

    world.catalogue.as_mut().unwrap()["hubs"][1]["cordon"] = json!(true);
    world.settle();
    is(&world, "RequestAccepted", "False", "HubFull");
    assert_eq!(world.status["hub"], json!({ "reason": "HubFull" }));
    // One place is free, and an older claim waits for it.
    world.peers[0]["status"] =
        json!({ "conditions": [{ "type": "RequestAccepted", "status": "False", "reason": "HubFull" }] });
    world.settle();
    assert_eq!(world.made, 0);
    world.peers.clear();
    world.settle();
    assert_eq!(world.made, 1);
}

#[test]
fn multi_falls_back_to_amd64_and_a_named_pool_brings_its_own() {
    let mut world = World::hive();
    world.spec["clusterClaim"] =
        json!({ "version": "4.20", "architecture": "multi", "cloud": "aws", "labels": {} });
    world.settle();
    assert_eq!(world.made, 1);
    let mut world = World::hive();
    let pool = &mut world.catalogue.as_mut().unwrap()["pools"][1];
    pool["labels"] = json!({ "product": "okd", "architecture": "arm64" });
    pool["weight"] = json!(0);
    world.spec["clusterClaim"] = json!({ "pool": { "name": "aws-419" } });
    world.settle();
    assert_eq!(world.status["hub"], json!({ "name": "hive-b", "reason": "PoolNamed" }));
}

#[test]
fn a_broken_entry_hurts_no_other() {
    let mut world = World::hive();
    let catalogue = world.catalogue.as_mut().unwrap();
    let pools = catalogue["pools"].as_array_mut().unwrap();
    for (field, value) in [
        ("hub", json!("nowhere")),
        ("maxLifetime", json!("soon")),
        ("subject", json!(null)),
        ("allowedTenants", json!(null)),
        ("weight", json!(101)),
        ("name", json!("Not A Name")),
    ] {
        let mut broken = pools[0].clone();
        broken["namespace"] = json!("elsewhere");
        broken[field] = value;
        pools.insert(0, broken);
    }
    let twice = pools.last().unwrap().clone();
    pools.push(twice);
    world.settle();
    assert_eq!(world.made, 1);
    assert_eq!(world.status["backend"]["namespace"], "hive-pools");
}

#[test]
fn an_administrators_composite_may_use_any_pool() {
    let mut world = World { claim: false, ..World::hive() };
    world.catalogue.as_mut().unwrap()["quotas"] = json!([{ "tenant": "*", "maxConcurrent": 0 }]);
    world.settle();
    assert_eq!(world.made, 1);
    is(&world, "RequestAccepted", "True", "NoTenant");
}

#[test]
fn a_changed_claim_does_not_touch_the_cluster() {
    let mut world = World::hive_ready();
    let before = world.remote.clone();
    world.spec["clusterClaim"] = json!({ "pool": { "name": "aws-419" } });
    world.settle();
    is(&world, "RequestAccepted", "True", "ChangeIgnored");
    world.spec = json!({ "ciOperator": {} });
    world.settle();
    assert_eq!((&world.remote, world.phase().as_str()), (&before, "Ready"));
}
