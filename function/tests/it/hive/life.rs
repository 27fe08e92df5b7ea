//! From the queue to a cluster, and what is asked for and shown on the way.

use function_model::{
    hive::remote_condition,
    world::{KUBECONFIG, NAME, World},
};
use jiff::SignedDuration;
use serde_json::json;
use testplatform_apis::names::ours;

use crate::hive::{assigned, is, manifest, tear_down};

#[test]
fn from_the_queue_to_ready_and_to_its_end() {
    let mut world = World::hive_claim();
    world.settle();
    assert_eq!((world.phase().as_str(), world.incumbent_phase().as_str()), ("Pending", "Provisioning"));
    is(&world, "ClusterAssigned", "Unknown", "AwaitingPool");
    is(&world, "ClusterRunning", "Unknown", "NotAssigned");
    is(&world, "CredentialsPublished", "False", "NotAssigned");
    world.advance_time(SignedDuration::from_secs(15));
    world.hive_queues(
        &json!({ "queue": { "position": 3, "depth": 5 }, "supply": "Installing", "pool": { "found": true } }),
    );
    world.settle();
    assert_eq!(world.phase(), "Pending");
    is(&world, "ClusterAssigned", "False", "Installing");
    assert_eq!(world.status["queue"], json!({ "position": 3, "depth": 5 }));
    assert_eq!(
        world.status["message"],
        "waiting for a cluster of pool hive-pools/aws-420, place 3 of 5 in its queue; one is being installed"
    );
    world.hive_assigns();
    world.settle();
    assert_eq!((world.phase().as_str(), world.incumbent_phase().as_str()), ("Provisioning", "Provisioning"));
    is(&world, "ClusterAssigned", "True", "Claimed");
    is(&world, "ClusterRunning", "False", "StartingMachines");
    is(&world, "CredentialsPublished", "False", "NotRunning");
    world.hive_runs();
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "running is not ready");
    is(&world, "CredentialsPublished", "False", "SecretMissing");
    world.hive_publishes();
    world.settle();
    assert_eq!((world.phase().as_str(), world.incumbent_phase().as_str()), ("Ready", "Ready"));
    is(&world, "ClusterReady", "True", "Ready");
    is(&world, "ClusterRunning", "True", "Running");
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    assert_eq!(world.status["version"], "4.20.3");
    assert_eq!(world.status["apiServerURL"], "https://api.x7k2p.example:6443");
    assert_eq!(world.status["hub"], json!({ "name": "hive-a-config", "reason": "OnlyPool" }));
    assert_eq!(world.status["backend"]["kind"], "ClusterClaim");
    assert_eq!(world.status["backend"]["pool"], "aws-420");
    assert_eq!(world.status.get("queue"), None);

    tear_down(&mut world);
    assert_eq!(
        (world.phase().as_str(), world.incumbent_phase().as_str()),
        ("Deprovisioning", "Deprovisioning")
    );
    is(&world, "ProwJobCompleted", "False", "TearingDown");
    is(&world, "ClusterReady", "True", "Deprovisioning");
    assert!(!world.remote.as_ref().unwrap()["metadata"]["deletionTimestamp"].is_null());
    assert!(world.objects.contains_key("credentials"), "until the cluster is gone");
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    is(&world, "ProwJobCompleted", "True", "TornDown");
    assert_eq!(world.objects.keys().collect::<Vec<_>>(), ["claim"], "what looked for it remembers the end");
    assert_eq!(world.management_policies(), json!(["Observe", "Delete"]));
    assert_eq!((world.tenant["kubeconfig"].as_str(), world.made), ("", 1));
    let mut events = world.events.clone();
    events.sort_unstable();
    let told = ["ClusterReady", "CredentialsPublished", "Provisioning", "TearingDown", "TornDown"];
    assert_eq!(events, told);
}

#[test]
fn manifest_has_the_fields_of_hive_and_provider_alone() {
    let mut world = World::hive_claim();
    world.spec["lifetime"] = json!("4h");
    world.spec["clusterClaim"]["timeout"] = json!("1h");
    world.spec["clusterClaim"]["resume"] = json!(false);
    world.input["maxima"] = json!({ "lifetime": "6h" });
    world.settle();
    let born = manifest(&world).clone();
    assert_eq!(born["metadata"]["namespace"], "hive-pools");
    assert_eq!(born["metadata"]["name"], NAME);
    assert_eq!(
        born["spec"],
        json!({
            "clusterPoolName": "aws-420",
            "subjects": [{ "kind": "ServiceAccount", "name": "testplatform-provider", "namespace": "testplatform" }],
            // The longest lifetime, the provision timeout and a quarter of an hour.
            "lifetime": "7h15m0s",
        })
    );
    let notes = &born["metadata"]["annotations"];
    assert_eq!(notes["ephemeralcluster.ci.openshift.io/konflux-tenant"], "tenant-a");
    assert_eq!(notes["ephemeralcluster.ci.openshift.io/konflux-cluster"], "stone-prd");
    assert_eq!(notes[ours::RESUME], "false");
    assert_eq!(notes[ours::LIFETIME], "4h0m0s");
    world.hive_publishes();
    world.settle();
    let mut live = manifest(&world).clone();
    assert_eq!(live["metadata"]["uid"], "remote-1", "the uid pins the cluster");
    live["metadata"].as_object_mut().unwrap().remove("uid");
    assert_eq!(live["spec"], born["spec"], "Hive's namespace is not ours to write");
    let object = &world.objects["claim"].object;
    assert_eq!(object["metadata"]["labels"]["testplatform.ci.openshift.org/component"], "claim");
    assert_eq!(object["spec"]["providerConfigRef"]["name"], "hive-a-config");
    let credentials = &world.objects["credentials"].object["spec"];
    assert_eq!(credentials["forProvider"]["manifest"]["metadata"]["namespace"], "published");
    assert_eq!(credentials["providerConfigRef"]["name"], "hive-a-config");
    // The lifetime changes without a word to Hive.
    world.spec["lifetime"] = json!("5h");
    world.settle();
    assert_eq!(manifest(&world)["spec"], born["spec"]);
}

