//! From the claim to Ready.

use function_model::world::{NAME, World};
use jiff::SignedDuration;
use serde_json::json;

use crate::cluster_api::{asked, is, minutes, topology, variable};

#[test]
fn cluster_has_all_values_of_the_catalogue() {
    let mut world = World::cluster_api_claim();
    world.spec["controlPlane"] = json!({ "replicas": 3, "class": "large" });
    world.spec["network"] = json!({
        "podCIDR": "10.8.0.0/14", "external": { "networkID": "2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a99" },
    });
    world.spec["parameters"] = json!({ "sshKeyName": "ours" });
    world.pass();
    let manifest = asked(&world);
    assert_eq!(
        (&manifest["apiVersion"], &manifest["kind"]),
        (&json!("cluster.x-k8s.io/v1beta2"), &json!("Cluster"))
    );
    assert_eq!(
        (&manifest["metadata"]["namespace"], &manifest["metadata"]["name"]),
        (&json!("clusters"), &json!(NAME))
    );
    assert_eq!(
        manifest["spec"]["clusterNetwork"],
        json!({ "pods": { "cidrBlocks": ["10.8.0.0/14"] }, "services": { "cidrBlocks": ["10.254.0.0/16"] } })
    );
    let spec = topology(&world);
    assert_eq!(spec["classRef"], json!({ "name": "openstack-v3" }));
    assert_eq!(spec["version"], "v1.29.4");
    assert_eq!(
        spec["controlPlane"],
        json!({ "replicas": 3, "deletion": {
            "nodeDrainTimeoutSeconds": 600, "nodeVolumeDetachTimeoutSeconds": 300, "nodeDeletionTimeoutSeconds": 600,
        } })
    );
    let names: Vec<&str> =
        spec["variables"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["cni", "controlPlaneFlavor", "externalNetworkId", "imageUUID", "region", "sshKeyName"]
    );
    for (name, value) in [
        ("cni", "calico"),
        ("controlPlaneFlavor", "m1.large"),
        ("externalNetworkId", "2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a99"),
        ("imageUUID", "2f4ea0a1-6bd5-4bd4-8b0c-9b8a4a1c5a10"),
        ("region", "west"),
        ("sshKeyName", "ours"),
    ] {
        assert_eq!(variable(&spec["variables"], name), value, "{name}");
    }
    assert_eq!(world.status["hub"], json!({ "name": "hub-1", "reason": "OnlyHub" }));
    let object = &world.objects["topology"].object;
    assert_eq!(object["metadata"]["name"], format!("managed-{NAME}"));
    assert_eq!(object["metadata"]["labels"]["testplatform.ci.openshift.org/component"], "topology");
    let cel = object["spec"]["readiness"]["celQuery"].as_str().unwrap();
    assert!(cel.contains("credentials-revision") && cel.contains("TopologyReconciled"), "{cel}");
}

#[test]
fn groups_of_nodes_are_part_of_the_topology() {
    let mut world = World::cluster_api_claim();
    world.spec["nodeGroups"] = json!([
        { "name": "scales", "class": "default", "autoscale": { "min": 0, "max": 3 }, "failureDomain": "az-1",
          "labels": { "node.cluster.x-k8s.io/a": "b" }, "parameters": { "bootVolume": 50 } },
        { "name": "big", "class": "bigger", "count": 1 },
    ]);
    world.pass();
    let groups = &topology(&world)["workers"]["machineDeployments"];
    let [big, scales] = groups.as_array().unwrap().as_slice() else { panic!("{groups}") };
    assert_eq!(
        (&big["name"], &big["class"], &big["replicas"]),
        (&json!("big"), &json!("default-worker"), &json!(1))
    );
    assert_eq!(variable(&big["variables"]["overrides"], "flavor"), "m1.large");
    assert_eq!(big["deletion"]["nodeDrainTimeoutSeconds"], 600);
    assert_eq!(big["healthCheck"]["enabled"], true);
    assert!(scales["replicas"].is_null() && !scales.as_object().unwrap().contains_key("replicas"));
    assert_eq!(scales["failureDomain"], "az-1");
    assert_eq!(
        scales["metadata"],
        json!({
            "labels": { "node.cluster.x-k8s.io/a": "b" },
            "annotations": {
                "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "3",
                "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "0",
                "testplatform.ci.openshift.org/node-class": "default",
            },
        })
    );
    assert_eq!(scales["variables"], json!({ "overrides": [{ "name": "bootVolumeSize", "value": 50 }] }));
}

