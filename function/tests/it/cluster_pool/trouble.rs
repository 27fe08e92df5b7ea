//! Draining, deletion, and trouble.

use function_model::pool::PoolWorld;
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_composites::{Evaluation, Options, run, sdk::proto::Severity};

use crate::cluster_pool::{is, made};

#[test]
fn drained_pool_names_the_claims_that_hold_it() {
    let mut world = made(&json!({ "admins": [{ "kind": "Group", "name": "team" }] }));
    world.change(&json!({ "drain": true }));
    world.pass();
    assert_eq!(world.phase(), "Draining");
    assert!(world.refs.contains("pool"), "the status says so first");
    world.pass_once();
    assert!(world.objects["pool"]["metadata"]["deletionTimestamp"].is_string());
    assert!(
        world.objects["admins"]["metadata"].get("deletionTimestamp").is_none(),
        "who debugs is needed now"
    );
    assert_eq!(world.phase(), "Draining");
    is(&world, "Drained", "False", "Draining");
    assert!(!world.refs.contains("pool"), "core does not show it any more");
    for _ in 0..3 {
        world.pass();
        assert!(world.refs.contains("pool"), "it is desired again, so that it is seen");
        let policies = &world.objects["pool"]["spec"]["managementPolicies"];
        assert_eq!(*policies, json!(["Observe", "Delete"]), "and can make nothing");
        assert_eq!(world.phase(), "Draining", "what is not shown is not gone");
        is(&world, "RemoteConsistent", "True", "InSync");
    }
    world.on_the_hub(&json!({ "metadata": { "deletionTimestamp": world.now } }));
    let words = "The following ClusterDeployments are pending cleanup: aws-420-abcde, aws-420-fghij";
    world.report_hive("DeletionPossible", "False", "ClusterDeploymentsPendingCleanup", words);
    world.settle();
    is(&world, "Drained", "False", "ClaimsHoldIt");
    assert_eq!(world.status["claimedClusters"], json!(["aws-420-abcde", "aws-420-fghij"]));
    assert_eq!(
        world.status["message"],
        "the pool is being deleted as requested; 2 clusters hold it until they are given back: aws-420-abcde, aws-420-fghij"
    );
    world.objects.remove("pool");
    world.settle();
    assert_eq!(world.phase(), "Drained");
    is(&world, "Drained", "True", "Gone");
    assert!(world.objects["admins"]["metadata"]["deletionTimestamp"].is_string());
    assert!(!world.objects.contains_key("pool"), "the last look is over too");
    world.objects.clear();
    world.change(&json!({ "drain": false }));
    world.settle();
    assert_eq!(world.phase(), "Ready", "and back");
}

/// provider-kubernetes tries what an Object says before it deletes: what the hub refuses would never go.
#[test]
fn pool_with_a_refused_change_drains_at_the_last_accepted_spec() {
    let invalid = "observe failed: cannot get desired state: cannot dry run SSA: admission webhook \"pools\" denied the request: no such region";
    let unknown = "observe failed: cannot get desired state: cannot dry run SSA: failed: .spec.platform.aws.foo: field not declared in schema";
    for (words, part) in [(invalid, "no such region"), (unknown, "spec.platform.aws.foo")] {
        let mut world = made(&json!({}));
        let on_the_hub = world.remote()["spec"].clone();
        world.change(&json!({ "platform": { "aws": { "region": "nowhere" } } }));
        world.pass();
        let says = |world: &mut PoolWorld, message: &str| {
            let status = if message.is_empty() { "True" } else { "False" };
            let object = world.objects.get_mut("pool").unwrap();
            object["status"]["conditions"] = json!([{
                "type": "Synced", "status": status, "reason": "X", "message": message,
                "observedGeneration": object["metadata"]["generation"],
            }]);
        };
        says(&mut world, words);
        world.pass();
        is(&world, "RemoteConsistent", "False", if words == invalid { "HubRefused" } else { "UnknownField" });
        world.change(&json!({ "drain": true }));
        world.pass();
        world.pass();
        assert!(world.objects["pool"]["metadata"]["deletionTimestamp"].is_string());
        let message = world.status["message"].as_str().unwrap();
        assert!(message.contains(part) && message.contains("as requested"), "{message}");
        world.pass();
        says(&mut world, words);
        world.pass();
        assert_eq!(world.manifest()["spec"], on_the_hub);
        // Which it takes, so that it stays.
        says(&mut world, "");
        for _ in 0..3 {
            world.pass();
            assert_eq!(world.manifest()["spec"], on_the_hub);
            assert_eq!(world.objects["pool"]["spec"]["managementPolicies"], json!(["Observe", "Delete"]));
            assert_eq!(
                world.status["message"],
                "the pool is being deleted as requested; its clusters are being destroyed"
            );
        }
        world.objects.remove("pool");
        world.settle();
        assert_eq!(world.phase(), "Drained");
    }
}

