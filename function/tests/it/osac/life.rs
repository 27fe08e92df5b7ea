//! From the claim to Ready.

use function_model::{
    osac::BEHIND,
    world::{NAME, World},
};
use jiff::SignedDuration;
use serde_json::json;

use crate::osac::{asked, is, minutes, noted};

#[test]
fn order_has_all_requested_values() {
    let mut world = World::osac_claim();
    world.spec["network"] = json!({ "podCIDR": "10.8.0.0/14", "serviceCIDR": "172.20.0.0/16" });
    world.spec["parameters"] = json!({ "sizes": [1, 2] });
    world.pass();
    let manifest = asked(&world);
    assert_eq!(
        (&manifest["apiVersion"], &manifest["kind"]),
        (&json!("osac.openshift.io/v1alpha1"), &json!("ClusterOrder"))
    );
    let metadata = &manifest["metadata"];
    assert_eq!((&metadata["namespace"], &metadata["name"]), (&json!("clusters"), &json!(NAME)));
    assert_eq!(metadata["annotations"]["osac.openshift.io/tenant"], "tenant-a");
    assert_eq!(
        manifest["spec"],
        json!({
            "templateID": "osac.templates.tuned",
            "templateParameters": "{\"service_tier\":\"silver\",\"sizes\":[1,2]}",
            "releaseImage": "quay.io/x:4.20.3-x86_64",
            "network": { "podCIDR": "10.8.0.0/14", "serviceCIDR": "172.20.0.0/16" },
            "nodeRequests": [{ "resourceClass": "fc430", "numberOfNodes": 2 }],
        })
    );
    let object = &world.objects["order"].object;
    assert_eq!(object["metadata"]["labels"]["testplatform.ci.openshift.org/component"], "order");
    assert_eq!(noted(&world, "node-classes"), "{\"metal\":\"fc430\"}");
    let cel = object["spec"]["readiness"]["celQuery"].as_str().unwrap();
    assert!(cel.contains("ClusterAvailable") && cel.contains("credentials-revision"), "{cel}");
}

/// Its automation reads the parameters whether there are any or not, and drops one of two requests for the same class.
#[test]
fn request_avoids_known_failures_of_osac() {
    let mut world = World { spec: json!({ "template": "order" }), ..World::osac_claim() };
    world.pass();
    assert_eq!(
        asked(&world)["spec"],
        json!({ "templateID": "osac.templates.small", "templateParameters": "{}" })
    );
    let mut world = World::osac_claim();
    world.spec["nodeGroups"] = json!([
        { "name": "b", "class": "bare", "count": 1 }, { "name": "l", "class": "large", "count": 4 },
        { "name": "a", "class": "metal", "count": 2 },
    ]);
    world.pass();
    assert_eq!(
        asked(&world)["spec"]["nodeRequests"],
        json!([
            { "resourceClass": "fc430", "numberOfNodes": 3 }, { "resourceClass": "fc640", "numberOfNodes": 4 },
        ])
    );
    let mut none = World::osac_claim();
    none.spec["nodeGroups"] = json!([]);
    none.settle();
    assert_eq!(none.condition("RequestAccepted"), is("False", "InvalidNodeGroups"));
    assert!(
        none.refusal_message().contains("spec.nodeGroups must have a group"),
        "{}",
        none.refusal_message()
    );
}

#[test]
fn ready_is_ready_with_its_credentials() {
    let mut world = World::osac_claim();
    world.settle();
    world.advance_time(SignedDuration::from_secs(15));
    assert_eq!(world.phase(), "Pending", "nobody looked at it");
    world.osac_runs("job-1");
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world.osac_makes();
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "nothing is Ready without credentials");
    assert_eq!(world.condition("CredentialsPublished"), is("False", "SecretMissing"));
    world.publish_credentials();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    for (type_, reason) in [
        ("ClusterReady", "Ready"),
        ("InfrastructureReady", "Available"),
        ("ControlPlaneAvailable", "Available"),
        ("NodesReady", "AllReady"),
        ("TemplateApplied", "Applied"),
        ("SpecApplied", "UpToDate"),
    ] {
        assert_eq!(world.condition(type_), is("True", reason), "{type_}");
    }
    assert_eq!(world.status["apiServerURL"], "https://api.demo.example:6443");
    assert_eq!(
        world.status["consoleURL"],
        format!("https://console-openshift-console.apps.{NAME}.hub.example")
    );
    assert_eq!(
        (&world.status["version"], &world.status["versionDesired"]),
        (&json!("4.20.3"), &json!("4.20.3"))
    );
    let workers =
        json!({ "name": "workers", "class": "metal", "desired": 2, "ready": 2, "version": "4.20.3" });
    assert_eq!(world.status["nodes"], json!({ "desired": 2, "ready": 2, "pools": [workers] }));
    assert_eq!(world.status["backend"]["kind"], "ClusterOrder");
}

#[test]
fn hosted_cluster_of_an_order_is_observed_and_never_written() {
    let mut world = World::osac_claim();
    world.settle();
    world.osac_runs("job-1");
    world.settle();
    assert!(!world.objects.contains_key("hosted"), "nobody knows yet where it is");
    world.osac_names();
    world.settle();
    for (name, kind, remote) in [
        ("hosted", "HostedCluster", NAME.to_owned()),
        ("pool-workers", "NodePool", format!("nodepool-{NAME}-fc430")),
    ] {
        let object = &world.objects[name].object;
        assert_eq!(object["spec"]["managementPolicies"], json!(["Observe"]));
        assert_eq!(
            object["spec"]["forProvider"]["manifest"],
            json!({
                "apiVersion": "hypershift.openshift.io/v1beta1", "kind": kind,
                "metadata": { "name": remote, "namespace": BEHIND },
            })
        );
        assert_eq!(object["spec"]["providerConfigRef"]["name"], "hub-1");
    }
    assert!(world.node_pools.is_empty(), "nothing was made by it");
    assert_eq!(world.status["progress"]["step"], "ControlPlane");
}

/// The automation calls an order ready when a job of its has ended, whatever became of the cluster.
#[test]
fn an_order_that_calls_itself_ready_is_not_believed_alone() {
    let mut world = World::osac_claim();
    world.settle();
    world.osac_names();
    world.report_osac("Ready", &["ControlPlaneAvailable"]);
    world.osac_job("job-1", "provision", "Succeeded", "");
    world.osac_serves();
    world.publish_credentials();
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(world.status["progress"]["step"], "Cluster");
    world.report_osac("Ready", &["ClusterAvailable"]);
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn cluster_that_is_never_ready_fails_in_time() {
    let mut world = World::osac_claim();
    world.settle();
    world.report_osac("Failed", &["Accepted"]);
    world.osac_job("job-1", "provision", "Failed", "no host of class fc430 is free");
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world.advance_time(minutes(300));
    world.settle();
    assert_eq!(world.phase(), "Failed", "and why stays told while what is left goes");
    let message = world.status["message"].as_str().unwrap();
    assert!(message.contains("ProvisioningJobFailed: no host of class fc430 is free"), "{message}");
    world.hive_is_done();
    world.settle();
    assert!(world.remote.is_none());
    assert_eq!(world.condition("ProwJobCompleted").0, "True");
    assert_eq!(world.status["lastError"]["reason"], "ProvisioningJobFailed");
}
