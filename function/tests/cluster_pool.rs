//! Lives of a pool in Git, from the administrators' side.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on says so")]

mod support;

use function_testplatform::{Options, proto::Severity, run};
use serde_json::{Value, json};
use support::pool::{PoolWorld, spec};
use testplatform_apis::{names::ours, pool_report::PoolRequest};

fn is(world: &PoolWorld, type_: &str, status: &str, reason: &str) {
    assert_eq!(
        world.condition(type_),
        (status.to_owned(), reason.to_owned()),
        "{type_}: {}",
        world.said(type_)
    );
}

fn made(changes: &Value) -> PoolWorld {
    let mut world = PoolWorld::with(changes);
    world.settle();
    assert_eq!(world.phase(), "Ready", "{}", world.status["message"]);
    world
}

fn sizes(world: &PoolWorld) -> (Value, Value, Value) {
    let spec = &world.manifest()["spec"];
    (spec["size"].clone(), spec["runningCount"].clone(), spec["maxSize"].clone())
}

fn asked(world: &PoolWorld) -> PoolRequest {
    serde_json::from_str(world.manifest()["metadata"]["annotations"][ours::POOL_REQUEST].as_str().unwrap())
        .unwrap()
}

#[test]
fn a_pool_in_git_is_a_pool_on_the_hub_with_counts() {
    let mut world = made(&json!({
        "labels": { "product": "ocp", "version": "4.20" }, "clusterLabels": { "tp": "x" }, "maxConcurrent": 2,
        "pullSecretRef": { "name": "pull" }, "hibernateAfter": "8h", "claimLifetime": { "default": "4h", "maximum": "12h" },
    }));
    let manifest = world.manifest();
    assert_eq!(
        manifest["metadata"],
        json!({
            "name": "aws-420", "namespace": "cluster-pools", "labels": { "product": "ocp", "version": "4.20" },
            "annotations": { ours::POOL_REQUEST: manifest["metadata"]["annotations"][ours::POOL_REQUEST] },
        })
    );
    assert_eq!(
        manifest["spec"],
        json!({
            "size": 3, "runningCount": 1, "maxSize": 10, "maxConcurrent": 2, "baseDomain": "ci.example.com",
            "imageSetRef": { "name": "ocp-4.20" }, "pullSecretRef": { "name": "pull" },
            "platform": { "aws": { "region": "us-east-1", "credentialsSecretRef": { "name": "aws-1" } } },
            "hibernateAfter": "8h0m0s", "hibernationConfig": { "resumeTimeout": "20m0s" }, "installAttemptsLimit": 1,
            "claimLifetime": { "default": "4h0m0s", "maximum": "12h0m0s" }, "labels": { "tp": "x" },
        })
    );
    let object = &world.objects["pool"];
    assert_eq!(object["metadata"]["name"], "managed-aws-420");
    assert_eq!(object["metadata"]["labels"][ours::COMPONENT], "pool");
    assert_eq!(object["spec"]["providerConfigRef"]["name"], "hive-1");
    assert!(object["spec"].get("managementPolicies").is_none());
    world.counts(3, 1, 1);
    world.reports(&json!({ "claimed": 4 }));
    world.settle();
    for (field, count) in [("size", 3), ("standby", 1), ("ready", 1), ("installing", 1), ("claimed", 4)] {
        assert_eq!(world.status[field], count, "{field}");
    }
    assert_eq!(world.status["message"], "3 of 3 clusters: 1 running, 1 hibernating, 1 being installed");
    assert_eq!(world.status["pool"], json!({ "name": "aws-420", "namespace": "cluster-pools" }));
}

