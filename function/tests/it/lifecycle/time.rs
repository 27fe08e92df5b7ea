//! Effects of time on a claim.

use function_model::world::World;
use jiff::SignedDuration;
use serde_json::json;
use testplatform_apis::names::ours;

use super::{is, pair};

#[test]
fn a_lifetime_ends_the_cluster_and_can_be_extended() {
    let mut world = World::default();
    world.spec["lifetime"] = json!("2h");
    world.settle();
    world.advance_time(SignedDuration::from_mins(30));
    world.hub_ready();
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T12:30:00Z");
    let remote = &world.remote.as_ref().unwrap()["metadata"]["annotations"];
    assert_eq!(remote["testplatform.ci.openshift.org/lifetime"], "2h0m0s");
    assert_eq!(remote["testplatform.ci.openshift.org/max-lifetime"], "2h0m0s");
    // A restore at a time at which the hub does not say ready: the note on the writer remembers.
    let expires = world.status["expiresAt"].clone();
    let mut restored = world.clone();
    restored.report_phase("Provisioning", &[]);
    restored.reconcile_objects();
    restored.drop_status();
    restored.settle();
    assert_eq!(restored.status["expiresAt"], expires);
    world.advance_time(SignedDuration::from_mins(110));
    world.settle();
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Expiring"));
    world.advance_time(SignedDuration::from_mins(10));
    world.settle();
    assert_eq!(
        (world.phase().as_str(), world.events.last().unwrap().as_str()),
        ("Deprovisioning", "Expired")
    );
    world.remote = None;
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "Expired"));
}

/// The tenant could not use it before.
#[test]
fn a_lifetime_begins_once_the_tenant_has_the_credentials() {
    for ready_at in ["2026-11-21T10:30:00Z", "1970-01-01T00:00:00Z"] {
        let mut world = World::default();
        world.spec["lifetime"] = json!("1h");
        world.settle();
        world.advance_time(SignedDuration::from_mins(30));
        world.hub_ready();
        world.remote.as_mut().unwrap()["status"]["conditions"][0]["lastTransitionTime"] = json!(ready_at);
        let published = std::mem::take(&mut world.secrets);
        world.settle();
        assert_eq!(world.phase(), "Provisioning");
        world.advance_time(SignedDuration::from_mins(65));
        world.secrets = published;
        world.settle();
        assert_eq!(world.phase(), "Ready", "torn down as it is delivered");
        assert_eq!(world.status["expiresAt"], "2026-11-21T12:35:00Z");
        // The hub's own end would come before that.
        world.settle();
        let told = &world.remote.as_ref().unwrap()["metadata"]["annotations"];
        assert_eq!(told["testplatform.ci.openshift.org/delivered-at"], "2026-11-21T11:35:00Z");
    }
}

/// Nobody had it before it was requested, whatever a clock on the hub says.
#[test]
fn a_cluster_is_not_ready_before_its_claim_was_made() {
    let mut world = World::default();
    world.spec["lifetime"] = json!("1h");
    world.settle();
    world.hub_ready();
    world.remote.as_mut().unwrap()["status"]["conditions"][0]["lastTransitionTime"] =
        json!("1970-01-01T00:00:00Z");
    world.settle();
    assert_eq!((world.phase().as_str(), &world.status["readyAt"]), ("Ready", &json!("2026-11-21T10:00:00Z")));
}

/// A teardown may take longer than the lifetime would have been, and what is over is looked at for as long as the claim is there.
#[test]
fn torn_down_claim_does_not_become_expired() {
    let mut world = World::default();
    world.spec["lifetime"] = json!("2h");
    world.settle();
    world.hub_ready();
    world.settle();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    let told = |world: &World, phase: &str, words: &str| {
        assert_eq!((world.phase().as_str(), &world.status["message"]), (phase, &json!(words)));
    };
    told(&world, "Deprovisioning", "the cluster is being torn down");
    world.advance_time(SignedDuration::from_hours(3));
    world.settle();
    told(&world, "Deprovisioning", "the cluster is being torn down");
    world.hub_done("Deprovisioned");
    world.settle();
    told(&world, "Deprovisioned", "the cluster is gone");
    assert!(!world.events.contains(&"Expired".to_owned()), "{:?}", world.events);
}

