//! A kubeconfig that an earlier version delivered, and that the hub has withdrawn because it is not one that may be handed on.

use function_model::world::{KUBECONFIG, World};
use jiff::SignedDuration;
use serde_json::json;

use super::{is, pair};

const WHY: &str = "key kubeconfig of Secret s would run a program";

fn ready() -> World {
    let mut world = World::default();
    world.settle();
    world.hub_ready();
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    world
}

fn withdraw(world: &mut World) {
    world.secrets.clear();
    let conditions = world.remote.as_mut().unwrap()["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|condition| condition["type"] != "CredentialsInSync");
    conditions.push(json!({
        "type": "CredentialsInSync", "status": "False", "reason": "KubeconfigWithdrawn", "message": WHY,
    }));
}

#[test]
fn a_kubeconfig_that_the_hub_withdrew_is_taken_from_the_claim() {
    let mut world = ready();
    withdraw(&mut world);
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], "");
    assert_eq!(world.tenant["kubeAdminPassword"], "");
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "KubeconfigRejected"));
    assert_eq!(is(&world, "ClusterReady"), pair("False", "WaitingForCredentials"));
    assert_eq!(world.status["credentials"]["state"], "Withdrawn");
    for text in [&world.conditions["CredentialsPublished"]["message"], &world.status["message"]] {
        assert!(text.as_str().unwrap().contains(WHY), "{text}");
    }
    // The cluster runs, so nothing is ended, and core keeps the composite ready.
    assert_eq!((world.phase().as_str(), is(&world, "Ready").0.as_str()), ("Ready", "True"));
    assert_eq!(world.events.iter().filter(|event| *event == "CredentialsNotDelivered").count(), 1);
    world.advance_time(SignedDuration::from_hours(5));
    world.settle();
    assert_eq!((world.phase().as_str(), world.tenant["kubeconfig"].as_str()), ("Ready", ""));
}

/// provider-kubernetes keeps what it read last until it reads again.
#[test]
fn a_withdrawn_kubeconfig_does_not_come_back_before_the_new_one_is_read() {
    let mut world = ready();
    withdraw(&mut world);
    world.settle();
    let conditions = world.remote.as_mut().unwrap()["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|condition| condition["type"] != "CredentialsInSync");
    for _ in 0..4 {
        world.pass();
        let remote = world.remote.clone().unwrap();
        world.objects.get_mut("ec").unwrap().object["status"]["atProvider"]["manifest"] = remote;
        assert_eq!(world.tenant["kubeconfig"], "");
        assert_eq!(is(&world, "Ready").0, "True");
    }
    world.hub_ready();
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    assert_eq!(is(&world, "CredentialsPublished"), pair("True", "Published"));
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Ready"));
}

/// A pass of the function alone, in which the hub's object was observed and its Secret was not read again.
fn pass_without_read(world: &mut World) {
    let remote = world.remote.clone().unwrap();
    let writer = world.writer();
    world.objects.get_mut(writer).unwrap().object["status"]["atProvider"]["manifest"] = remote;
    world.pass();
}

fn announce_revision(world: &mut World, revision: &str) {
    let remote = world.remote.as_mut().unwrap();
    remote["metadata"]["annotations"]["testplatform.ci.openshift.org/credentials-revision"] = json!(revision);
}

#[test]
fn a_withdrawn_kubeconfig_does_not_come_back_while_the_hub_announces_another_secret() {
    let mut world = ready();
    let read = &mut world.objects.get_mut("credentials").unwrap().object["status"]["atProvider"]["manifest"];
    read["metadata"]["resourceVersion"] = json!("7");
    announce_revision(&mut world, "7");
    withdraw(&mut world);
    pass_without_read(&mut world);
    assert_eq!(world.tenant["kubeconfig"], "");
    let conditions = world.remote.as_mut().unwrap()["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|condition| condition["type"] != "CredentialsInSync");
    announce_revision(&mut world, "8");
    for _ in 0..4 {
        pass_without_read(&mut world);
        assert_eq!(world.tenant["kubeconfig"], "");
    }
    world.hub_ready();
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
}

/// A pool's report has one reason, and another may take the place of the withdrawal.
#[test]
fn a_withdrawn_kubeconfig_of_a_pool_does_not_come_back_with_another_reason() {
    let mut world = World::hive_ready();
    let report = |reason: &str| {
        let blocked = json!({ "reason": reason, "message": WHY });
        json!({ "powerState": "Running", "ownership": "Confirmed", "blockingReason": blocked })
    };
    world.report_status(&report("KubeconfigRejected"));
    pass_without_read(&mut world);
    assert_eq!(world.tenant["kubeconfig"], "");
    world.report_status(&report("NotRunning"));
    for _ in 0..4 {
        pass_without_read(&mut world);
        assert_eq!(world.tenant["kubeconfig"], "");
    }
    world.hive_publishes();
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
}

/// Its end takes the usual way.
#[test]
fn a_claim_without_its_withdrawn_kubeconfig_ends_as_any_other() {
    let mut world = ready();
    withdraw(&mut world);
    world.settle();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert_eq!(is(&world, "ClusterReady").0, "False");
    world.hub_done("Deprovisioned");
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert_eq!(is(&world, "ProwJobCompleted").0, "True");
}

/// For pools and templates the hub says it in its report.
#[test]
fn a_kubeconfig_of_a_pool_that_the_hub_withdrew_is_taken_from_the_claim() {
    let mut world = World::hive_ready();
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    let report = |blocked: bool| {
        let mut report = json!({ "powerState": "Running", "ownership": "Confirmed" });
        if blocked {
            report["blockingReason"] = json!({ "reason": "KubeconfigRejected", "message": WHY });
        }
        report
    };
    // One that takes the place of a good one is not published.
    let mut replaced = report(true);
    replaced["credentials"] = json!({ "secretName": world.published_name(), "passwordAvailable": true });
    world.report_status(&replaced);
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    assert_eq!(is(&world, "CredentialsPublished").0, "True");
    world.secrets.clear();
    world.report_status(&report(true));
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], "");
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "KubeconfigRejected"));
    assert_eq!(is(&world, "ClusterReady"), pair("False", "WaitingForCredentials"));
    world.hive_publishes();
    world.settle();
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    assert_eq!(is(&world, "ClusterReady"), pair("True", "Ready"));
}

/// Only its owner can change the Secret of a composite in a namespace.
#[test]
fn the_owner_of_a_test_cluster_is_told_to_delete_its_withdrawn_kubeconfig() {
    let mut world = World::default().in_namespace();
    world.settle();
    world.hub_ready();
    world.settle();
    withdraw(&mut world);
    world.settle();
    assert_eq!(is(&world, "CredentialsPublished"), pair("False", "KubeconfigRejected"));
    let message = world.conditions["CredentialsPublished"]["message"].as_str().unwrap();
    assert!(
        message.contains("do not use the one in Secret demo-secret") && message.contains(WHY),
        "{message}"
    );
}