#[test]
fn only_platforms_that_hive_pools_build_with_all_running_where_none_can_hibernate() {
    let refused = |changes: Value, field: &str| {
        let mut world = PoolWorld::with(&changes);
        world.settle();
        is(&world, "RequestAccepted", "False", "InvalidPool");
        assert!(world.said("RequestAccepted").contains(field), "{}", world.said("RequestAccepted"));
        assert_eq!((world.phase().as_str(), world.objects.len()), ("Pending", 0));
    };
    refused(json!({ "platform": { "nutanix": {} } }), "spec.platform: set exactly one");
    refused(json!({ "platform": { "aws": {}, "gcp": {} } }), "spec.platform: set exactly one");
    refused(
        json!({ "platform": { "openstack": { "cloud": "c" } } }),
        "spec.runningCount: must be equal to size (3)",
    );
    refused(
        json!({ "platform": { "vsphere": {} }, "runningCount": null }),
        "spec.runningCount: must be equal to size (3)",
    );
    let window = json!({ "name": "w", "start": "00:00", "end": "24:00", "size": 5, "runningCount": 4 });
    refused(
        json!({ "platform": { "vsphere": {} }, "runningCount": 3, "schedule": { "timeZone": "UTC", "windows": [window] } }),
        "spec.schedule.windows[0].runningCount: must be equal to size (5)",
    );
    refused(
        json!({ "platform": { "vsphere": {} }, "runningCount": 3, "scalingMode": "External" }),
        "spec.scalingMode",
    );
    refused(
        json!({ "platform": { "aws": { "credentialsSecretRef": { "name": "x" } } } }),
        "spec.platform.aws.credentialsSecretRef: use spec.credentialsRef",
    );
    refused(json!({ "credentialsRef": null }), "spec.credentialsRef: is needed");
    refused(
        json!({ "platform": { "aws": { "credentialsAssumeRole": { "roleARN": "r" } } } }),
        "spec.credentialsRef: excludes",
    );

    // In a window that says nothing of it, all run too.
    let window = json!({ "name": "w", "start": "00:00", "end": "24:00", "size": 5 });
    let world = made(&json!({
        "platform": { "openstack": { "cloud": "c" } }, "runningCount": 3,
        "schedule": { "timeZone": "UTC", "windows": [window] },
    }));
    assert_eq!(sizes(&world), (json!(5), json!(5), json!(10)));
    let assumes = json!({ "credentialsRef": null, "platform": { "aws": { "region": "r", "credentialsAssumeRole": { "roleARN": "r" } } } });
    let world = made(&assumes);
    assert!(world.manifest()["spec"]["platform"]["aws"].get("credentialsSecretRef").is_none());
}

#[test]
fn administrators_are_let_in_by_a_role_binding_in_the_pools_namespace() {
    let admins = json!([
        { "kind": "Group", "name": "team" },
        { "kind": "ServiceAccount", "name": "bot", "namespace": "ops" },
    ]);
    let mut world = made(&json!({ "admins": admins }));
    let binding = &world.objects["admins"]["spec"]["forProvider"]["manifest"];
    assert_eq!(binding["metadata"], json!({ "name": "aws-420-admins", "namespace": "cluster-pools" }));
    assert_eq!(binding["roleRef"]["name"], "hive-cluster-pool-admin");
    assert_eq!(
        binding["subjects"],
        json!([
            { "kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "team" },
            { "kind": "ServiceAccount", "name": "bot", "namespace": "ops" },
        ])
    );
    world.change(&json!({ "admins": null }));
    world.settle();
    assert!(world.objects["admins"]["metadata"]["deletionTimestamp"].is_string());
    let mut world =
        PoolWorld::with(&json!({ "admins": [{ "kind": "Group", "name": "x", "namespace": "y" }] }));
    world.settle();
    is(&world, "RequestAccepted", "False", "InvalidPool");
}

fn peer(name: &str, created: &str, change: &Value) -> Value {
    let mut spec = spec();
    for (key, value) in change.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformClusterPool",
        "metadata": { "name": name, "uid": name, "creationTimestamp": created }, "spec": spec,
    })
}