/// The annotation's time is shown, and ends nothing by itself: its writer does that.
#[test]
fn a_cleanup_shortens_and_never_lengthens() {
    let note = "testplatform.ci.openshift.org/cleanup-since";
    let mut world = World::default();
    world.spec["lifetime"] = json!("2h");
    world.spec["cleanup"] = json!({ "onOwnerCompletion": true, "keepForDebug": "30m" });
    world.settle();
    world.hub_ready();
    world.settle();
    let shown = |world: &World| {
        (world.status["expiresAt"].clone(), world.status["message"].as_str().unwrap_or_default().to_owned())
    };
    let usual = (json!("2026-11-21T12:00:00Z"), "the cluster is ready".to_owned());
    assert_eq!(shown(&world), usual);
    world.annotations[note] = json!("2026-11-21T10:15:00Z");
    world.settle();
    let words = "the cluster is ready; the runs that own it have finished, so it is torn down at 2026-11-21T10:45:00Z";
    assert_eq!(shown(&world), (json!("2026-11-21T10:45:00Z"), words.to_owned()));
    // Nobody asked, it is not so, it cannot be read, or it would be later: then it is as if there were none.
    for (field, value) in [
        ("cleanup", json!(null)),
        ("cleanup", json!({ "onOwnerCompletion": false, "keepForDebug": "30m" })),
        ("cleanup", json!({ "onOwnerCompletion": true, "keepForDebug": "2h" })),
        ("cleanup", json!({ "onOwnerCompletion": true, "keepForDebug": "-1h" })),
        ("tearDownCluster", json!(false)),
    ] {
        let mut world = world.clone();
        world.spec[field] = value.clone();
        world.settle();
        assert_eq!(shown(&world), usual, "{value}");
    }
    for text in ["PipelineRun/p/u", "soon", "2026-11-21T10:15:00+00:00", "9999-12-30T22:00:00Z"] {
        let mut world = world.clone();
        world.annotations[note] = json!(text);
        world.settle();
        assert_eq!(shown(&world), usual, "{text}");
    }
    let mut wrong = world.clone();
    wrong.spec["cleanup"]["keepForDebug"] = json!("soon");
    wrong.settle();
    assert_eq!(is(&wrong, "RequestAccepted"), pair("True", "ChangeIgnored"));
    // Its time ends it only when it is told so.
    world.advance_time(SignedDuration::from_mins(60));
    world.settle();
    assert_eq!(world.phase(), "Ready");
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert_eq!(shown(&world), (json!("2026-11-21T10:45:00Z"), "the cluster is being torn down".to_owned()));
}

#[test]
fn lifetimes_are_clamped_and_defaults_come_only_at_birth() {
    let mut world = World::default();
    world.input["maxima"] = json!({ "lifetime": "3h" });
    world.spec["lifetime"] = json!("10h");
    world.settle();
    world.hub_ready();
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T13:00:00Z");
    assert_eq!(is(&world, "RequestAccepted"), pair("True", "LifetimeClamped"));
    world.spec["lifetime"] = json!("1h");
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T11:00:00Z");

    let mut world = World::ready();
    world.input["defaults"] = json!({ "lifetime": "1h" });
    world.settle();
    assert_eq!(world.status.get("expiresAt"), None, "it was promised no end");
    let mut world = World::default();
    world.input["defaults"] = json!({ "lifetime": "1h" });
    world.settle();
    world.hub_ready();
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T11:00:00Z");
}

/// `credentials` remember it too. A cluster that was promised an end would have none, or a later one.
#[test]
fn unreadable_annotation_hides_no_valid_one() {
    for hive in [false, true] {
        let mut world = if hive { World::hive_claim() } else { World::default() };
        world.input["defaults"] = json!({ "lifetime": "4h" });
        world.settle();
        if hive {
            world.hive_publishes();
        } else {
            world.hub_ready();
        }
        world.settle();
        let expires = world.status["expiresAt"].clone();
        assert_eq!(expires, "2026-11-21T14:00:00Z");
        // The hub's time since it is ready is later by now.
        world.advance_time(SignedDuration::from_mins(30));
        if hive {
            world.hive_stops("Resuming");
            world.settle();
            world.hive_publishes();
            world.settle();
        }
        for key in [ours::DEFAULT_LIFETIME, ours::READY_AT] {
            for words in ["", "garbage"] {
                let mut world = world.clone();
                let name = world.writer();
                let writer = &mut world.objects.get_mut(name).unwrap().object;
                writer["metadata"]["annotations"][key] = json!(words);
                world.drop_status();
                world.settle();
                assert_eq!(world.status["expiresAt"], expires, "{name}, {key}: {words:?}");
            }
        }
    }
}

