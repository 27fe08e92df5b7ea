//! Claims by template that bring their own pull secret and SSH key: in which order everything is made and goes, and what is refused.

use function_model::{
    tenant_credentials::{OF_TEMPLATE, catalogue_that_takes},
    world::{KUBECONFIG, NAME, World},
};
use prost::Message as _;
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_composites::sdk::{proto::Resource, wire};

use crate::hypershift::{asked, is};

fn carried(world: &World, part: &str) -> Value {
    world.objects[part].object["spec"]["forProvider"]["manifest"].clone()
}

fn awaited() -> World {
    let mut world = World::brought_by_template();
    world.settle();
    world
}

fn ready() -> World {
    let mut world = awaited();
    world.report_copies(true, "Carried", "Carried");
    world.hypershift_makes_it();
    world
}

fn made(world: &World) -> Vec<&str> {
    world.objects.keys().map(String::as_str).collect()
}

#[test]
fn cluster_waits_for_secrets_in_its_own_namespace() {
    let mut world = World::brought_by_template();
    world.pass();
    assert_eq!(made(&world), ["byoc-namespace", "credentials"], "nothing half known");
    assert_eq!(world.condition("RequestAccepted"), is("False", "SecretsNotCarried"));
    assert_eq!(
        (&world.status["hub"]["name"], world.condition("HubSelected").0.as_str()),
        (&json!("hub-1"), "True")
    );
    world.settle();
    assert_eq!(
        made(&world),
        ["byoc-access", "byoc-namespace", "byoc-provider", "byoc-request", "credentials"]
    );
    assert_eq!((world.phase().as_str(), world.made), ("Pending", 0));
    // By these the carrier finds its way.
    assert_eq!(
        (&world.status["hub"]["name"], &world.status["backend"]["namespace"]),
        (&json!("hub-1"), &json!("byoc-xr-uid"))
    );
    let binds = |part: &str| {
        let binding = carried(&world, part);
        assert_eq!(binding["metadata"]["namespace"], "byoc-xr-uid");
        (binding["roleRef"]["name"].clone(), binding["subjects"][0]["name"].clone())
    };
    assert_eq!(binds("byoc-access"), (json!("testplatform-byoc-carrier"), json!("carrier")));
    assert_eq!(binds("byoc-provider"), (json!("testplatform-byoc-publisher"), json!("provider")));
    let parcels: Value =
        serde_json::from_str(carried(&world, "byoc-request")["data"]["parcels"].as_str().unwrap()).unwrap();
    assert_eq!(
        parcels,
        json!([
            { "field": "pullSecretRef", "from": "my-pull", "to": "byoc-pull-secret", "keys": [".dockerconfigjson"] },
            { "field": "sshKeySecretRef", "from": "my-key", "to": "byoc-ssh-key", "keys": ["id_rsa.pub"] },
        ])
    );

    world.report_copies(true, "Carried", "Carried");
    world.settle();
    let cluster = asked(&world);
    assert_eq!(cluster["metadata"]["namespace"], "byoc-xr-uid");
    let spec = &cluster["spec"];
    assert_eq!(
        (&spec["pullSecret"], &spec["sshKey"]),
        (&json!({ "name": "byoc-pull-secret" }), &json!({ "name": "byoc-ssh-key" }))
    );
    assert_eq!(world.requested_pool("workers")["metadata"]["namespace"], "byoc-xr-uid");
    assert_eq!(world.condition("RequestAccepted"), is("True", "Accepted"));
    // Where HyperShift has the control plane: `<namespace>-<name>`.
    let name = cluster["metadata"]["name"].as_str().unwrap();
    assert!("byoc-".len() + 36 + 1 + name.len() <= 63, "{name}");
    let writer = &world.objects["cluster"].object["spec"];
    assert_eq!(writer["references"][0]["dependsOn"]["name"], format!("byoc-namespace.{NAME}"));
    world.hypershift_installs();
    world.settle();
    world.hypershift_publishes();
    world.settle();
    assert_eq!((world.phase().as_str(), world.tenant["kubeconfig"].as_str()), ("Ready", KUBECONFIG));
}