#[test]
fn pool_names_are_unique_across_the_namespaces_of_a_hub() {
    let older = "2026-11-23T08:00:00Z";
    let mut world = PoolWorld::with(&json!({}));
    world.peers = vec![peer("other", older, &json!({ "name": "aws-420", "namespace": "elsewhere" }))];
    world.settle();
    is(&world, "RequestAccepted", "False", "NameTaken");
    is(&world, "PoolNameUnique", "False", "NameTaken");
    let said = world.said("RequestAccepted");
    assert!(
        said.contains("XTestPlatformClusterPool other") && said.contains("namespace elsewhere"),
        "{said}"
    );
    assert_eq!((world.phase().as_str(), world.objects.len()), ("Pending", 0));
    assert_eq!(world.ttl, 60);
    // Of two the older has the name; on another hub it is free.
    for free in [
        peer("other", "2026-11-23T09:30:00Z", &json!({ "name": "aws-420", "namespace": "elsewhere" })),
        peer("other", older, &json!({ "name": "aws-420", "providerConfig": "hive-2" })),
        peer("other", older, &json!({})),
    ] {
        let mut world = PoolWorld::with(&json!({}));
        world.peers = vec![free];
        world.settle();
        assert_eq!(world.phase(), "Ready");
    }
    // What is there already is never taken away for a name; it is said.
    let mut world = made(&json!({}));
    world.peers = vec![peer("other", older, &json!({ "name": "aws-420" }))];
    world.reports(&json!({ "namesakes": ["elsewhere"] }));
    world.settle();
    assert_eq!(world.phase(), "Ready");
    is(&world, "PoolNameUnique", "False", "NameTaken");
    assert!(world.said("PoolNameUnique").contains("elsewhere"));
}

#[test]
fn nothing_is_made_before_the_other_pools_were_read() {
    let mut request = PoolWorld::with(&json!({})).request();
    request.required_resources.clear();
    let response = run(&request, &Options::default(), "2026-11-23T10:00:00Z".parse().unwrap());
    assert!(response.desired.unwrap().resources.is_empty());
    assert!(response.results.is_empty());
    assert!(response.requirements.unwrap().resources.contains_key("cluster-pools"));
    // Once it is made, they are asked for no more.
    let mut world = made(&json!({}));
    assert_eq!(world.pass().requirements, None);
}

#[test]
fn an_install_config_template_is_referred_to_by_name_and_leaves_machine_pools_to_it() {
    let template = json!({ "installConfigTemplateRef": { "name": "template" } });
    let mut world = made(&template);
    assert_eq!(world.manifest()["spec"]["installConfigSecretTemplateRef"], json!({ "name": "template" }));
    assert_eq!(world.manifest()["spec"]["skipMachinePools"], true);
    world.change(&json!({ "skipMachinePools": false }));
    world.settle();
    assert_eq!(world.manifest()["spec"]["skipMachinePools"], false);
    assert!(made(&json!({})).manifest()["spec"].get("skipMachinePools").is_none());
}

#[test]
fn an_edited_pool_shows_which_clusters_are_stale() {
    let mut world = made(&json!({}));
    world.counts(3, 2, 1);
    world.hive_says(
        "AllClustersCurrent",
        "True",
        "ClusterDeploymentsCurrent",
        "All ClusterDeployments are current",
    );
    world.settle();
    is(&world, "PoolCurrent", "True", "ClusterDeploymentsCurrent");
    assert_eq!(world.status["rollout"], json!({ "current": 3, "upToDate": true }));
    world.change(&json!({ "imageSetRef": { "name": "ocp-4.20.1" } }));
    world.settle();
    assert_eq!(world.manifest()["spec"]["imageSetRef"]["name"], "ocp-4.20.1");
    let words = "Some ClusterDeployments are stale: aws-420-abcde, aws-420-fghij";
    world.hive_says("AllClustersCurrent", "False", "SomeClusterDeploymentsStale", words);
    world.settle();
    is(&world, "PoolCurrent", "False", "SomeClusterDeploymentsStale");
    assert_eq!(
        world.status["rollout"],
        json!({ "current": 1, "stale": ["aws-420-abcde", "aws-420-fghij"], "upToDate": false })
    );
    assert_eq!(world.phase(), "Ready", "a rollout is no trouble");
}

