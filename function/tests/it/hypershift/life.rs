//! From the claim to Ready.

use function_model::world::{NAME, World};
use jiff::SignedDuration;
use rstest::rstest;
use serde_json::{Value, json};
use testplatform_apis::{foreign::hosted_cluster::CLEANUP_CLOUD_RESOURCES, names::ours};

use crate::hypershift::{asked, group, is, level};

#[test]
fn cluster_is_requested_before_its_nodes() {
    let mut world = World::hypershift_claim();
    world.pass();
    let manifest = asked(&world);
    assert_eq!(manifest["kind"], "HostedCluster");
    assert_eq!(
        (&manifest["metadata"]["namespace"], &manifest["metadata"]["name"]),
        (&json!("clusters"), &json!(NAME))
    );
    let spec = &manifest["spec"];
    assert_eq!(spec["release"]["image"], "quay.io/x:4.20.3-x86_64");
    assert_eq!(spec["pullSecret"]["name"], "pull");
    assert_eq!(
        spec["platform"],
        json!({ "type": "KubeVirt", "kubevirt": { "baseDomainPassthrough": true } })
    );
    assert_eq!((&spec["fips"], &spec["channel"]), (&json!(false), &json!("stable")));
    assert_eq!(spec["services"].as_array().unwrap().len(), 4);
    // Its resources in the cloud go with it.
    assert_eq!(manifest["metadata"]["annotations"][CLEANUP_CLOUD_RESOURCES], "true");
    assert!(!world.objects.contains_key("pool-workers"));
    assert_eq!(world.status["hub"], json!({ "name": "hub-1", "reason": "OnlyHub" }));
    assert_eq!(level(&world, "HubSelected"), is("True", "OnlyHub"));
    world.settle();
    let pool = world.requested_pool("workers");
    assert_eq!(pool["metadata"]["name"], format!("{NAME}-workers"));
    assert_eq!(pool["spec"]["clusterName"], NAME);
    assert_eq!(pool["spec"]["replicas"], 2);
    assert_eq!(pool["spec"]["nodeDrainTimeout"], "10m");
    assert_eq!(pool["spec"]["platform"]["kubevirt"]["compute"], json!({ "cores": 4, "memory": "16Gi" }));
    let object = &world.objects["pool-workers"].object;
    assert_eq!(
        object["spec"]["references"],
        json!([{ "dependsOn": {
            "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "name": format!("managed-{NAME}"),
        } }])
    );
    assert_eq!(object["metadata"]["name"], format!("pool-workers.{NAME}"));
    assert!(object["metadata"]["labels"][ours::COMPONENT].is_string());
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(world.incumbent_phase(), "Provisioning");
}

#[test]
fn ready_is_ready_with_its_credentials() {
    let mut world = World::hypershift_claim();
    world.settle();
    world.advance_time(SignedDuration::from_secs(15));
    world.report_hypershift(&[
        ("Available", "False", "Waiting"),
        ("EtcdAvailable", "False", "QuorumLost"),
        ("InfrastructureReady", "True", "AsExpected"),
    ]);
    world.settle();
    assert_eq!(level(&world, "InfrastructureReady"), is("True", "Available"));
    assert_eq!(level(&world, "ControlPlaneAvailable"), is("False", "Creating"));
    assert_eq!(
        world.status["progress"]["message"],
        "the control plane is being created, waiting for etcd: QuorumLost"
    );
    world.hypershift_installs();
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "nothing is Ready without credentials");
    assert_eq!(level(&world, "CredentialsPublished"), is("False", "SecretMissing"));
    world.hypershift_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    assert_eq!(level(&world, "ClusterReady"), is("True", "Ready"));
    for (type_, reason) in [
        ("InfrastructureReady", "Available"),
        ("ControlPlaneAvailable", "Available"),
        ("NodesReady", "AllReady"),
        ("TemplateApplied", "NothingToApply"),
        ("SpecApplied", "UpToDate"),
    ] {
        assert_eq!(level(&world, type_), is("True", reason), "{type_}");
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
    assert_eq!(
        world.status["nodes"],
        json!({ "desired": 2, "ready": 2, "pools": [
            { "name": "workers", "class": "small", "desired": 2, "ready": 2, "version": "4.20.3" },
        ] })
    );
    let credentials = &world.objects["credentials"].object["spec"];
    assert_eq!(credentials["providerConfigRef"]["name"], "hub-1");
    assert_eq!(credentials["forProvider"]["manifest"]["metadata"]["namespace"], "published");
}

/// Who can write on the HostedCluster could else have another claim's Secret read.
#[test]
fn a_secret_of_another_name_is_not_read() {
    let mut world = World::hypershift_claim();
    world.settle();
    world.advance_time(SignedDuration::from_secs(15));
    world.hypershift_installs();
    world.report_status(
        &json!({ "credentials": { "secretName": "theirs-credentials", "passwordAvailable": true } }),
    );
    world.settle();
    assert_eq!(world.phase(), "Provisioning");
    assert_eq!(level(&world, "CredentialsPublished"), is("False", "SecretMissing"));
}