/// Core reads the composite from a cache, in which the status may be that of before the pool was taken away, or the pass broke off before
/// it wrote one.
#[test]
fn removed_pool_is_searched_without_a_record() {
    let mut world = made(&json!({ "admins": [{ "kind": "Group", "name": "team" }] }));
    let before = (world.status.clone(), world.conditions.clone());
    world.change(&json!({ "drain": true }));
    world.pass();
    world.pass();
    (world.status, world.conditions) = before;
    for _ in 0..3 {
        world.pass();
        assert_eq!(world.phase(), "Draining");
        assert!(world.objects["admins"]["metadata"].get("deletionTimestamp").is_none());
    }
    world.objects.remove("pool");
    world.settle();
    assert_eq!(world.phase(), "Drained");
}

/// The status of each pass that changes the references is lost: seen with real core for as long as the test ran, 180 times in a row.
#[test]
fn a_pool_drains_although_every_change_of_references_loses_the_status() {
    let mut world = made(&json!({ "admins": [{ "kind": "Group", "name": "team" }] }));
    world.change(&json!({ "drain": true }));
    for _ in 0..4 {
        world.pass_once();
        world.apply_objects();
    }
    assert_eq!(world.phase(), "Draining");
    world.remove_remote();
    world.objects.remove("pool");
    for _ in 0..8 {
        world.pass_once();
        world.apply_objects();
    }
    assert_eq!(world.phase(), "Drained");
    is(&world, "Drained", "True", "Gone");
    assert!(world.refs.is_empty(), "{:?}", world.refs);
}

/// Without a record of it, the next reconcile would not know that there was a pool.
#[test]
fn dropping_a_pool_before_the_status_records_it_is_a_violation() {
    let mut world = made(&json!({}));
    world.change(&json!({ "drain": true }));
    let violation = |world: &PoolWorld| {
        let request = world.request();
        let mut response = run(&request, &Options::default(), world.now);
        response.desired.as_mut().unwrap().resources.remove("pool");
        Evaluation::of(&request, world.now).unwrap().find_violation(&response, &request)
    };
    assert!(violation(&world).is_some_and(|found| found.contains("pool")));
    world.pass();
    assert_eq!(violation(&world), None);
}

/// Its last Object deletes by name, so a pool of the same name must not be made before it is removed.
#[test]
fn pool_is_drained_once_its_object_is_removed() {
    let mut world = made(&json!({}));
    world.change(&json!({ "drain": true }));
    for _ in 0..4 {
        world.pass_once();
        world.apply_objects();
    }
    world.remove_remote();
    world.objects.remove("pool");
    for _ in 0..8 {
        world.pass_once();
        let (status, _) = world.condition("Drained");
        assert!(status == "False" || world.refs.is_empty(), "{:?}", world.refs);
        world.apply_objects();
    }
    is(&world, "Drained", "True", "Gone");
}

/// Nothing of the pool is desired meanwhile.
#[test]
fn pool_drains_on_although_its_definition_becomes_invalid() {
    let mut world = made(&json!({}));
    world.change(&json!({ "drain": true }));
    world.pass();
    world.pass();
    world.refs.clear();
    world.change(&json!({ "size": -1 }));
    world.pass();
    assert_eq!(world.phase(), "Draining");
}

/// Under its name there may be somebody else's.
#[test]
fn never_created_pool_is_not_searched() {
    let mut world = PoolWorld::with(&json!({ "drain": true }));
    world.settle();
    assert_eq!(world.phase(), "Drained");
    assert!(world.objects.is_empty());
}