#[test]
fn missing_tenant_key_is_not_replaced_by_the_templates() {
    let mut world = World::brought_by_template();
    world.catalogue_entry("hosted")["backendRef"]["hostedCluster"]["sshKey"] = json!({ "name": "admins" });
    world.spec["byoc"].as_object_mut().unwrap().remove("sshKeySecretRef");
    world.settle();
    world.report_copies(true, "Carried", "Carried");
    world.settle();
    assert_eq!(world.made, 1, "{:#?}", world.conditions);
    assert!(asked(&world)["spec"].get("sshKey").is_none(), "{}", asked(&world));
    // Without anything brought along it is as ever.
    let mut world = World::hypershift_claim();
    world.templates = catalogue_that_takes();
    world.catalogue_entry("hosted")["backendRef"]["hostedCluster"]["sshKey"] = json!({ "name": "admins" });
    world.settle();
    let cluster = asked(&world);
    assert_eq!(
        (&cluster["metadata"]["namespace"], &cluster["spec"]["sshKey"]["name"]),
        (&json!("clusters"), &json!("admins"))
    );
    assert_eq!(cluster["spec"]["pullSecret"]["name"], "pull");
    assert!(world.brought.is_empty() && world.objects["cluster"].object["spec"]["references"].is_null());
}

#[test]
fn secret_copies_are_deleted_after_the_cluster() {
    let mut world = ready();
    world.spec["tearDownCluster"] = json!(true);
    world.settle();
    assert_eq!(world.phase(), "Deprovisioning");
    assert!(world.node_pools.is_empty(), "nodes go first");
    assert!(OF_TEMPLATE.iter().all(|part| world.has_part(part)), "{:?}", world.brought.keys());
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned", "{:#?}", world.conditions);
    world.reconcile_objects();
    // The namespace is on its way out, and goes with the Object that still tells that the cluster is gone.
    let left: Vec<&str> = made(&world).into_iter().filter(|name| name.starts_with("byoc")).collect();
    assert_eq!(left, ["byoc-namespace"]);
    assert!(world.objects["byoc-namespace"].object["metadata"]["deletionTimestamp"].is_string());
    world.objects.remove("cluster");
    world.reconcile_objects();
    assert!(world.brought.is_empty() && made(&world).is_empty(), "{:?}", world.brought.keys());
}

#[test]
fn teardown_of_tenant_credentials_deletes_the_namespace_alone() {
    let mut world = ready();
    for part in OF_TEMPLATE {
        let object = &world.objects[part].object;
        assert_eq!(object["spec"]["managementPolicies"] == json!(["*"]), part == "byoc-namespace", "{part}");
        assert_eq!(object["metadata"]["labels"][ours::COMPONENT], part);
    }
    // provider-kubernetes may miss its finalizer, and then nothing would hold the namespace.
    world.objects.get_mut("cluster").unwrap().object["metadata"]["uid"] = json!("writer-uid");
    let response = world.pass();
    let namespace = &response.desired.as_ref().unwrap().resources["byoc-namespace"];
    let namespace = wire::to_value(&Resource::decode(namespace.clone()).unwrap().resource).unwrap();
    assert_eq!(
        namespace["metadata"]["finalizers"],
        json!(["kubernetes.crossplane.io/referred-by-object-writer-uid"])
    );
}

#[test]
fn failed_secret_copy_is_reported_and_recovers() {
    let mut world = awaited();
    for (fate, reason, words) in [
        ("Forbidden", "SecretForbidden", "the carrier may not get Secret my-key (spec.byoc.sshKeySecretRef)"),
        ("NotFound", "SecretNotFound", "there is no Secret my-key (spec.byoc.sshKeySecretRef)"),
        (
            "KeyMissing",
            "SecretIncomplete",
            "Secret my-key (spec.byoc.sshKeySecretRef) needs the keys id_rsa.pub",
        ),
    ] {
        world.report_copies(false, "Carried", fate);
        world.settle();
        assert_eq!(world.condition("RequestAccepted"), is("False", reason));
        assert!(world.refusal_message().contains(words), "{}", world.refusal_message());
        assert_eq!((world.phase().as_str(), world.made), ("Pending", 0));
    }
    world.report_copies(true, "Carried", "Carried");
    world.settle();
    assert_eq!(world.made, 1);
    world.report_copies(true, "NotFound", "Carried");
    world.settle();
    assert_eq!(world.condition("RequestAccepted"), is("True", "SecretsOutdated"));
}

#[test]
fn unsupported_tenant_credential_is_refused_by_name() {
    let refused = |change: fn(&mut World)| {
        let mut world = World::brought_by_template();
        change(&mut world);
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Pending", 0));
        assert_eq!(world.condition("RequestAccepted"), is("False", "FieldRefused"));
        assert!(world.brought.is_empty());
        world.refusal_message().to_owned()
    };
    for template in ["hosted-next", "topology", "order"] {
        let mut world = World::brought_by_template();
        world.spec["template"] = json!(template);
        if template != "hosted-next" {
            world.spec["nodeGroups"] = json!([]);
        }
        world.settle();
        let words =
            format!("spec.byoc cannot be served: template {template} does not accept credentials of a claim");
        assert!(world.refusal_message().contains(&words), "{}", world.refusal_message());
        assert!(world.made == 0 && world.brought.is_empty());
    }
    let words = refused(|w| {
        w.catalogue_entry("hosted")["bringYourOwn"]["sshKey"] = json!(false);
        w.spec["byoc"]["sshKeySecretRef"] = json!({ "name": "my-key" });
    });
    let part = "spec.byoc.sshKeySecretRef cannot be served: template hosted does not accept an SSH key";
    assert!(words.contains(part), "{part} is not in: {words}");
    // A reference that no template could accept is an error of the claim itself.
    let mut world = World::brought_by_template();
    world.spec["byoc"] =
        json!({ "pullSecretRef": { "name": "My_Pull" }, "installConfigSecretRef": { "name": "x" }, "x": 1 });
    world.settle();
    assert_eq!(world.phase(), "Failed");
    for part in
        ["spec.byoc.pullSecretRef.name", "spec.byoc.installConfigSecretRef", "spec.byoc.x: is not a field"]
    {
        assert!(world.refusal_message().contains(part), "{part} is not in: {}", world.refusal_message());
    }
    // None makes a cluster without a pull secret, or in an account of the tenant's, and what is brought along cannot be changed.
    let pull = json!({ "name": "my-pull" });
    for (byoc, words) in [
        (json!({}), "spec.byoc.pullSecretRef: byoc beside template needs"),
        (json!({ "sshKeySecretRef": pull }), "spec.byoc.pullSecretRef: byoc beside template needs"),
        (
            json!({ "pullSecretRef": pull, "baseDomain": "x.example" }),
            "spec.byoc.baseDomain: byoc beside template takes no",
        ),
        (
            json!({ "pullSecretRef": pull, "credentialsSecretRef": pull }),
            "spec.byoc.credentialsSecretRef: byoc beside template takes no",
        ),
        (
            json!({ "pullSecretRef": pull, "platform": { "aws": { "region": "us-east-1" } } }),
            "spec.byoc.platform: byoc beside template takes no",
        ),
    ] {
        let mut world = World::brought_by_template();
        world.spec["byoc"] = byoc;
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 0));
        assert_eq!(world.condition("RequestAccepted"), is("False", "InvalidClaim"));
        assert!(world.refusal_message().contains(words), "{words} is not in: {}", world.refusal_message());
        assert!(world.brought.is_empty());
    }
    let mut world = World::brought_by_template();
    world.claim = false;
    world.settle();
    assert!(world.refusal_message().contains("spec.byoc: needs a claim"), "{}", world.refusal_message());
}

