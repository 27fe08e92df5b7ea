//! Pools on the hub, their owners, and refusals.

use function_model::pool::{PoolWorld, pool_spec};
use jiff::SignedDuration;
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_composites::{Options, run};

use crate::cluster_pool::{is, made, sizes};

fn peer(name: &str, created: &str, change: &Value) -> Value {
    let mut spec = pool_spec();
    for (key, value) in change.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({
        "apiVersion": "ci.openshift.org/v1alpha1", "kind": "XTestPlatformClusterPool",
        "metadata": { "name": name, "uid": name, "creationTimestamp": created }, "spec": spec,
    })
}

#[test]
fn pool_in_git_becomes_a_pool_on_the_hub() {
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
    world.report_counts(3, 1, 1);
    world.report_provider(&json!({ "claimed": 4 }));
    world.settle();
    for (field, count) in [("size", 3), ("standby", 1), ("ready", 1), ("installing", 1), ("claimed", 4)] {
        assert_eq!(world.status[field], count, "{field}");
    }
    assert_eq!(world.status["message"], "3 of 3 clusters: 1 running, 1 hibernating, 1 being installed");
    assert_eq!(world.status["pool"], json!({ "name": "aws-420", "namespace": "cluster-pools" }));
}

#[test]
fn only_platforms_of_hive_pools_are_accepted() {
    let refused = |changes: Value, field: &str| {
        let mut world = PoolWorld::with(&changes);
        world.settle();
        is(&world, "RequestAccepted", "False", "InvalidPool");
        assert!(
            world.condition_message("RequestAccepted").contains(field),
            "{}",
            world.condition_message("RequestAccepted")
        );
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
fn role_binding_admits_administrators() {
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

/// Core ≤ 2.3 does not watch the other pools.
#[test]
fn blocked_pool_is_reconciled_every_fifteen_seconds() {
    let options = Options { ttl: SignedDuration::from_hours(1) };
    let ttl = |world: &PoolWorld| {
        let answer = run(&world.request(), &options, world.now);
        answer.meta.unwrap().ttl.unwrap().seconds
    };
    let mut world = PoolWorld::with(&json!({}));
    assert_eq!(ttl(&world), 3600);
    world.peers = vec![peer("other", "2026-11-23T08:00:00Z", &json!({ "name": "aws-420" }))];
    assert_eq!(ttl(&world), 15);
}

#[test]
fn pool_names_are_unique_across_the_namespaces_of_a_hub() {
    let older = "2026-11-23T08:00:00Z";
    let mut world = PoolWorld::with(&json!({}));
    world.peers = vec![peer("other", older, &json!({ "name": "aws-420", "namespace": "elsewhere" }))];
    world.settle();
    is(&world, "RequestAccepted", "False", "NameTaken");
    is(&world, "PoolNameUnique", "False", "NameTaken");
    let said = world.condition_message("RequestAccepted");
    assert!(
        said.contains("XTestPlatformClusterPool other") && said.contains("namespace elsewhere"),
        "{said}"
    );
    assert_eq!((world.phase().as_str(), world.objects.len()), ("Pending", 0));
    assert_eq!(world.ttl, 15);
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
    // One that is gone, as asked, has its name no more, until it is wanted again.
    let drained = json!([
        { "type": "RemoteConsistent", "status": "True", "reason": "InSync" },
        { "type": "Drained", "status": "True", "reason": "Gone" },
    ]);
    for (drain, phase) in [(true, "Ready"), (false, "Pending")] {
        let mut gone = peer("other", older, &json!({ "name": "aws-420", "drain": drain }));
        gone["status"] = json!({ "conditions": drained });
        let mut world = PoolWorld::with(&json!({}));
        world.peers = vec![gone];
        world.settle();
        assert_eq!(world.phase(), phase);
    }
    // An existing pool is never deleted for a name; the conflict is reported.
    let mut world = made(&json!({}));
    world.peers = vec![peer("other", older, &json!({ "name": "aws-420" }))];
    world.report_provider(&json!({ "namesakes": ["elsewhere"] }));
    world.settle();
    assert_eq!(world.phase(), "Ready");
    is(&world, "PoolNameUnique", "False", "NameTaken");
    assert!(world.condition_message("PoolNameUnique").contains("elsewhere"));
}

#[test]
fn pool_is_not_created_before_other_pools_are_read() {
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
fn install_config_template_is_a_reference_and_owns_machine_pools() {
    let template = json!({ "installConfigTemplateRef": { "name": "template" } });
    let mut world = made(&template);
    assert_eq!(world.manifest()["spec"]["installConfigSecretTemplateRef"], json!({ "name": "template" }));
    assert_eq!(world.manifest()["spec"]["skipMachinePools"], true);
    world.change(&json!({ "skipMachinePools": false }));
    world.settle();
    assert_eq!(world.manifest()["spec"]["skipMachinePools"], false);
    assert!(made(&json!({})).manifest()["spec"].get("skipMachinePools").is_none());
}
