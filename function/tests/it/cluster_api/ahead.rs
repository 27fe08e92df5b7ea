//! Prerequisites of a cluster: requested from the hub first, completed before the cluster is requested, and deleted after it.

use function_model::world::{NAME, World};
use serde_json::{Value, json};
use testplatform_apis::{cloud, names::ours, prerequisites};

use crate::cluster_api::{is, minutes, topology, variable};

fn there() -> World {
    let mut world = World::with_prerequisites();
    world.settle();
    world.complete_prerequisites();
    world.settle();
    world
}

/// Another entry of the catalogue.
fn offer(world: &mut World, name: &str, data: Value) {
    let mut entry = world.templates[0].clone();
    entry["metadata"]["name"] = json!(name);
    entry["data"] = data;
    world.templates.push(entry);
}

fn ready() -> World {
    let mut world = there();
    world.capi_installs();
    world.hypershift_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready", "{:#?}", world.conditions);
    world
}

#[test]
fn prerequisites_are_requested_first_and_the_cluster_waits() {
    let mut world = World::with_prerequisites();
    world.pass();
    assert!(!world.objects.contains_key("topology"));
    assert_eq!(world.condition("RequestAccepted"), is("False", "PlatformCredentialsNotReady"));
    assert_eq!((world.phase().as_str(), &world.status["hub"]["name"]), ("Pending", &json!("hub-1")));
    for (name, label, map) in [
        ("prerequisites", prerequisites::LABEL, format!("{NAME}-prerequisites")),
        ("cloud-credential", cloud::LABEL, format!("{NAME}-cloud-credential")),
    ] {
        let object = &world.objects[name].object;
        assert_eq!(object["metadata"]["name"], format!("{name}.{NAME}"));
        assert_eq!(object["metadata"]["labels"][ours::COMPONENT], name);
        assert_eq!(object["spec"]["references"], json!(null), "the provider holds it, and no Object does");
        let manifest = &object["spec"]["forProvider"]["manifest"];
        assert_eq!(
            manifest["metadata"],
            json!({ "name": map, "namespace": "clusters", "labels": { label: "true" } })
        );
    }
    let cluster = json!({ "group": "cluster.x-k8s.io", "kind": "Cluster", "name": NAME });
    let order = world.request_data("prerequisites");
    assert_eq!(order["cluster"], cluster);
    assert_eq!(order["prerequisites"].as_array().unwrap().len(), 1, "the other is for another cni: {order}");
    let made = &order["prerequisites"][0]["manifests"][0]["object"];
    assert_eq!(made["metadata"]["name"], format!("{NAME}-trust"));
    assert_eq!(made["data"]["of"], format!("clusters/{NAME} of tenant-a"));
    assert_eq!(
        (&order["preCreate"][0]["name"], &order["preCreate"][0]["timeout"]),
        (&json!("reserve"), &json!("5m0s"))
    );
    assert_eq!(
        world.request_data("cloud-credential"),
        json!({
            "cluster": cluster, "uid": "xr-uid", "cloud": "acme", "tenant": "tenant-a", "generation": 0,
            "roles": ["member"], "lifetime": "720h0m0s",
        })
    );
    world.settle();
    assert!(world.remote.is_none());
    let said = world.condition_message("RequestAccepted");
    assert!(said.contains("clusters.cloudCredentials"), "{said}");
}

#[test]
fn cluster_is_requested_once_both_prerequisites_exist() {
    let mut world = World::with_prerequisites();
    world.settle();
    world.report_prerequisite("cloud-credential", &json!({ "state": "Valid", "generation": 0 }));
    world.settle();
    assert_eq!(world.condition("RequestAccepted"), is("False", "PrerequisitesNotReady"));
    assert_eq!(world.condition("PlatformCredentialsValid"), is("True", "Valid"));
    assert!(world.remote.is_none());
    world.report_prerequisite(
        "prerequisites",
        &json!({
            "state": "Running", "bundle": "prerequisites/trust", "object": "ConfigMap clusters/x", "reason": "NotReady",
        }),
    );
    world.settle();
    for said in [world.condition_message("RequestAccepted"), world.condition_message("TemplateApplied")] {
        assert!(
            said.contains("prerequisites/trust") && said.contains("ConfigMap clusters/x: NotReady"),
            "{said}"
        );
    }
    assert_eq!(world.condition("TemplateApplied"), is("False", "Running"));
    // Whatever is forgotten, or changes in the catalogue, meanwhile: it is on that hub, and as it was asked for.
    world.drop_status();
    world.catalogue_entry("topology")["prerequisites"][0]["timeout"] = json!("7m");
    world.hubs.as_mut().unwrap().insert(0, function_model::cluster_api::build_hub("hub-0"));
    world.complete_prerequisites();
    world.settle();
    assert_eq!(world.made, 1);
    assert_eq!(world.objects["topology"].object["spec"]["providerConfigRef"]["name"], "hub-1");
    assert_ne!(world.request_data("prerequisites")["prerequisites"][0]["timeout"], "7m0s");
    assert_eq!(
        variable(&topology(&world)["variables"], "identity"),
        format!("{NAME}-cloud-credential"),
        "the Secret has the name of the ConfigMap"
    );
    assert_eq!(world.condition("RequestAccepted").0, "True");
}

/// Nothing that was set up for one template, or for other parameters, serves another.
#[test]
fn prerequisites_of_another_cluster_do_not_count() {
    type Change = fn(&mut World);
    let changes: [(&str, Change); 2] = [
        ("a parameter", |world| world.spec["parameters"] = json!({ "cni": "cilium" })),
        ("the template", |world| {
            let mut other = world.catalogue_entry("topology").clone();
            other["hubSelector"] = json!({ "matchLabels": { "of": "others" } });
            offer(world, "other", other);
            world.spec["template"] = json!("other");
        }),
    ];
    for (what, change) in changes {
        let mut world = World::with_prerequisites();
        let spec = world.spec.clone();
        world.settle();
        let before = (world.request_data("prerequisites"), world.request_data("cloud-credential"));
        change(&mut world);
        world.settle();
        world.complete_prerequisites();
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Pending", 0), "{what}");
        assert_eq!(world.condition("RequestAccepted"), is("False", "PrerequisitesNotReady"), "{what}");
        let said = world.condition_message("RequestAccepted");
        assert!(
            said.contains("for a different specification") && said.contains("create a new one"),
            "{what}: {said}"
        );
        assert_eq!(
            (world.request_data("prerequisites"), world.request_data("cloud-credential")),
            before,
            "{what}"
        );
        world.spec = spec;
        world.settle();
        assert_eq!(world.made, 1, "{what}: set back, it goes on");
    }
}

#[test]
fn missing_entry_requests_nothing_else() {
    let mut world = World::with_prerequisites();
    world.settle();
    let before = world.request_data("prerequisites");
    let templates = std::mem::take(&mut world.templates);
    world.settle();
    assert_eq!(world.condition("RequestAccepted"), is("False", "TemplateNotFound"));
    assert_eq!(world.request_data("prerequisites"), before);
    world.templates = templates;
    world.complete_prerequisites();
    world.settle();
    assert_eq!(world.made, 1);
}

/// The report of a ConfigMap that is being deleted no longer counts.
#[test]
fn report_counts_only_while_its_config_map_exists() {
    let mut world = World::with_prerequisites();
    world.settle();
    world.complete_prerequisites();
    world.environment = None;
    world.settle();
    assert_eq!(world.made, 0);
    world.objects.get_mut("prerequisites").unwrap().object["status"]["atProvider"]["manifest"]["metadata"]
        ["deletionTimestamp"] = json!(world.now);
    world.environment = World::with_prerequisites().environment;
    world.pass();
    assert_eq!(world.condition("RequestAccepted"), is("False", "PrerequisitesNotReady"));
    assert!(!world.objects.contains_key("topology"));
}

#[test]
fn late_prerequisites_fail_the_claim_without_a_cluster() {
    let mut world = World::with_prerequisites();
    world.spec["timeouts"] = json!({ "provision": "3h" });
    world.settle();
    world.report_prerequisite("cloud-credential", &json!({ "state": "Valid", "generation": 0 }));
    world.report_prerequisite(
        "prerequisites",
        &json!({
            "state": "SetupFailed", "bundle": "preCreate/reserve", "object": "Job clusters/x", "reason": "NotReady",
            "message": "its expression was false for 5m",
        }),
    );
    world.settle();
    assert_eq!(world.condition("TemplateApplied"), is("False", "SetupFailed"));
    assert_eq!(world.phase(), "Pending", "it may yet come to be");
    world.advance_time(minutes(200));
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Failed", 0));
    for said in [world.condition_message("TemplateApplied"), world.status["message"].as_str().unwrap()] {
        assert!(
            said.contains("preCreate/reserve") && said.contains("its expression was false for 5m"),
            "{said}"
        );
    }
    assert!(
        world.ahead.is_empty()
            && world.refs.is_disjoint(&["prerequisites".into(), "cloud-credential".into()].into())
    );
}

#[test]
fn changed_requester_and_generation_reach_the_request() {
    let mut world = ready();
    let before = world.objects["topology"].object["spec"].clone();
    world.annotations[ours::REQUESTED_BY] = json!("bob@example.com");
    world.annotations[ours::CLOUD_CREDENTIAL_GENERATION] = json!("3");
    world.catalogue_entry("topology")["backendRef"]["cloudCredential"]["roles"] = json!(["admin"]);
    world.settle();
    let order = world.request_data("cloud-credential");
    assert_eq!((&order["requestedBy"], &order["generation"]), (&json!("bob@example.com"), &json!(3)));
    assert_eq!(order["roles"], json!(["member"]), "a catalogue that changes changes no cluster");
    let cel = world.objects["cloud-credential"].object["spec"]["readiness"]["celQuery"].to_string();
    assert!(cel.contains("generation\\\":3[,}]") || cel.contains(r#"generation\":3[,}]"#), "{cel}");
    assert_eq!(
        world.objects["topology"].object["spec"], before,
        "machines stay: the Secret changes in place"
    );
    assert_eq!(
        world.condition("PlatformCredentialsValid"),
        is("Unknown", "NotReported"),
        "the one that works is not the one that is asked for"
    );
    world.complete_prerequisites();
    world.settle();
    assert_eq!(world.condition("PlatformCredentialsValid"), is("True", "Valid"));
    // A value that is no number, or is missing, changes nothing.
    world.annotations = json!({ ours::CLOUD_CREDENTIAL_GENERATION: "soon" });
    world.settle();
    assert_eq!(world.request_data("cloud-credential"), order);
    for (state, is_) in [
        ("RotationFailed", is("False", "RotationFailed")),
        ("OwnerInvalid", is("False", "OwnerInvalid")),
        ("Unreachable", is("Unknown", "Unreachable")),
        ("Blocked", is("False", "Blocked")),
        ("Leaving", is("Unknown", "Leaving")),
        ("Odd", is("Unknown", "NotReported")),
    ] {
        world.report_prerequisite("cloud-credential", &json!({ "state": state, "message": "user left" }));
        world.settle();
        assert_eq!(world.condition("PlatformCredentialsValid"), is_, "{state}");
        assert_eq!(world.phase(), "Ready", "the cluster is as it was");
    }
}

#[test]
fn prerequisites_are_deleted_after_the_cluster() {
    let mut world = ready();
    world.spec["tearDownCluster"] = json!(true);
    world.pass_once();
    assert!(!world.refs.contains("topology"));
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert!(world.refs.contains("prerequisites") && world.refs.contains("cloud-credential"));
    assert_eq!(world.ahead.len(), 2);
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    assert!(world.remote.is_none() && world.ahead.is_empty(), "{:#?}", world.ahead);
    assert!(!world.refs.contains("prerequisites") && !world.refs.contains("cloud-credential"));
    assert_eq!(world.condition("TearDownComplete").0, "True");
    let gone = is("Unknown", "NotReported");
    assert_eq!(world.condition("PlatformCredentialsValid"), gone, "nothing is left that could work");
    world.settle();
    assert_eq!(world.condition("PlatformCredentialsValid"), gone);
}

#[test]
fn missing_credential_is_explained_to_the_end() {
    let mut world = World::with_prerequisites();
    world.spec["timeouts"] = json!({ "provision": "3h" });
    world.settle();
    world.report_prerequisite(
        "cloud-credential",
        &json!({ "state": "OwnerInvalid", "message": "bob left acme" }),
    );
    world.settle();
    assert_eq!(world.phase(), "Pending");
    world.advance_time(minutes(200));
    for _ in 0..2 {
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 0));
        assert!(world.ahead.is_empty());
        let said = world.status["message"].as_str().unwrap();
        assert!(said.contains("bob left acme"), "{said}");
        assert_eq!(world.condition("PlatformCredentialsValid"), is("False", "OwnerInvalid"));
        // The next pass restores what core sets Unknown after a failed one.
        world.fail_pass();
    }
}

/// An administrator's mistake in the catalogue costs no claim the time that it was given.
#[test]
fn provisioning_timeout_survives_a_missing_entry() {
    let mut world = World::with_prerequisites();
    world.catalogue_entry("topology")["timeouts"] = json!({ "provision": "8h" });
    world.settle();
    let templates = std::mem::take(&mut world.templates);
    world.advance_time(minutes(5 * 60));
    for _ in 0..3 {
        world.settle();
        assert_eq!(world.phase(), "Pending", "{}", world.status["message"]);
    }
    world.templates = templates;
    world.complete_prerequisites();
    world.settle();
    assert_eq!(world.made, 1);
}

/// Machines that have the shared credential need it until they are gone.
#[test]
fn move_to_a_template_with_credentials_keeps_the_current_one() {
    let mut world = World::cluster_api_claim();
    let shared = json!([{ "name": "identity", "value": "shared" }]);
    world.catalogue_entry("topology")["backendRef"]["cluster"]["topology"]["variables"] = shared;
    world.settle();
    world.capi_installs();
    world.hypershift_publishes();
    world.settle();
    assert_eq!(variable(&topology(&world)["variables"], "identity"), "shared");
    let mut other = World::with_prerequisites().catalogue_entry("topology").clone();
    let from = world.spec["template"].clone();
    other["upgradesFrom"] = json!([from]);
    other["backendRef"]["classRef"]["name"] = json!("another");
    offer(&mut world, "other", other);
    world.spec["template"] = json!("other");
    world.settle();
    assert_eq!(topology(&world)["classRef"]["name"], "another");
    assert_eq!(variable(&topology(&world)["variables"], "identity"), "shared");
}

#[test]
fn lost_prerequisite_of_a_live_cluster_is_not_recreated() {
    let mut world = ready();
    for name in ["prerequisites", "cloud-credential"] {
        world.objects.remove(name);
        world.refs.remove(name);
    }
    world.settle();
    assert!(!world.objects.contains_key("prerequisites") && !world.objects.contains_key("cloud-credential"));
    assert_eq!(world.phase(), "Ready");
    assert_eq!(
        variable(&topology(&world)["variables"], "identity"),
        format!("{NAME}-cloud-credential"),
        "what was asked for stays"
    );
}

#[test]
fn existing_cluster_gets_no_prerequisites() {
    let mut world = World::topology_ready();
    world.templates = World::with_prerequisites().templates;
    world.settle();
    assert!(!world.objects.contains_key("prerequisites") && !world.objects.contains_key("cloud-credential"));
    assert!(!world.conditions.contains_key("PlatformCredentialsValid"));
}

#[test]
fn placeholders_are_filled_in_entries_and_not_in_claims() {
    let mut world = World::cluster_api_claim();
    let entry = world.catalogue_entry("topology");
    entry["backendRef"]["cluster"]["topology"]["variables"] =
        json!([{ "name": "trust", "value": { "configMap": "{name}-trust" } }]);
    entry["overlay"] =
        json!({ "cluster": { "clusterNetwork": { "serviceDomain": "{name}.{namespace}.{tenant}" } } });
    entry["parameters"]["motd"] = json!({ "type": "string" });
    world.spec["parameters"] = json!({ "motd": "{name}" });
    world.settle();
    let variables = &topology(&world)["variables"];
    assert_eq!(variable(variables, "trust"), json!({ "configMap": format!("{NAME}-trust") }));
    assert_eq!(variable(variables, "motd"), "{name}");
    let asked = &crate::cluster_api::asked(&world)["spec"]["clusterNetwork"];
    assert_eq!(asked["serviceDomain"], format!("{NAME}.clusters.{{tenant}}"));
}