/// Whoever took it out of the claim, past the API server's rules: the cluster that is there has it.
#[test]
fn incomplete_claim_keeps_its_cluster() {
    let mut world = ready();
    let before = OF_TEMPLATE.map(|part| carried(&world, part));
    let cluster = asked(&world).clone();
    world.spec["byoc"].as_object_mut().unwrap().remove("pullSecretRef");
    world.drop_status();
    world.settle();
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
    assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
    assert!(
        world.condition_message("SpecApplied").contains("spec.byoc.pullSecretRef"),
        "{}",
        world.condition_message("SpecApplied")
    );
    assert_eq!((OF_TEMPLATE.map(|part| carried(&world, part)), asked(&world)), (before, &cluster));
}

#[test]
fn a_catalogue_that_changes_moves_nothing() {
    let mut world = awaited();
    let before = OF_TEMPLATE.map(|part| carried(&world, part));
    world.hubs = Some(vec![]);
    world.catalogue_entry("hosted")["bringYourOwn"]["carrier"]["name"] = json!("other");
    world.drop_status();
    world.settle();
    assert_eq!(OF_TEMPLATE.map(|part| carried(&world, part)), before);
    assert_eq!(
        (&world.status["hub"]["name"], &world.status["backend"]["namespace"]),
        (&json!("hub-1"), &json!("byoc-xr-uid"))
    );
    // Nobody knows what it asks for: what is there stays, and nothing is made.
    world.templates.clear();
    world.settle();
    world.report_copies(true, "Carried", "Carried");
    world.settle();
    assert_eq!(world.condition("RequestAccepted"), is("False", "TemplateNotFound"));
    assert!(world.made == 0 && OF_TEMPLATE.iter().all(|part| world.has_part(part)));
    world.templates = catalogue_that_takes();
    world.settle();
    assert_eq!(asked(&world)["metadata"]["namespace"], "byoc-xr-uid");

    let mut world = ready();
    let before = OF_TEMPLATE.map(|part| carried(&world, part));
    let cluster = asked(&world).clone();
    world.catalogue_entry("hosted").as_object_mut().unwrap().remove("bringYourOwn");
    world.drop_status();
    world.environment = None;
    world.settle();
    assert_eq!((OF_TEMPLATE.map(|part| carried(&world, part)), asked(&world)), (before, &cluster));
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
    assert_eq!(world.condition("SpecApplied"), is("False", "Rejected"));
    world.spec["byoc"]["pullSecretRef"]["name"] = json!("another");
    world.settle();
    assert!(world.refusal_message().contains("spec.byoc cannot change"), "{}", world.refusal_message());
}