#[test]
fn a_refresh_lowers_the_size_as_the_hub_asks_and_only_while_it_is_asked_for() {
    let refresh = json!({ "nonce": "1", "strategy": "Recreate", "maxUnavailable": 2 });
    let mut world = made(&json!({ "refresh": refresh }));
    let request = asked(&world);
    assert_eq!((request.size, request.refresh.unwrap().max_unavailable), (Some(3), Some(2)));
    is(&world, "Refreshing", "False", "NotTakenUp");
    let report = |phase: &str, nonce: &str| json!({ "ceiling": { "size": 1, "runningCount": 0 }, "refresh": { "nonce": nonce, "phase": phase, "remaining": 2 } });
    world.reports(&report("Down", "1"));
    world.settle();
    assert_eq!(sizes(&world), (json!(1), json!(0), json!(10)));
    assert_eq!(asked(&world).size, Some(3), "what is usual is still said");
    is(&world, "Refreshing", "True", "Down");
    assert_eq!(world.status["refresh"], json!({ "nonce": "1", "phase": "Down", "remaining": 2 }));
    // A ceiling that nobody asks for any more is void: the way out if the provider is away.
    world.change(&json!({ "refresh": null }));
    world.settle();
    assert_eq!(sizes(&world).0, 3);
    world.change(&json!({ "refresh": { "nonce": "2" } }));
    world.settle();
    assert_eq!(sizes(&world).0, 3, "a report about another refresh is none about this");
    is(&world, "Refreshing", "False", "NotTakenUp");
    assert_eq!(asked(&world).refresh.unwrap().max_unavailable, Some(1), "Rolling is one at a time");
    world.reports(&report("Done", "2"));
    world.settle();
    assert_eq!(sizes(&world).0, 3);
    is(&world, "Refreshing", "False", "Done");
    world.reports(&report("Stalled", "2"));
    world.settle();
    is(&world, "Refreshing", "False", "Stalled");
}

#[test]
fn another_content_under_the_same_name_recommends_a_refresh() {
    let mut world = made(&json!({}));
    is(&world, "RefreshRecommended", "Unknown", "NotWatched");
    world.reports(&json!({ "artifacts": { "imageSet": "ocp-4.20", "releaseImage": "r1", "changed": true } }));
    world.settle();
    is(&world, "RefreshRecommended", "True", "ImageSetChanged");
    let own = json!({ "ceiling": { "size": 2 }, "refresh": { "nonce": "artifact:r2", "phase": "Down" } });
    world.reports(&own);
    world.settle();
    assert_eq!(sizes(&world).0, 3, "nobody allowed it");
    world.change(&json!({ "refresh": { "onArtifactChange": "Rolling" } }));
    world.settle();
    assert_eq!(sizes(&world).0, 2);
}

fn name_in_use(world: &PoolWorld) -> &Value {
    &world.manifest()["spec"]["platform"]["aws"]["credentialsSecretRef"]["name"]
}

#[test]
fn rotation_by_draining_uses_the_new_credentials_once_no_cluster_is_left() {
    let mut world = made(&json!({ "credentialsRotation": { "mode": "Drain" } }));
    assert_eq!(name_in_use(&world), "aws-1", "the first are used at once");
    world.change(&json!({ "credentialsRef": { "name": "aws-2" } }));
    world.settle();
    assert_eq!(name_in_use(&world), "aws-1");
    assert_eq!(asked(&world).credentials.unwrap().name, "aws-2");
    let report = |phase: &str| {
        json!({ "ceiling": { "size": 0 }, "rotation": {
            "name": "aws-2", "phase": phase, "onOld": 1, "claimedOnOld": 1, "clustersOnOld": ["aws-420-abcde"],
        } })
    };
    world.reports(&report("Draining"));
    world.settle();
    assert_eq!((name_in_use(&world), sizes(&world).0), (&json!("aws-1"), json!(0)));
    is(&world, "OldCredentialsReleasable", "False", "Draining");
    assert!(world.events.contains(&"ScaledToZero".to_owned()));
    world.reports(&report("Switching"));
    world.settle();
    assert_eq!((name_in_use(&world), sizes(&world).0), (&json!("aws-2"), json!(0)));
    world.reports(&json!({ "rotation": { "name": "aws-2", "phase": "Done" } }));
    world.settle();
    assert_eq!((name_in_use(&world), sizes(&world).0), (&json!("aws-2"), json!(3)));
    is(&world, "OldCredentialsReleasable", "True", "NotInUse");
}

#[test]
fn rotation_by_replacing_uses_the_new_credentials_at_once() {
    let mut world = made(&json!({}));
    world.change(&json!({ "credentialsRef": { "name": "aws-2" } }));
    world.settle();
    assert_eq!((name_in_use(&world), sizes(&world).0), (&json!("aws-2"), json!(3)));
}