#[test]
fn without_nodes_only_the_control_plane_counts() {
    let mut world = World::hypershift_claim();
    world.catalogue_entry("hosted")["limits"] = json!({});
    world.spec["nodeGroups"] = json!([group("none", &json!({ "count": 0 }))]);
    world.settle();
    world.report_hypershift(&[("Available", "True", "AsExpected")]);
    world.hypershift_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready");
    assert_eq!(level(&world, "NodesReady"), is("True", "NoNodesRequested"));
}

#[test]
fn requested_cluster_has_the_claims_sizes_and_networks() {
    let mut world = World::hypershift_claim();
    world.spec["controlPlane"] = json!({ "replicas": 1 });
    world.spec["network"] = json!({ "podCIDR": "10.8.0.0/14" });
    world.spec["nodeGroups"] = json!([
        { "name": "big", "class": "large", "autoscale": { "min": 0, "max": 3 }, "arch": "s390x",
          "labels": { "a": "b" }, "taints": [{ "key": "k", "effect": "NoSchedule" }] },
        group("a", &json!({ "count": 1 })),
    ]);
    world.settle();
    let spec = &asked(&world)["spec"];
    assert_eq!(spec["controllerAvailabilityPolicy"], "SingleReplica");
    assert_eq!(spec["networking"]["clusterNetwork"], json!([{ "cidr": "10.8.0.0/14" }]));
    let pool = &world.requested_pool("big")["spec"];
    assert_eq!(pool["autoScaling"], json!({ "min": 0, "max": 3 }));
    assert!(pool["replicas"].is_null());
    assert_eq!(pool["arch"], "s390x");
    assert_eq!(pool["nodeLabels"], json!({ "a": "b" }));
    assert_eq!(pool["taints"], json!([{ "key": "k", "effect": "NoSchedule" }]));
}

/// HyperShift takes a NodePool of any architecture, and never makes a node of some: it would be paid for until the provision timeout.
#[rstest]
#[case::kubevirt_arm("small", json!("arm64"), Err("is arm64, and nodes of class small can be amd64 or s390x"))]
#[case::kubevirt_power("small", json!("ppc64le"), Err("is ppc64le, and nodes of class small can be amd64 or s390x"))]
#[case::kubevirt_z("small", json!("s390x"), Ok(json!("s390x")))]
#[case::unasked("small", Value::Null, Ok(Value::Null))]
#[case::arm_machine_as_x86("arm", json!("amd64"), Err("is amd64, and nodes of class arm can be arm64"))]
#[case::arm_machine("arm", json!("arm64"), Ok(json!("arm64")))]
#[case::arm_machine_unasked("arm", Value::Null, Ok(json!("arm64")))]
#[case::x86_machine_as_arm("x86", json!("arm64"), Err("is arm64, and nodes of class x86 can be amd64"))]
#[case::agent_arm("agent", json!("arm64"), Ok(json!("arm64")))]
#[case::agent_z("agent", json!("s390x"), Err("is s390x, and nodes of class agent can be amd64 or arm64 or ppc64le"))]
fn nodes_have_an_architecture_of_their_class(
    #[case] class: &str,
    #[case] arch: Value,
    #[case] expected: Result<Value, &str>,
) {
    let mut world = World::hypershift_claim();
    let (platform, machine) = match class {
        "arm" => ("AWS", json!({ "aws": { "instanceType": "m7g.xlarge" } })),
        "x86" => ("AWS", json!({ "aws": { "instanceType": "m7i.xlarge" } })),
        "agent" => ("Agent", json!({ "agent": { "matchLabels": { "size": "large" } } })),
        _ => ("KubeVirt", json!({ "kubevirt": { "cores": 4, "memory": "16Gi" } })),
    };
    let entry = world.catalogue_entry("hosted");
    entry["backendRef"]["platform"] = json!(platform);
    if platform != "KubeVirt" {
        entry["backendRef"]["hostedCluster"]["services"] = json!([]);
        entry["backendRef"]["hostedCluster"]["platform"] = json!({});
    }
    entry["allowedNodeClasses"] = json!({ class: { "machine": machine } });
    entry["defaultNodeGroups"] = json!([{ "name": "workers", "class": class, "count": 2 }]);
    world.spec["nodeGroups"] = json!([{ "name": "workers", "class": class, "count": 2, "arch": arch }]);
    world.settle();
    match expected {
        Ok(arch) => {
            assert_eq!(world.requested_pool("workers")["spec"]["arch"], arch, "{}", world.refusal_message());
        }
        Err(words) => {
            assert!(
                world.refusal_message().contains(&format!("spec.nodeGroups[0].arch {words}")),
                "{}",
                world.refusal_message()
            );
            assert_eq!(world.made, 0);
        }
    }
}