#[test]
fn an_end_before_the_cluster_leaves_nothing() {
    for answered in [false, true] {
        let mut world = awaited();
        if answered {
            world.report_copies(false, "Carried", "Forbidden");
            world.settle();
        }
        world.spec["tearDownCluster"] = json!(true);
        world.settle();
        assert_eq!(world.phase(), "Deprovisioned");
        world.reconcile_objects();
        world.reconcile_objects();
        assert!(world.brought.is_empty() && world.made == 0, "{:?}", world.brought.keys());
    }
}

#[test]
fn hub_with_the_claims_namespace_is_kept() {
    let mut world = awaited();
    world.report_copies(true, "Carried", "Carried");
    world.reachable = true;
    world.reconcile_objects();
    world.pass();
    world.reachable = false;
    world.hubs = Some(vec![function_model::hypershift::build_hub("hub-2")]);
    for _ in 0..4 {
        world.advance_time(crate::hypershift::minutes(10));
        world.settle();
    }
    assert_eq!(world.status["hub"]["name"], "hub-1");
    assert!(world.status["hub"]["excluded"].as_array().is_none_or(Vec::is_empty), "{}", world.status);
}

#[test]
fn namespace_of_a_foreign_cluster_is_released() {
    let mut world = ready();
    world.remote.as_mut().unwrap()["metadata"]["uid"] = json!("somebody-elses");
    world.settle();
    assert_eq!(world.condition("ClusterReady"), is("False", "Failed"));
    assert_eq!(world.condition("ProwJobCompleted").1, "RemoteReplaced");
    for part in OF_TEMPLATE {
        assert_eq!(world.objects[part].object["spec"]["managementPolicies"], json!(["Observe"]), "{part}");
    }
    assert!(world.has_part("byoc-namespace") && world.remote.is_some());
}

/// The end was asked for before anybody saw that the cluster is another one's.
#[test]
fn foreign_cluster_is_released_at_teardown() {
    let mut world = ready();
    world.remote.as_mut().unwrap()["metadata"]["uid"] = json!("somebody-elses");
    world.spec["tearDownCluster"] = json!(true);
    world.pass();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned", "{:#?}", world.conditions);
    // Its Object went without deleting it: the model asserts that nothing in it went before.
    assert!(!world.objects.contains_key("byoc-namespace") && world.remote.is_some(), "{:?}", made(&world));
}

#[test]
fn a_test_cluster_brings_them_too() {
    let mut world = World::brought_by_template().in_namespace();
    world.settle();
    world.report_copies(true, "Carried", "Carried");
    world.settle();
    assert_eq!(world.made, 1, "{:#?}", world.conditions);
    let depends = &world.objects["cluster"].object["spec"]["references"][0]["dependsOn"];
    assert_eq!(
        (&depends["apiVersion"], &depends["namespace"]),
        (&json!("kubernetes.m.crossplane.io/v1alpha1"), &json!("tenant-a"))
    );
}