/// The hub set the time of its job at birth. The provider ends nothing before its lifetime, but the job may.
#[test]
fn late_lifetime_on_the_hub_is_reported() {
    let mut world = World::ready();
    let key = "testplatform.ci.openshift.org/credentials-revision";
    world.remote.as_mut().unwrap()["metadata"]["annotations"][key] = json!("42");
    world.provider_keeps(key, "42");
    world.advance_time(SignedDuration::from_hours(3));
    world.spec["lifetime"] = json!("2h");
    let mut brief = world.clone();
    brief.settle();
    assert_eq!(is(&brief, "RequestAccepted"), pair("True", "Accepted"));
    world.spec["lifetime"] = json!("8h");
    world.settle();
    assert_eq!(
        (world.phase().as_str(), &world.status["expiresAt"]),
        ("Ready", &json!("2026-11-21T18:00:00Z"))
    );
    assert_eq!(is(&world, "RequestAccepted"), pair("True", "LifetimeBeyondHub"));
    let message = world.conditions["RequestAccepted"]["message"].as_str().unwrap();
    assert!(message.contains("spec.lifetime is 8h") && message.ends_with("may end it after 2h"), "{message}");
    // One that asked for as much at birth, or for less with a maximum that is as long, has its time.
    let mut told = World::default();
    told.spec["lifetime"] = json!("8h");
    told.settle();
    told.hub_ready();
    told.remote.as_mut().unwrap()["metadata"]["annotations"][key] = json!("42");
    told.provider_keeps(key, "42");
    told.settle();
    assert_eq!(is(&told, "RequestAccepted"), pair("True", "Accepted"));
}

#[test]
fn delay_is_reported_after_the_estimate_and_only_with_a_table() {
    let environment = json!({ "clusterName": "c", "provisionP90": { "ipi-aws": "45m", "broken": 5 } });
    let mut world = World { environment: Some(environment), ..World::default() };
    world.settle();
    assert_eq!(world.status["estimatedReadyAt"], "2026-11-21T10:45:00Z");
    world.advance_time(SignedDuration::from_mins(45));
    world.settle();
    assert_eq!(is(&world, "ClusterReady"), pair("False", "Late"));
    // The claim waits for something else then, with an alert of its own.
    world.hub_ready();
    world.secrets.clear();
    world.settle();
    assert_eq!(is(&world, "ClusterReady"), pair("False", "WaitingForCredentials"));
    let mut world = World::default();
    world.settle();
    assert_eq!(world.status.get("estimatedReadyAt"), None);
}

#[test]
fn never_ready_is_failed_at_the_timeout_and_void_once_ready() {
    let mut world = World { environment: None, ..World::default() };
    world.advance_time(SignedDuration::from_hours(4));
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "NothingToTearDown"));
    let mut world = World::ready();
    world.advance_time(SignedDuration::from_hours(40));
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

/// Its owner has to know what to have put right before they ask again, also once it is put right.
#[test]
fn unmet_dependency_is_named_after_the_timeout() {
    let mut world = World { environment: None, ..World::default() };
    world.settle();
    assert_eq!(is(&world, "RequestAccepted"), pair("False", "EnvironmentConfigMissing"));
    world.advance_time(SignedDuration::from_hours(4));
    world.settle();
    let told = |world: &World| (world.phase(), is(world, "RequestAccepted"), world.status["message"].clone());
    let (phase, accepted, message) = told(&world);
    assert_eq!((phase.as_str(), accepted), ("Failed", pair("False", "EnvironmentConfigMissing")));
    let sentence = message.as_str().unwrap();
    let held = world.conditions["RequestAccepted"]["message"].as_str().unwrap();
    let wanted = format!("not ready within the provision timeout; no cluster was requested: {held}");
    assert_eq!(sentence, wanted);
    let before = told(&world);
    // Also after a pass that failed elsewhere, which makes core forget what was shown.
    world.fail_pass();
    world.settle();
    assert_eq!(told(&world), before);
    world.environment = World::default().environment;
    world.settle();
    assert_eq!(told(&world), before);
}

