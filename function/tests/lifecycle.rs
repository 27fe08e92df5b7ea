//! Lives of a claim, from the tenant's side, against a model of core, provider-kubernetes and the hub.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on says so")]

mod support;

use jiff::SignedDuration;
use serde_json::json;
use support::world::{KUBECONFIG, NAME, World};

fn is(world: &World, type_: &str) -> (String, String) {
    world.condition(type_)
}

fn pair(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

#[test]
fn happy_path() {
    let mut world = World::default();
    world.settle();
    assert_eq!((world.phase().as_str(), world.word().as_str()), ("Provisioning", ""));
    world
        .hub("Provisioning", &[("ClusterReady", "False", "SecretsFetchFailure", "ci-operator NS not found")]);
    world.settle();
    assert_eq!((world.phase().as_str(), world.word().as_str()), ("Provisioning", "Provisioning"));
    assert_eq!(is(&world, "ClusterReady"), pair("False", "Provisioning"));
    world.hub_ready();
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Ready"));
    assert_eq!(is(&world, "CredentialsPublished"), pair("True", "Published"));
    assert_eq!(is(&world, "RequestAccepted"), pair("True", "Accepted"));
    assert_eq!(is(&world, "RemoteConsistent"), pair("True", "InSync"));
    assert_eq!(world.objects["ec"].object["spec"]["forProvider"]["manifest"]["metadata"]["uid"], "remote-1");

    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert_eq!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true);
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Deprovisioning"));
    assert_eq!(is(&world, "ProwJobCompleted"), pair("False", "TearingDown"));
    world.hub_done("Deprovisioned");
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "ProwJobCompleted"));
    assert_eq!(world.policies(), json!(["Observe", "Delete"]));
    assert_eq!(world.made, 1);
    let told =
        ["ProwJobCreated", "Provisioning", "ClusterReady", "CredentialsPublished", "TearingDown", "TornDown"];
    let mut events = world.events.clone();
    events.sort_unstable();
    let mut told = told.to_vec();
    told.sort_unstable();
    assert_eq!(events, told);
}

#[test]
fn what_keeps_the_hub_is_told() {
    let away = "build cluster build01 does not answer or does not let this provider in";
    let mut world = World::default();
    world.settle();
    world.hub("Provisioning", &[("ClusterReady", "False", "NamespacePending", "no namespace yet")]);
    world.settle();
    let usual = world.status["message"].clone();
    world.hub("Provisioning", &[("ClusterReady", "False", "BuildClusterUnreachable", away)]);
    world.settle();
    assert_eq!((world.phase().as_str(), &world.status["message"]), ("Provisioning", &json!(away)));
    world.hub("Provisioning", &[("ClusterReady", "False", "CredentialsPending", "no Secret yet")]);
    world.settle();
    assert_eq!(world.status["message"], usual, "what is only not there yet is no news");
}

#[test]
fn ready_waits_for_the_kubeconfig() {
    let mut world = World::default();
    world.settle();
    world.hub_ready();
    let kept = std::mem::take(&mut world.secrets);
    world.settle();
    assert_eq!(is(&world, "ClusterReady"), pair("False", "WaitingForCredentials"));
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "SecretMissing"));
    world.secrets.insert(format!("{NAME}-credentials"), (String::new(), String::new()));
    world.settle();
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "KeyMissing"));
    world.secrets = kept;
    world.settle();
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Ready"));
}

#[test]
fn an_empty_password_is_a_value() {
    let mut world = World::default();
    world.settle();
    world.hub_ready();
    world.secrets.values_mut().for_each(|(_, password)| password.clear());
    world.settle();
    assert_eq!(is(&world, "CredentialsPublished"), pair("True", "PublishedWithoutPassword"));
    assert_eq!(world.tenant["kubeAdminPassword"], "");
}

#[test]
fn torn_down_before_anything_exists() {
    let mut world = World { environment: None, ..World::default() };
    world.settle();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "NothingToTearDown"));
    world.environment = Some(json!({ "clusterName": "c" }));
    world.settle();
    assert_eq!(world.made, 0);
}

#[test]
fn torn_down_at_birth_makes_nothing() {
    let mut world = World::default();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 0));
}

#[test]
fn torn_down_between_request_and_observation() {
    let mut world = World::default();
    world.pass();
    world.provider();
    assert!(world.remote.is_some(), "made, and not yet observed");
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert_eq!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true);
    world.hub_done("Deprovisioned");
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
}

#[test]
fn torn_down_while_the_hub_refuses_the_request() {
    let mut world =
        World { refuses: Some("admission webhook denied the request".into()), ..World::default() };
    world.settle();
    assert_eq!(world.phase(), "Pending");
    assert_eq!(is(&world, "RemoteConsistent"), pair("False", "HubRefused"));
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 0));
    world.refuses = None;
    world.settle();
    assert_eq!(world.made, 0, "and none is made later");
}

#[test]
fn teardown_cannot_be_taken_back() {
    let mut world = World::ready();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.spec["tearDownCluster"] = json!(false);
    world.drop_status();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert_eq!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true);
}