#[test]
fn it_is_told_when_no_cluster_uses_the_old_credentials() {
    let mut world = made(&json!({}));
    is(&world, "OldCredentialsReleasable", "Unknown", "NotWatched");
    world.reports(&json!({ "rotation": { "name": "aws-1", "phase": "First" } }));
    world.settle();
    is(&world, "OldCredentialsReleasable", "False", "NoRotation");
    world.change(&json!({ "credentialsRef": { "name": "aws-2" } }));
    world.settle();
    is(&world, "OldCredentialsReleasable", "False", "InUse");
    let report = json!({ "rotation": {
        "name": "aws-2", "phase": "Replacing", "onOld": 2, "claimedOnOld": 1, "clustersOnOld": ["aws-420-a", "aws-420-b"],
    } });
    world.reports(&report);
    world.settle();
    is(&world, "OldCredentialsReleasable", "False", "InUse");
    assert_eq!(
        world.said("OldCredentialsReleasable"),
        "the old credentials are needed to destroy clusters: 2 clusters, 1 of them claimed: aws-420-a, aws-420-b"
    );
    let expected = json!({ "secretName": "aws-2", "phase": "Replacing", "clustersOnOld": ["aws-420-a", "aws-420-b"], "claimedOnOld": 1 });
    assert_eq!(world.status["rotation"], expected);
    world.reports(&json!({ "rotation": { "name": "aws-2", "phase": "Done" } }));
    world.settle();
    is(&world, "OldCredentialsReleasable", "True", "NotInUse");
    assert!(world.events.contains(&"OldCredentialsReleasable".to_owned()));
}

fn by_day() -> Value {
    json!({ "schedule": {
        "timeZone": "Europe/Prague", "default": { "size": 1, "runningCount": 0 },
        "windows": [{ "name": "work", "days": ["Mon"], "start": "07:00", "end": "18:00", "size": 8, "runningCount": 2, "maxSize": 20 }],
    } })
}

#[test]
fn the_size_follows_the_schedule_and_the_answer_is_good_until_its_next_boundary() {
    // A Monday, 11:00 in Prague.
    let mut world = made(&by_day());
    assert_eq!(sizes(&world), (json!(8), json!(2), json!(20)));
    assert_eq!(
        world.status["schedule"],
        json!({ "activeWindow": "work", "nextTransition": "2026-11-23T17:00:00Z" })
    );
    assert_eq!(world.ttl, 60);
    world.now = "2026-11-23T16:59:40Z".parse().unwrap();
    world.pass();
    assert_eq!((world.ttl, sizes(&world).0), (18, json!(8)), "nine tenths of what is left");
    world.now = "2026-11-23T16:59:59.5Z".parse().unwrap();
    world.pass();
    assert_eq!(world.ttl, 1);
    world.now = "2026-11-23T17:00:00Z".parse().unwrap();
    world.settle();
    assert_eq!(sizes(&world), (json!(1), json!(0), json!(10)));
    assert_eq!(world.status["schedule"], json!({ "nextTransition": "2026-11-30T06:00:00Z" }));
    // Nothing ran for three weeks: what time it is is what counts.
    world.now = "2026-12-14T09:00:00Z".parse().unwrap();
    world.settle();
    assert_eq!(sizes(&world).0, 8);
}

#[test]
fn a_schedule_that_cannot_be_used_keeps_what_runs() {
    let mut world = made(&by_day());
    let mut broken = by_day();
    let lunch = json!({ "name": "lunch", "days": ["Mon"], "start": "12:00", "end": "13:00", "size": 2 });
    broken["schedule"]["windows"].as_array_mut().unwrap().push(lunch);
    world.change(&broken);
    world.change(&json!({ "maxConcurrent": 5 }));
    world.now = "2026-11-23T20:00:00Z".parse().unwrap();
    world.settle();
    is(&world, "RequestAccepted", "False", "WindowsOverlap");
    let said = world.said("RequestAccepted");
    assert!(said.starts_with("windows work and lunch overlap, on Mon at 12:00"), "{said}");
    assert_eq!(sizes(&world), (json!(8), json!(2), json!(20)), "as it was");
    assert_eq!(world.manifest()["spec"]["maxConcurrent"], 5, "everything else is taken up");
    assert_eq!(world.phase(), "Ready");
    // One that was never made waits.
    let mut world = PoolWorld::with(&broken);
    world.settle();
    is(&world, "RequestAccepted", "False", "WindowsOverlap");
    assert_eq!((world.phase().as_str(), world.objects.len()), ("Pending", 0));
    let mut zone = by_day();
    zone["schedule"]["timeZone"] = json!("Mars/Olympus");
    let mut world = PoolWorld::with(&zone);
    world.settle();
    is(&world, "RequestAccepted", "False", "ScheduleInvalid");
}