/// Core writes the emptied keys after the status, and reads the composite from a cache that may be behind: a pass may see the keys alone.
#[test]
fn unrequested_cluster_ends_correctly_after_late_writes() {
    for namespaced in [false, true] {
        let mut world = World { environment: None, ..World::default() };
        if namespaced {
            world = world.in_namespace();
        }
        world.settle();
        assert_eq!(world.phase(), "Pending");
        let before = (world.status.clone(), world.conditions.clone());
        world.advance_time(SignedDuration::from_hours(4));
        world.pass();
        assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "NothingToTearDown"));
        (world.status, world.conditions) = before;
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 0));
        assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "NothingToTearDown"));
        let message = world.conditions["ClusterReady"]["message"].as_str().unwrap();
        assert!(message.contains("provision timeout"), "{message}");
    }
}

#[test]
fn the_hubs_passing_failure_is_not_shown_as_failed() {
    let mut world = World::default();
    world.settle();
    world.report_phase("Provisioning", &[]);
    world.settle();
    world.report_phase(
        "Failed",
        &[("ClusterReady", "False", "SecretsFetchFailure", "build client not found")],
    );
    world.settle();
    assert_eq!((world.phase().as_str(), world.incumbent_phase().as_str()), ("Provisioning", "Provisioning"));
    world.advance_time(SignedDuration::from_hours(4));
    world.settle();
    assert_eq!((world.phase().as_str(), world.incumbent_phase().as_str()), ("Failed", "Failed"));
    assert_eq!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true, "and the teardown is begun");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("False", "TearingDown"));
    world.hub_done("Failed");
    world.settle();
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "ProwJobFailure"));
}

/// The hub counts from its own readiness, and would end a cluster that nobody was given yet.
#[test]
fn the_end_on_the_hub_waits_for_a_kubeconfig_that_is_not_delivered() {
    let mut world = World::default();
    world.spec["lifetime"] = json!("30m");
    world.settle();
    world.advance_time(SignedDuration::from_mins(10));
    world.hub_ready();
    let published = std::mem::take(&mut world.secrets);
    world.settle();
    let begins = |world: &World| {
        world.remote.as_ref().unwrap()["metadata"]["annotations"]["testplatform.ci.openshift.org/delivered-at"].clone()
    };
    assert_eq!(begins(&world), json!(null), "it may come any moment");
    world.advance_time(SignedDuration::from_mins(6));
    world.settle();
    assert_eq!(begins(&world), "2026-11-21T14:00:00Z", "the end of provisioning");
    world.advance_time(SignedDuration::from_mins(80));
    world.settle();
    assert_eq!(begins(&world), "2026-11-21T14:00:00Z");
    world.secrets = published;
    world.settle();
    world.settle();
    assert_eq!(begins(&world), "2026-11-21T11:36:00Z");
    assert_eq!(world.status["expiresAt"], "2026-11-21T12:06:00Z");
}

/// Hive destroys it four hours after it was assigned, however late its kubeconfig came.
#[test]
fn a_cluster_of_a_pool_of_ci_operator_is_promised_no_longer_than_hive_keeps_it() {
    let mut world = World::default();
    world.spec["ciOperator"]["test"] = json!({ "clusterClaim": {
        "product": "ocp", "version": "4.20", "architecture": "amd64", "cloud": "aws", "owner": "o", "timeout": "1h",
    } });
    world.spec["lifetime"] = json!("3h45m");
    world.settle();
    world.advance_time(SignedDuration::from_mins(10));
    world.hub_ready();
    let published = std::mem::take(&mut world.secrets);
    world.settle();
    world.advance_time(SignedDuration::from_mins(60));
    world.secrets = published;
    world.settle();
    assert_eq!(world.phase(), "Ready", "{}", world.status);
    assert_eq!(world.status["expiresAt"], "2026-11-21T13:55:00Z");
}