#[test]
fn unpublished_cluster_is_never_ready() {
    let mut world = assigned();
    world.advance_time(SignedDuration::from_secs(15));
    let running = remote_condition(&world, "ClusterRunning", "True", "Running");
    world.report_hive(&[running]);
    // Without a word of the provider, and with words that are not to be believed.
    let reports = [
        json!({}),
        json!({ "credentials": { "secretName": "another-claim-credentials" } }),
        json!({ "ownership": "Mismatch", "credentials": { "secretName": format!("{NAME}-credentials") } }),
        json!({ "blockingReason": { "reason": "KubeconfigRejected" } }),
    ];
    let shown = ["SecretMissing", "SecretMissing", "OwnershipMismatch", "KubeconfigRejected"];
    world.secrets.insert("another-claim-credentials".into(), ("stolen".into(), "stolen".into()));
    for (report, reason) in reports.iter().zip(shown) {
        world.report_status(report);
        world.settle();
        assert_eq!(world.phase(), "Provisioning", "{report}");
        is(&world, "ClusterReady", "False", "Provisioning");
        is(&world, "CredentialsPublished", "False", reason);
    }
    world.remote.as_mut().unwrap()["metadata"]["annotations"].as_object_mut().unwrap().remove(ours::STATUS);
    world.settle();
    assert_eq!(world.phase(), "Provisioning", "{:?}", world.status["message"]);
    is(&world, "ClusterAssigned", "True", "Claimed");
    is(&world, "ClusterRunning", "True", "Running");
    world.remote.as_mut().unwrap()["metadata"]["annotations"][ours::STATUS] = json!("no json");
    world.settle();
    is(&world, "RemoteConsistent", "False", "Unreadable");
    world.hive_publishes();
    world.settle();
    is(&world, "ClusterReady", "True", "Ready");
}

#[test]
fn a_flap_or_a_hibernation_withdraws_nothing() {
    let mut world = World::hive_ready();
    world.hive_stops("Hibernating");
    world.settle();
    assert_eq!((world.phase().as_str(), world.incumbent_phase().as_str()), ("Degraded", "Ready"));
    is(&world, "ClusterRunning", "False", "Hibernating");
    is(&world, "ClusterReady", "True", "Degraded");
    assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    world.hive_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready");
}

#[test]
fn requirements_do_not_depend_on_fetched_objects() {
    let asked = |world: &World, fetched: bool| {
        let mut request = world.request();
        if !fetched {
            request.required_resources.clear();
        }
        let options = testplatform_composites::Options::default();
        let response = testplatform_composites::run(&request, &options, world.now);
        let keys = |r: testplatform_composites::sdk::proto::Requirements| {
            r.resources.into_keys().collect::<Vec<_>>()
        };
        response.requirements.map(keys).unwrap_or_default()
    };
    let mut world = World::hive_claim();
    for fetched in [false, true] {
        assert_eq!(asked(&world, fetched), ["clusters", "envcfg", "pools", "writer"]);
    }
    world.settle();
    for fetched in [false, true] {
        assert_eq!(asked(&world, fetched), ["envcfg"], "the writer is the pin");
    }
    tear_down(&mut world);
    assert_eq!((world.phase().as_str(), asked(&world, true)), ("Deprovisioned", vec!["envcfg".to_owned()]));
    assert_eq!(asked(&World::default(), false), ["envcfg"], "and no catalogue without a pool");
}

#[test]
fn a_changed_claim_does_not_touch_the_cluster() {
    let mut world = World::hive_ready();
    let before = world.remote.clone();
    world.spec["clusterClaim"] = json!({ "pool": { "name": "aws-419" } });
    world.settle();
    is(&world, "RequestAccepted", "True", "ChangeIgnored");
    world.spec = json!({ "ciOperator": {} });
    world.settle();
    assert_eq!((&world.remote, world.phase().as_str()), (&before, "Ready"));
}

/// Published credentials stay where their successor cannot be published; a warning comes before they expire.
#[test]
fn blocked_credentials_update_is_reported() {
    let mut world = World::hive_ready();
    let name = world.published_name();
    let report = |blocked: serde_json::Value| {
        json!({
            "powerState": "Running", "ownership": "Confirmed", "clusterDeployment": { "name": "aws-420-x7k2p" },
            "credentials": { "secretName": name, "passwordAvailable": true }, "blockingReason": blocked,
        })
    };
    let said =
        |world: &World| world.conditions["CredentialsPublished"]["message"].as_str().unwrap().to_owned();
    let well = "kubeconfig and kubeAdminPassword are in the claim's Secret";
    assert_eq!(said(&world), well);
    for (reason, words, told) in [
        ("KubeconfigRejected", json!("the cluster answers 401"), "the cluster answers 401"),
        (
            "SecretMissing",
            json!(null),
            "a Secret that the cluster refers to does not exist or must not be read",
        ),
    ] {
        world.report_status(&report(json!({ "reason": reason, "message": words })));
        world.settle();
        is(&world, "CredentialsPublished", "True", "Published");
        is(&world, "ClusterReady", "True", "Ready");
        assert_eq!(said(&world), format!("{well}; it is not being updated: {told}"));
        assert_eq!(world.tenant["kubeconfig"], KUBECONFIG);
    }
    world.report_status(&report(json!(null)));
    world.settle();
    assert_eq!(said(&world), well);
}
