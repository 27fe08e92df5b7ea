//! How a cluster ends, and that it ends for good.

use function_model::world::{NAME, World};
use jiff::SignedDuration;
use serde_json::json;

use super::{is, pair};

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
    world.reconcile_objects();
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
fn unreachable_hub_of_a_teardown_is_named() {
    let mut world = World::ready();
    world.reachable = false;
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    let away =
        "the teardown request has not reached the hub: the hub cannot be reached: the connection is refused";
    assert_eq!(world.status["message"], format!("the cluster is still running, because {away}"));
    assert_eq!(
        world.conditions["ProwJobCompleted"]["message"],
        format!("the cluster is still incurring cost, because {away}")
    );
    world.reachable = true;
    world.settle();
    assert_eq!(world.status["message"], "the cluster is being torn down");
    // From here on the hub knows, whether it can be reached or not.
    world.reachable = false;
    world.settle();
    assert_eq!(world.status["message"], "the cluster is being torn down");
}

#[test]
fn cluster_lost_before_its_kubeconfig_is_never_ready() {
    for in_namespace in [false, true] {
        let mut world = World::default();
        if in_namespace {
            world = world.in_namespace();
        }
        world.settle();
        world.hub_ready();
        world.secrets.clear();
        world.advance_time(SignedDuration::from_secs(15));
        world.settle();
        assert_eq!(is(&world, "ClusterReady"), pair("False", "WaitingForCredentials"));
        world.remote = None;
        world.settle();
        assert_eq!(world.phase(), "Failed");
        assert_eq!(is(&world, "Ready").0, "False");
    }
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

/// A creation whose result got lost on the way may have made a cluster, so the teardown waits for a search on the hub.
#[test]
fn teardown_waits_while_the_result_of_the_creation_is_unknown() {
    let words = "stream error: stream ID 7; INTERNAL_ERROR; received from peer";
    let mut world = World { refuses: Some(words.into()), ..World::default() };
    world.settle();
    assert_eq!(world.phase(), "Pending");
    assert_eq!(is(&world, "RemoteConsistent"), pair("False", "HubFailing"));
    world.spec["tearDownCluster"] = json!(true);
    world.pass();
    assert_eq!(world.phase(), "Deprovisioning");
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 0), "nothing was found");
}

#[test]
fn refused_request_is_failed_with_a_reason() {
    let mut world = World::default();
    world.settle();
    world.report_phase(
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
    assert_eq!(world.management_policies(), json!(["Observe", "Delete"]));
    world.drop_status();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1), "also after a restore");
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "RemoteDeleted"));
}

/// One that may only be watched says for ever what it said last.
#[test]
fn failed_claim_deleted_in_teardown_completes() {
    let mut world = World::default();
    world.settle();
    world.report_phase("Provisioning", &[]);
    world.advance_time(SignedDuration::from_hours(5));
    world.settle();
    assert_eq!(world.phase(), "Failed");
    assert_eq!(world.remote.as_ref().unwrap()["spec"]["tearDownCluster"], true);
    assert_eq!(is(&world, "ProwJobCompleted"), pair("False", "TearingDown"));
    assert_eq!(world.management_policies(), json!(["*"]), "it may still vanish");
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 1));
    assert_eq!(is(&world, "ProwJobCompleted"), pair("True", "RemoteDeleted"));
    assert!(!world.objects.contains_key("credentials"), "there is nothing that they open");
    assert_eq!(world.management_policies(), json!(["Observe", "Delete"]));
}

/// Whoever names a claim's composite names its remote object, too: provider-kubernetes takes what it finds under that name for what it is to write.
#[test]
fn remote_object_older_than_the_composite_is_foreign() {
    let found = |made: &str| {
        let mut world = World::default();
        let theirs = json!({
            "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "spec": {},
            "metadata": { "name": NAME, "uid": "somebody-elses", "creationTimestamp": made, "annotations": {} },
        });
        world.remote = Some(theirs);
        world.settle();
        world.hub_ready();
        world.settle();
        world
    };
    let theirs = found("2026-11-21T09:58:00Z");
    assert_eq!(theirs.phase(), "Failed");
    assert_eq!(is(&theirs, "RemoteConsistent"), pair("False", "RemoteReplaced"));
    assert_eq!(theirs.management_policies(), json!(["Observe"]));
    assert!(theirs.tenant.values().all(String::is_empty), "{:?}", theirs.tenant);
    assert_ne!(theirs.remote.unwrap()["spec"]["tearDownCluster"], true);
    // Made by an Object that was lost before anybody saw what it made: its own, and not to be forgotten. Nor do clocks agree to the second.
    for made in ["2026-11-21T10:00:03Z", "2026-11-21T09:59:30Z"] {
        assert_eq!(found(made).phase(), "Ready", "{made}");
    }
}

/// Composites of one name, which administrators of two Konflux clusters wrote. One waited for an hour before anything was requested.
#[test]
fn remote_object_older_than_the_object_of_an_administrators_composite_is_foreign() {
    let found = |claim: bool| {
        let mut world = World { claim, ..World::default() };
        let environment = world.environment.take();
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Pending", 0));
        world.advance_time(SignedDuration::from_mins(30));
        let made = world.now;
        world.remote = Some(json!({
            "apiVersion": "ci.openshift.io/v1", "kind": "EphemeralCluster", "spec": {},
            "metadata": { "name": NAME, "uid": "another-ones", "creationTimestamp": made, "annotations": {} },
        }));
        world.advance_time(SignedDuration::from_mins(30));
        world.environment = environment;
        world.settle();
        world.hub_ready();
        world.settle();
        world
    };
    let theirs = found(false);
    assert_eq!(theirs.phase(), "Failed");
    assert_eq!(is(&theirs, "RemoteConsistent"), pair("False", "RemoteReplaced"));
    assert!(theirs.tenant.values().all(String::is_empty), "{:?}", theirs.tenant);
    // Nobody else has the random name of a claim's composite.
    assert_eq!(found(true).phase(), "Ready");
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
    assert_eq!(world.phase(), "Pending");
    world.remote = None;
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 2), "once");
    assert_eq!(is(&world, "RemoteConsistent"), pair("False", "RemoteDeleted"));
    assert_eq!(is(&world, "ClusterReady"), pair("False", "Failed"));
    assert_eq!(is(&world, "ProwJobCompleted").0, "True");
    assert_eq!(world.management_policies(), json!(["Observe", "Delete"]));
}