#[test]
fn where_somebody_else_scales_the_size_is_handed_over_and_never_written_again() {
    let mut world = PoolWorld::with(&json!({ "scalingMode": "External" }));
    let policies = |world: &PoolWorld, name: &str| world.objects[name]["spec"]["managementPolicies"].clone();
    world.pass();
    assert_eq!(sizes(&world).0, 3, "it is made with one");
    assert!(!world.objects.contains_key("size"));
    world.settle();
    assert_eq!(sizes(&world), (Value::Null, json!(1), json!(10)), "and then it is let go of");
    assert_eq!(policies(&world, "size"), json!(["Observe"]));
    let second = &world.objects["size"]["spec"]["forProvider"]["manifest"];
    assert_eq!(second["spec"], json!({ "size": 3 }));
    assert_eq!(asked(&world).size, None);
    // An autoscaler takes over; whatever else changes in Git still arrives.
    world.on_the_hub(&json!({ "spec": { "size": 7 } }));
    world.change(&json!({ "imageSetRef": { "name": "ocp-4.20.1" } }));
    world.settle();
    assert_eq!(sizes(&world).0, Value::Null);
    assert_eq!(world.remote()["spec"]["size"], 7);
    assert_eq!(world.remote()["spec"]["imageSetRef"]["name"], "ocp-4.20.1");
    world.change(&json!({ "refresh": { "nonce": "1" } }));
    world.settle();
    is(&world, "Refreshing", "False", "ExternalScaling");
    // And back.
    world.change(&json!({ "scalingMode": null, "size": 4 }));
    world.settle();
    assert_eq!(world.remote()["spec"]["size"], 4);
    assert!(world.objects["size"]["metadata"]["deletionTimestamp"].is_string());
}

/// The order matters: left out while it has no other owner, the hub would refuse the pool; written once more, it would undo the other's work.
#[test]
fn the_size_is_let_go_of_only_once_it_has_a_second_owner() {
    let mut world = made(&json!({}));
    world.change(&json!({ "scalingMode": "External", "size": 9 }));
    world.on_the_hub(&json!({ "spec": { "size": 3 } }));
    world.pass();
    assert_eq!(sizes(&world).0, 3, "what stands is kept, whatever Git says by now");
    assert_eq!(world.objects["size"]["spec"]["managementPolicies"], json!(["Observe", "Update"]));
    assert_eq!(world.objects["size"]["spec"]["forProvider"]["manifest"]["spec"], json!({ "size": 3 }));
    is(&world, "RequestAccepted", "True", "HandingOver");
    world.pass();
    assert_eq!(sizes(&world).0, 3, "the second owner has not reported yet");
    world.objects.get_mut("size").unwrap()["status"] = json!({
        "atProvider": { "manifest": { "metadata": { "name": "aws-420" } } },
        "conditions": [{ "type": "Synced", "status": "False", "reason": "ReconcileError", "message": "update failed: x" }],
    });
    world.pass();
    assert_eq!(sizes(&world).0, 3, "nor is it one");
    world.settle();
    assert_eq!(sizes(&world).0, Value::Null);
}

#[test]
fn scaling_to_zero_is_said_and_claims_are_still_served() {
    let mut world = made(&json!({}));
    world.change(&json!({ "size": 0, "runningCount": 0 }));
    world.settle();
    assert_eq!(sizes(&world).0, 0);
    assert_eq!(world.events.iter().filter(|e| *e == "ScaledToZero").count(), 1);
}