#[test]
fn a_missing_environment_holds_what_is_new_and_keeps_what_lives() {
    let mut world = World { environment: None, ..World::default() };
    world.settle();
    assert_eq!(is(&world, "RequestAccepted"), pair("False", "EnvironmentConfigMissing"));
    assert_eq!((world.phase().as_str(), world.made), ("Pending", 0));
    assert_eq!(world.events, ["EnvironmentConfigMissing"]);

    let mut world = World::ready();
    let before = world.remote.clone();
    world.environment = None;
    world.settle();
    assert_eq!((world.phase().as_str(), &world.remote), ("Ready", &before));
    world.environment = Some(json!({ "clusterName": "another" }));
    world.settle();
    assert_eq!(world.remote, before, "the cluster keeps the name under which it was authorised");
}

#[test]
fn a_lost_hub_changes_nothing_for_the_owner() {
    let mut world = World::ready();
    world.reachable = false;
    world.settle();
    assert_eq!(world.phase(), "Ready");
    assert_eq!(is(&world, "RemoteConsistent"), pair("False", "HubUnreachable"));
    world.reachable = true;
    world.settle();
    assert_eq!(is(&world, "RemoteConsistent"), pair("True", "InSync"));
    assert_eq!(world.events[world.events.len() - 2..], ["RemoteUnavailable", "RemoteAvailable"]);
}

#[test]
fn a_flap_after_ready_shows_and_withdraws_nothing() {
    let mut world = World::ready();
    world.hub("Provisioning", &[("ClusterReady", "False", "SecretsFetchFailure", "timeout")]);
    world.remote.as_mut().unwrap()["status"].as_object_mut().unwrap().remove("secretRef");
    world.secrets.clear();
    world.settle();
    assert_eq!((world.phase().as_str(), world.word().as_str()), ("Degraded", "Ready"));
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Degraded"));
    world.hub_ready();
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn the_hubs_passing_failure_is_not_shown_as_failed() {
    let mut world = World::default();
    world.settle();
    world.hub("Provisioning", &[]);
    world.settle();
    world.hub("Failed", &[("ClusterReady", "False", "SecretsFetchFailure", "build client not found")]);
    world.settle();
    assert_eq!((world.phase().as_str(), world.word().as_str()), ("Provisioning", "Provisioning"));
    world.later(SignedDuration::from_hours(4));
    world.settle();
    assert_eq!((world.phase().as_str(), world.word().as_str()), ("Failed", "Failed"));
    assert_eq!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true, "and the teardown is begun");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("False", "TearingDown"));
    world.hub_done("Failed");
    world.settle();
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "ProwJobFailure"));
}

#[test]
fn a_failed_job_is_failed_for_good() {
    for ready in [false, true] {
        let mut world = if ready { World::ready() } else { World::default() };
        world.settle();
        world.hub_done("Failed");
        world.settle();
        assert_eq!(world.phase(), "Failed");
        assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "ProwJobFailure"));
        assert_eq!(world.conditions["Ready"]["status"], if ready { "True" } else { "False" });
        world.drop_status();
        world.settle();
        assert_eq!(world.phase(), "Failed", "also after a restore");
    }
}

#[test]
fn a_refused_request_is_failed_and_says_why() {
    let mut world = World::default();
    world.settle();
    world.hub(
        "Failed",
        &[("ProwJobCreating", "False", "EphemeralClusterValidationFailure", "tenant t does not own aws")],
    );
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(is(&world, "RequestAccepted"), pair("False", "HubRefused"));
    let message = world.conditions["RequestAccepted"]["message"].as_str().unwrap();
    assert!(message.contains("tenant t does not own aws"), "{message}");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "NothingToTearDown"));
}

#[test]
fn an_unknown_field_fails_only_what_never_existed() {
    let words = "failed to create typed patch object (ns/x; ci.openshift.io/v1, Kind=EphemeralCluster): .spec.ciOperator.foo: field not declared in schema";
    let mut world = World { refuses: Some(words.into()), ..World::default() };
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(is(&world, "RequestAccepted"), pair("False", "UnknownField"));
    let message = world.conditions["RequestAccepted"]["message"].as_str().unwrap();
    assert!(message.contains("spec.ciOperator.foo"), "{message}");
}

#[test]
fn a_deleted_remote_object_is_never_made_again() {
    let mut world = World::ready();
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "RemoteDeleted"));
    assert_eq!(world.policies(), json!(["Observe", "Delete"]));
    world.drop_status();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1), "also after a restore");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "RemoteDeleted"));
}

#[test]
fn a_replaced_remote_object_is_left_alone() {
    let mut world = World::ready();
    world.remote.as_mut().unwrap()["metadata"]["uid"] = json!("somebody-elses");
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(is(&world, "RemoteConsistent"), pair("False", "RemoteReplaced"));
    assert_eq!(world.policies(), json!(["Observe"]), "Delete goes by name");
}