#[test]
fn pool_requested_again_in_deletion_is_recreated() {
    let mut world = made(&json!({}));
    world.change(&json!({ "drain": true }));
    world.pass();
    world.pass();
    world.pass();
    world.change(&json!({ "drain": false }));
    world.pass();
    assert!(world.objects["pool"]["spec"].get("managementPolicies").is_none());
    assert!(
        world.objects["pool"]["metadata"]["deletionTimestamp"].is_string(),
        "there is no way back for this one"
    );
    assert_eq!(world.phase(), "Draining");
    world.objects.remove("pool");
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn pool_deleted_on_the_hub_is_recreated() {
    let mut world = made(&json!({}));
    assert!(world.manifest()["metadata"].get("uid").is_none(), "nothing is pinned");
    world.on_the_hub(&json!({ "metadata": { "deletionTimestamp": world.now } }));
    world.pass();
    assert_eq!(world.phase(), "Draining");
    is(&world, "Drained", "False", "DeletedOnTheHub");
    assert!(world.objects["pool"]["metadata"].get("deletionTimestamp").is_none(), "Git wants it");
}

#[test]
fn failure_that_hive_forgot_stays_in_the_report() {
    let mut world = made(&json!({}));
    let failure = json!({
        "clusterDeployment": "aws-420-abcde", "reason": "InsufficientInstances", "message": "quota exceeded",
        "time": "2026-11-23T09:59:00Z", "attempt": 1,
    });
    world.report_counts(3, 0, 0);
    world.report_provider(&json!({ "lastProvisionFailure": failure }));
    world.settle();
    assert_eq!(world.phase(), "Degraded");
    is(&world, "PoolHealthy", "False", "InstallationsFail");
    assert_eq!(world.status["lastProvisionFailure"], failure);
    // With a cluster there it is news of yesterday.
    world.report_counts(3, 0, 1);
    world.settle();
    assert_eq!(world.phase(), "Ready");
    assert_eq!(world.status["lastProvisionFailure"], failure);
    // Nor with one that a claim took since; whoever watches the hub says whether there was one.
    world.report_counts(1, 0, 0);
    world.settle();
    assert_eq!(world.phase(), "Degraded");
    world.report_provider(&json!({ "lastProvisionFailure": failure, "provisionFailureOvercome": true }));
    world.settle();
    assert_eq!(world.phase(), "Ready");
    is(&world, "PoolHealthy", "True", "Healthy");
    assert_eq!(world.status["lastProvisionFailure"], failure);
    world.report_hive("MissingDependencies", "True", "Missing", "cluster image set: not found");
    world.settle();
    is(&world, "PoolHealthy", "False", "MissingDependencies");
    world.report_hive("MissingDependencies", "False", "Verified", "");
    world.report_hive("InventoryValid", "False", "Invalid", "{\"Missing\":[\"a\"]}");
    world.settle();
    is(&world, "PoolHealthy", "False", "InventoryInvalid");
}

#[test]
fn invalid_spec_keeps_the_running_pool() {
    let mut world = made(&json!({ "admins": [{ "kind": "Group", "name": "team" }] }));
    let before = world.objects.clone();
    for broken in [json!({ "platform": {} }), json!({ "size": "many" }), json!({ "baseDomain": null })] {
        let mut world = world.clone();
        world.change(&broken);
        world.settle();
        is(&world, "RequestAccepted", "False", "InvalidPool");
        assert_eq!(world.phase(), "Ready");
        let spec = |objects: &std::collections::BTreeMap<String, Value>| -> Vec<Value> {
            objects.values().map(|o| o["spec"].clone()).collect()
        };
        assert_eq!(spec(&world.objects), spec(&before), "{broken}");
    }
    // Nor does it move, where nothing checks that but we.
    world.change(&json!({ "namespace": "elsewhere", "providerConfig": "hive-2", "name": "other" }));
    world.settle();
    is(&world, "RequestAccepted", "True", "ChangeIgnored");
    assert_eq!(world.manifest()["metadata"]["namespace"], "cluster-pools");
    assert_eq!(world.objects["pool"]["spec"]["providerConfigRef"]["name"], "hive-1");
}

#[test]
fn message_of_the_hub_is_passed_on() {
    let says = |world: &mut PoolWorld, message: &str| {
        let synced =
            json!([{ "type": "Synced", "status": "False", "reason": "ReconcileError", "message": message }]);
        world.objects.get_mut("pool").unwrap()["status"]["conditions"] = synced;
        world.pass();
    };
    let mut world = made(&json!({}));
    says(&mut world, "observe failed: cannot get object: Unauthorized");
    is(&world, "RemoteConsistent", "False", "HubUnreachable");
    assert_eq!(world.phase(), "Ready", "what is known of it still holds");
    says(
        &mut world,
        "observe failed: cannot get desired state: cannot dry run SSA: failed: .spec.platform.aws.foo: field not declared in schema",
    );
    is(&world, "RequestAccepted", "False", "UnknownField");
    assert!(world.condition_message("RequestAccepted").ends_with("spec.platform.aws.foo"));
    world.report_provider(&json!("no object"));
    world.pass();
    is(&world, "RemoteConsistent", "False", "Unreadable");
}

/// One of ours that this version does not know would be destroyed.
#[test]
fn a_newer_versions_resource_is_fatal() {
    let mut world = made(&json!({}));
    let newer = json!({ "metadata": { "name": "x", "labels": { ours::COMPONENT: "quota" } } });
    world.objects.insert("quota".into(), newer);
    world.refs.insert("quota".into());
    let response = run(&world.request(), &Options::default(), world.now);
    assert_eq!(response.results[0].severity(), Severity::Fatal);
    assert_eq!(response.results[0].reason.as_deref(), Some("NewerVersion"));
    assert_eq!(response.conditions.len(), 10, "what is shown is said again");
    // A resource of another step is not ours.
    world.objects.remove("quota");
    let foreign = json!({ "metadata": { "name": "x" } });
    world.objects.insert("foreign".into(), foreign);
    world.refs.insert("foreign".into());
    let response = run(&world.request(), &Options::default(), world.now);
    assert!(response.results.iter().all(|r| r.severity() != Severity::Fatal));
}