#[test]
fn a_pool_that_is_drained_is_held_by_its_claims_and_says_by_which() {
    let mut world = made(&json!({ "admins": [{ "kind": "Group", "name": "team" }] }));
    world.change(&json!({ "drain": true }));
    world.pass();
    assert!(world.objects["pool"]["metadata"]["deletionTimestamp"].is_string());
    assert!(
        world.objects["admins"]["metadata"].get("deletionTimestamp").is_none(),
        "who debugs is needed now"
    );
    assert_eq!(world.phase(), "Draining");
    is(&world, "Drained", "False", "Draining");
    world.on_the_hub(&json!({ "metadata": { "deletionTimestamp": world.now } }));
    let words = "The following ClusterDeployments are pending cleanup: aws-420-abcde, aws-420-fghij";
    world.hive_says("DeletionPossible", "False", "ClusterDeploymentsPendingCleanup", words);
    world.settle();
    is(&world, "Drained", "False", "ClaimsHoldIt");
    assert_eq!(world.status["claimedClusters"], json!(["aws-420-abcde", "aws-420-fghij"]));
    assert_eq!(
        world.status["message"],
        "the pool is going, as asked; 2 clusters hold it until they are given back: aws-420-abcde, aws-420-fghij"
    );
    world.objects.remove("pool");
    world.settle();
    assert_eq!(world.phase(), "Drained");
    is(&world, "Drained", "True", "Gone");
    assert!(world.objects["admins"]["metadata"]["deletionTimestamp"].is_string());
    world.objects.clear();
    world.change(&json!({ "drain": false }));
    world.settle();
    assert_eq!(world.phase(), "Ready", "and back");
}

#[test]
fn a_pool_that_somebody_deletes_on_the_hub_is_made_anew() {
    let mut world = made(&json!({}));
    assert!(world.manifest()["metadata"].get("uid").is_none(), "nothing is pinned");
    world.on_the_hub(&json!({ "metadata": { "deletionTimestamp": world.now } }));
    world.pass();
    assert_eq!(world.phase(), "Draining");
    is(&world, "Drained", "False", "DeletedOnTheHub");
    assert!(world.objects["pool"]["metadata"].get("deletionTimestamp").is_none(), "Git wants it");
}

#[test]
fn trouble_is_told_with_the_last_failure_that_hive_has_forgotten() {
    let mut world = made(&json!({}));
    let failure = json!({
        "clusterDeployment": "aws-420-abcde", "reason": "InsufficientInstances", "message": "quota exceeded",
        "time": "2026-11-23T09:59:00Z", "attempt": 1,
    });
    world.counts(3, 0, 0);
    world.reports(&json!({ "lastProvisionFailure": failure }));
    world.settle();
    assert_eq!(world.phase(), "Degraded");
    is(&world, "PoolHealthy", "False", "InstallationsFail");
    assert_eq!(world.status["lastProvisionFailure"], failure);
    // With a cluster there it is news of yesterday.
    world.counts(3, 0, 1);
    world.settle();
    assert_eq!(world.phase(), "Ready");
    assert_eq!(world.status["lastProvisionFailure"], failure);
    world.hive_says("MissingDependencies", "True", "Missing", "cluster image set: not found");
    world.settle();
    is(&world, "PoolHealthy", "False", "MissingDependencies");
    world.hive_says("MissingDependencies", "False", "Verified", "");
    world.hive_says("InventoryValid", "False", "Invalid", "{\"Missing\":[\"a\"]}");
    world.settle();
    is(&world, "PoolHealthy", "False", "InventoryInvalid");
}

#[test]
fn what_is_invalid_keeps_what_runs() {
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
fn what_the_hub_says_is_passed_on() {
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
    assert!(world.said("RequestAccepted").ends_with("spec.platform.aws.foo"));
    world.reports(&json!("no object"));
    world.pass();
    is(&world, "RemoteConsistent", "False", "Unreadable");
}

/// One of ours that this version does not know would be destroyed.
#[test]
fn a_newer_versions_resource_is_fatal() {
    let mut world = made(&json!({}));
    let newer = json!({ "metadata": { "name": "x", "labels": { ours::COMPONENT: "quota" } } });
    world.objects.insert("quota".into(), newer);
    let response = run(&world.request(), &Options::default(), world.now);
    assert_eq!(response.results[0].severity(), Severity::Fatal);
    assert_eq!(response.results[0].reason.as_deref(), Some("NewerVersion"));
    assert_eq!(response.conditions.len(), 10, "what is shown is said again");
    // A resource of another step is not ours.
    world.objects.remove("quota");
    let foreign = json!({ "metadata": { "name": "x" } });
    world.objects.insert("foreign".into(), foreign);
    let response = run(&world.request(), &Options::default(), world.now);
    assert!(response.results.iter().all(|r| r.severity() != Severity::Fatal));
}