#[test]
fn without_groups_there_are_no_workers() {
    let mut world = World::cluster_api_claim();
    world.spec["nodeGroups"] = json!([]);
    world.settle();
    assert!(!topology(&world).as_object().unwrap().contains_key("workers"));
    world.capi_installs();
    world.report_cluster_api(&[("WorkersAvailable", "True", "NoWorkers", "")]);
    world.hypershift_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    assert_eq!(world.condition("NodesReady"), is("True", "NoNodesRequested"));
}

#[test]
fn ready_is_ready_with_its_credentials() {
    let mut world = World::cluster_api_claim();
    world.settle();
    world.advance_time(SignedDuration::from_secs(15));
    assert_eq!(world.phase(), "Pending", "nobody looked at it");
    world.capi_installs();
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "nothing is Ready without credentials");
    assert_eq!(world.condition("CredentialsPublished"), is("False", "SecretMissing"));
    world.hypershift_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    for (type_, reason) in [
        ("ClusterReady", "Ready"),
        ("InfrastructureReady", "Available"),
        ("ControlPlaneAvailable", "Available"),
        ("NodesReady", "AllReady"),
        ("TemplateApplied", "NothingToApply"),
        ("SpecApplied", "UpToDate"),
    ] {
        assert_eq!(world.condition(type_), is("True", reason), "{type_}");
    }
    assert_eq!(world.status["apiServerURL"], "https://api.demo.example:6443");
    assert!(world.status["consoleURL"].is_null(), "there is none");
    assert_eq!(
        (&world.status["version"], &world.status["versionDesired"]),
        (&json!("1.29.4"), &json!("1.29.4"))
    );
    assert_eq!(
        world.status["nodes"],
        json!({ "desired": 2, "ready": 2, "pools": [{ "name": "workers", "class": "default", "desired": 2 }] })
    );
    assert_eq!(
        world.objects["credentials"].object["spec"]["forProvider"]["manifest"]["metadata"]["namespace"],
        "published"
    );
    assert_eq!(asked(&world)["spec"]["controlPlaneEndpoint"], json!(null), "it is not ours");
}

/// Who can write on the Cluster could else have another claim's Secret read.
#[test]
fn a_secret_of_another_name_is_not_read() {
    let mut world = World::cluster_api_claim();
    world.settle();
    world.advance_time(SignedDuration::from_secs(15));
    world.capi_installs();
    world.report_status(
        &json!({ "credentials": { "secretName": "theirs-credentials", "passwordAvailable": false } }),
    );
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(world.condition("CredentialsPublished"), is("False", "SecretMissing"));
}

#[test]
fn cluster_that_is_never_ready_fails_in_time() {
    let mut world = World::cluster_api_claim();
    world.settle();
    world.report_cluster_api(&[("InfrastructureReady", "False", "NotReady", "Quota exceeded for cores")]);
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    world.advance_time(minutes(300));
    world.settle();
    assert_eq!(world.phase(), "Failed", "and why stays told while what is left goes");
    let message = world.status["message"].as_str().unwrap();
    assert!(message.contains("timeout: QuotaExceeded: Quota exceeded for cores"), "{message}");
    world.hive_is_done();
    world.settle();
    assert!(world.remote.is_none());
    assert_eq!(world.condition("ProwJobCompleted").0, "True");
}