#[test]
fn deleted_after_a_teardown_is_the_end_that_was_asked_for() {
    let mut world = World::ready();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    world.remote = None;
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "TornDown"));
}

#[test]
fn vanished_before_it_was_bound_is_asked_for_once_more() {
    let mut world = World::default();
    world.settle();
    world.remote = None;
    world.settle();
    assert_eq!(world.made, 2);
    assert_eq!(world.status["backend"]["attempt"], 2);
    assert_eq!(world.status["backend"]["uid"], "remote-2");
    assert_eq!(world.phase(), "Provisioning");
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 2), "once");
}

#[test]
fn vanished_after_it_was_bound_is_lost() {
    let mut world = World::default();
    world.settle();
    world.hub("Provisioning", &[]);
    world.settle();
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
}

#[test]
fn a_dropped_status_comes_back_the_same() {
    let mut world = World::ready();
    let before = world.status.clone();
    world.later(SignedDuration::from_mins(7));
    world.drop_status();
    world.settle();
    assert_eq!(world.status, before);
}

#[test]
fn a_lifetime_ends_the_cluster_and_can_be_extended() {
    let mut world = World::default();
    world.spec["lifetime"] = json!("2h");
    world.settle();
    world.later(SignedDuration::from_mins(30));
    world.hub_ready();
    world.settle();
    assert_eq!(world.status["expiresAt"], "2026-11-21T12:30:00Z");
    let remote = &world.remote.as_ref().unwrap()["metadata"]["annotations"];
    assert_eq!(remote["testplatform.ci.openshift.org/lifetime"], "2h0m0s");
    assert_eq!(remote["testplatform.ci.openshift.org/max-lifetime"], "2h0m0s");
    // A restore at a time at which the hub does not say ready: the note on the writer remembers.
    let expires = world.status["expiresAt"].clone();
    let mut restored = world.clone();
    restored.hub("Provisioning", &[]);
    restored.provider();
    restored.drop_status();
    restored.settle();
    assert_eq!(restored.status["expiresAt"], expires);
    world.later(SignedDuration::from_mins(110));
    world.settle();
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Expiring"));
    world.later(SignedDuration::from_mins(10));
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

/// What was noted on the claim is shown, and ends nothing by itself: that is done by who noted it.
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
    let words =
        "the cluster is ready; the runs that own it are over, so it is torn down at 2026-11-21T10:45:00Z";
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
    world.later(SignedDuration::from_mins(60));
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

#[test]
fn late_is_said_after_the_estimate_and_only_with_a_table() {
    let environment = json!({ "clusterName": "c", "provisionP90": { "ipi-aws": "45m", "broken": 5 } });
    let mut world = World { environment: Some(environment), ..World::default() };
    world.settle();
    assert_eq!(world.status["estimatedReadyAt"], "2026-11-21T10:45:00Z");
    world.later(SignedDuration::from_mins(45));
    world.settle();
    assert_eq!(is(&world, "ClusterReady"), pair("False", "Late"));
    let mut world = World::default();
    world.settle();
    assert_eq!(world.status.get("estimatedReadyAt"), None);
}

#[test]
fn never_ready_is_failed_at_the_timeout_and_void_once_ready() {
    let mut world = World { environment: None, ..World::default() };
    world.later(SignedDuration::from_hours(4));
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "NothingToTearDown"));
    let mut world = World::ready();
    world.later(SignedDuration::from_hours(40));
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn an_administrators_composite_needs_no_claim() {
    let mut world = World { claim: false, ..World::default() };
    world.settle();
    assert_eq!(is(&world, "RequestAccepted"), pair("True", "NoTenant"));
    let annotations = &world.remote.as_ref().unwrap()["metadata"]["annotations"];
    assert_eq!(*annotations, json!({ "ephemeralcluster.ci.openshift.io/konflux-cluster": "stone-prd" }));
    let targets: Vec<_> = world.pass().conditions.iter().map(|c| c.target.unwrap()).collect();
    assert!(targets.iter().all(|t| *t == 1), "composite only");
}

#[test]
fn a_changed_claim_does_not_touch_the_cluster() {
    let mut world = World::ready();
    let before = world.remote.clone();
    world.spec["ciOperator"]["test"]["workflow"] = json!("other");
    world.settle();
    assert_eq!(world.remote, before);
    assert_eq!(is(&world, "RequestAccepted"), pair("True", "ChangeIgnored"));
    world.spec = json!({ "clusterClaim": {} });
    world.settle();
    assert_eq!((&world.remote, world.phase().as_str()), (&before, "Ready"));
}

#[test]
fn rotated_credentials_follow_the_revision() {
    let mut world = World::ready();
    let key = "testplatform.ci.openshift.org/credentials-revision";
    world.remote.as_mut().unwrap()["metadata"]["annotations"][key] = json!("42");
    // The provider's annotation on the remote object is not ours to overwrite.
    world.provider_keeps(key, "42");
    let response = world.pass();
    let _ = response;
    assert_eq!(world.objects["credentials"].object["metadata"]["annotations"][key], "42");
}
