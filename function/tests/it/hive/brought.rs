//! Claims that bring their own credentials: in which order everything is made and goes, what is said on the way, and what is refused.

use function_model::{
    tenant_credentials::{PARTS, build_offer, byoc_spec},
    world::{KUBECONFIG, NAME, REFERRED, World},
};
use jiff::SignedDuration;
use prost::Message as _;
use serde_json::{Value, json};
use testplatform_apis::names::ours;
use testplatform_composites::sdk::{proto::Resource, wire};

use crate::hive::{is, manifest, tear_down};

fn carried(world: &World, part: &str) -> Value {
    world.objects[part].object["spec"]["forProvider"]["manifest"].clone()
}

fn message(world: &World) -> String {
    world.conditions["RequestAccepted"]["message"].as_str().unwrap().to_owned()
}

fn ready() -> World {
    let mut world = World::byoc_pending();
    world.report_copies(true, "Carried", "Carried");
    world.settle();
    world.hive_publishes();
    world.settle();
    assert_eq!(world.phase(), "Ready", "{:#?}", world.conditions);
    world
}

#[test]
fn objects_are_created_after_their_dependencies_and_deleted_in_reverse() {
    let mut world = World::with_byoc();
    world.pass();
    let made = |world: &World| world.objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(made(&world), ["byoc-namespace", "credentials"], "nothing half known");
    is(&world, "RequestAccepted", "False", "SecretsNotCarried");
    world.settle();
    assert_eq!(made(&world), ["byoc-access", "byoc-namespace", "byoc-request", "credentials"]);
    assert_eq!(world.phase(), "Pending");
    assert!(
        message(&world).contains("the carrier of the Secrets has not reported anything yet"),
        "{}",
        message(&world)
    );

    let namespace = carried(&world, "byoc-namespace")["metadata"]["name"].as_str().unwrap().to_owned();
    // By its uid: nobody else's, of whatever Konflux cluster.
    assert_eq!(namespace, "byoc-xr-uid");
    let access = carried(&world, "byoc-access");
    assert_eq!(access["roleRef"]["name"], "testplatform-byoc-carrier");
    assert_eq!(
        access["subjects"][0],
        json!({ "kind": "ServiceAccount", "name": "carrier", "namespace": "testplatform" })
    );
    let request = carried(&world, "byoc-request");
    assert_eq!(
        (&request["data"]["tenant"], &request["data"]["composite"]),
        (&json!("tenant-a"), &json!(NAME))
    );
    let parcels: Value = serde_json::from_str(request["data"]["parcels"].as_str().unwrap()).unwrap();
    assert_eq!(
        parcels,
        json!([
            { "field": "credentialsSecretRef", "from": "my-aws", "to": "byoc-credentials", "keys": ["aws_access_key_id", "aws_secret_access_key"] },
            { "field": "pullSecretRef", "from": "my-pull", "to": "byoc-pull-secret", "keys": [".dockerconfigjson"] },
        ])
    );

    world.report_copies(true, "Carried", "Carried");
    world.settle();
    let pool = carried(&world, "byoc-pool");
    assert_eq!(pool["metadata"], json!({ "name": NAME, "namespace": namespace }));
    assert_eq!(
        pool["spec"],
        json!({
            "size": 0, "maxSize": 1, "installAttemptsLimit": 1, "baseDomain": "ci.tenant.example",
            "imageSetRef": { "name": "ocp-4.20.3" }, "pullSecretRef": { "name": "byoc-pull-secret" },
            "platform": { "aws": { "region": "us-east-1", "credentialsSecretRef": { "name": "byoc-credentials" } } },
        })
    );
    let claim = manifest(&world);
    assert_eq!(claim["metadata"]["namespace"], namespace.as_str());
    assert_eq!(claim["spec"]["clusterPoolName"], NAME);
    is(&world, "RequestAccepted", "True", "Accepted");
    assert_eq!(world.status["backend"]["namespace"], namespace.as_str());
    assert_eq!(world.status["hub"]["name"], "hive-a-config");
    world.hive_publishes();
    world.settle();
    assert_eq!((world.phase().as_str(), world.tenant["kubeconfig"].as_str()), ("Ready", KUBECONFIG));

    tear_down(&mut world);
    assert_eq!(world.phase(), "Deprovisioning");
    assert!(
        PARTS.iter().all(|part| world.has_part(part)),
        "the cluster goes first: {:?}",
        world.brought.keys()
    );
    world.hive_is_done();
    world.settle();
    assert_eq!(world.phase(), "Deprovisioned");
    world.reconcile_objects();
    world.reconcile_objects();
    assert!(world.brought.is_empty(), "{:?}", world.brought.keys());
    assert!(!world.objects.keys().any(|name| name.starts_with("byoc")), "{:?}", world.objects.keys());
}

/// Core says who holds the namespace once more where that one goes between what was read and what is written, and takes back nothing of what is not
/// desired again.
#[test]
fn namespace_is_deleted_once_nothing_holds_it() {
    let mut world = ready();
    tear_down(&mut world);
    world.hive_is_done();
    let own = world.objects["byoc-namespace"].object["metadata"]["finalizers"].clone();
    let late = format!("{REFERRED}of-the-pool-before");
    let mut held = own.clone();
    held.as_array_mut().unwrap().push(late.clone().into());
    let says = |world: &mut World, finalizers: &Value| {
        world.objects.get_mut("byoc-namespace").unwrap().object["metadata"]["finalizers"] =
            finalizers.clone();
        world.pass().desired.unwrap().resources.get("byoc-namespace").cloned()
    };
    let mut said = None;
    while world.phase() != "Deprovisioned" {
        world.reconcile_objects();
        said = says(&mut world, &held);
    }
    let said =
        wire::to_value(&Resource::decode(said.expect("asked for once more")).unwrap().resource).unwrap();
    assert!(!said["metadata"]["finalizers"].to_string().contains(&late), "{said}");
    // Core has taken it back.
    assert!(says(&mut world, &own).is_none(), "and then it goes");
    world.reconcile_objects();
    world.reconcile_objects();
    assert!(world.brought.is_empty(), "{:?}", world.brought.keys());
}

#[test]
fn pool_is_deleted_before_its_namespace() {
    let world = ready();
    for part in PARTS {
        let object = &world.objects[part].object;
        let deletes = object["spec"]["managementPolicies"] == json!(["*"]);
        assert_eq!(deletes, ["byoc-namespace", "byoc-pool"].contains(&part), "{part}");
        assert_eq!(object["metadata"]["labels"][ours::COMPONENT], part);
    }
    let references = &world.objects["byoc-pool"].object["spec"]["references"];
    assert_eq!(
        references[0]["dependsOn"]["name"],
        world.objects["byoc-namespace"].object["metadata"]["name"]
    );
}

#[test]
fn failed_secret_copy_is_reported_and_recovers() {
    let mut world = World::byoc_pending();
    for (fate, reason, words) in [
        (
            "Forbidden",
            "SecretForbidden",
            "the carrier may not get Secret my-aws (spec.byoc.credentialsSecretRef)",
        ),
        ("NotFound", "SecretNotFound", "there is no Secret my-aws (spec.byoc.credentialsSecretRef)"),
        ("KeyMissing", "SecretIncomplete", "needs the keys aws_access_key_id and aws_secret_access_key"),
    ] {
        world.report_copies(false, fate, "Carried");
        world.settle();
        is(&world, "RequestAccepted", "False", reason);
        assert!(message(&world).contains(words), "{}", message(&world));
        assert!(world.status["message"].as_str().unwrap().contains(words), "{}", world.status);
        assert!(!world.objects.contains_key("byoc-pool") && world.made == 0);
    }
    // The key itself must not appear: the message has the copier's words, which may be long.
    world.report_copies(false, "KeyMissing", "Carried");
    let note =
        &mut world.brought.get_mut("byoc-request").unwrap()["metadata"]["annotations"][ours::BYOC_REPORT];
    let mut report: Value = serde_json::from_str(note.as_str().unwrap()).unwrap();
    report["words"]["credentialsSecretRef"] = json!(format!("cannot be copied: key x{}", "y".repeat(3000)));
    *note = report.to_string().into();
    world.settle();
    is(&world, "RequestAccepted", "False", "SecretIncomplete");
    let said = message(&world);
    assert!(
        said.contains("Secret my-aws (spec.byoc.credentialsSecretRef) cannot be copied: key x"),
        "{said}"
    );
    assert!(said.len() < 500, "{said}");
    // Nothing at all goes.
    let note =
        &mut world.brought.get_mut("byoc-request").unwrap()["metadata"]["annotations"][ours::BYOC_REPORT];
    *note =
        json!({ "carried": false, "secrets": {}, "refused": "it is not what is brought" }).to_string().into();
    world.settle();
    is(&world, "RequestAccepted", "False", "SecretsNotCarried");
    assert!(
        message(&world).contains("the carrier refuses: it is not what is brought"),
        "{}",
        message(&world)
    );
    assert!(!world.objects.contains_key("byoc-pool") && world.made == 0);
    // All of it at once, the weightiest first.
    world.report_copies(false, "NotFound", "Forbidden");
    world.settle();
    is(&world, "RequestAccepted", "False", "SecretForbidden");
    assert!(message(&world).contains("my-aws") && message(&world).contains("my-pull"), "{}", message(&world));
    world.report_copies(true, "Carried", "Carried");
    world.settle();
    assert_eq!(world.made, 1);
}

#[test]
fn deleted_tenant_secret_changes_no_cluster() {
    let mut world = ready();
    world.report_copies(true, "Carried", "NotFound");
    world.settle();
    is(&world, "RequestAccepted", "True", "SecretsOutdated");
    assert!(message(&world).contains("the hub keeps the Secrets"), "{}", message(&world));
    assert_eq!(world.phase(), "Ready");
    assert!(PARTS.iter().all(|part| world.has_part(part)));
}

#[test]
fn chosen_offer_stays_when_the_catalogue_changes() {
    let mut world = World::byoc_pending();
    let before = carried(&world, "byoc-namespace");
    let mut other = build_offer("other");
    other["bringYourOwn"]["imageSet"] = json!("ocp-4.20.4");
    let catalogue = world.catalogue.as_mut().unwrap();
    catalogue["pools"].as_array_mut().unwrap().push(other);
    catalogue["pools"][2]["bringYourOwn"]["imageSet"] = json!("ocp-4.20.5");
    world.settle();
    world.report_copies(true, "Carried", "Carried");
    world.settle();
    assert_eq!(carried(&world, "byoc-namespace"), before);
    assert_eq!(carried(&world, "byoc-pool")["spec"]["imageSetRef"]["name"], "ocp-4.20.3");

    // Gone before anything was asked for: it waits, and everything stays.
    let mut world = World::byoc_pending();
    world.report_copies(true, "Carried", "Carried");
    world.catalogue.as_mut().unwrap()["pools"].as_array_mut().unwrap().truncate(2);
    world.settle();
    is(&world, "RequestAccepted", "False", "PoolNotFound");
    assert!(message(&world).contains("pool offers/own-420"), "{}", message(&world));
    assert!(world.made == 0 && PARTS.iter().all(|part| world.has_part(part)));
    world.catalogue = None;
    world.drop_status();
    world.settle();
    assert!(PARTS.iter().all(|part| world.objects.contains_key(*part)), "{:?}", world.objects.keys());
}

/// Core could make `credentials` in the first pass and not the namespace; or somebody took away all that was there ahead.
#[test]
fn credentials_without_a_place_keep_the_claim_waiting() {
    type Trouble = fn(&mut World);
    let troubles: [(Trouble, &str); 3] = [
        (|world| world.environment = None, "EnvironmentConfigMissing"),
        (|world| world.catalogue = None, "PoolsMissing"),
        (
            |world| world.catalogue.as_mut().unwrap()["pools"].as_array_mut().unwrap().truncate(2),
            "PoolNotFound",
        ),
    ];
    for (trouble, reason) in troubles {
        for (forgets, noteless) in [(false, false), (true, false), (true, true)] {
            let mut world = World::with_byoc();
            world.pass();
            world.objects.remove("byoc-namespace");
            if forgets {
                world.drop_status();
            }
            let credentials = &mut world.objects.get_mut("credentials").unwrap().object;
            if noteless {
                credentials["metadata"]["annotations"] = json!({});
            }
            let before = (credentials["spec"]["providerConfigRef"].clone(), carried(&world, "credentials"));
            let whole = (world.environment.clone(), world.catalogue.clone());
            trouble(&mut world);
            world.settle();
            is(&world, "RequestAccepted", "False", reason);
            assert_eq!((world.phase().as_str(), world.made), ("Pending", 0));
            let hub = &world.objects["credentials"].object["spec"]["providerConfigRef"];
            assert_eq!((hub.clone(), carried(&world, "credentials")), before);
            assert!(!world.objects.keys().any(|name| name.starts_with("byoc")), "{:?}", world.objects.keys());

            (world.environment, world.catalogue) = whole;
            world.settle();
            is(&world, "RequestAccepted", "False", "SecretsNotCarried");
            assert!(world.objects.contains_key("byoc-request"), "{:?}", world.objects.keys());
        }
    }
}

#[test]
fn unknown_hub_is_not_replaced_by_a_second() {
    for lost in [None, Some("nonsense"), Some("[]")] {
        let mut world = World::byoc_pending();
        let before = carried(&world, "byoc-namespace");
        for part in ["byoc-access", "byoc-namespace", "byoc-request"] {
            let notes = &mut world.objects.get_mut(part).unwrap().object["metadata"]["annotations"];
            match lost {
                None => drop(notes.as_object_mut().unwrap().remove(ours::BYOC)),
                Some(text) => notes[ours::BYOC] = text.into(),
            }
        }
        world.drop_status();
        world.report_copies(true, "Carried", "Carried");
        world.settle();
        is(&world, "RequestAccepted", "False", "SecretsNotCarried");
        assert!(message(&world).contains("is no longer known; restore annotation"), "{}", message(&world));
        assert_eq!(carried(&world, "byoc-namespace"), before);
        assert!(!world.objects.contains_key("byoc-pool") && world.made == 0);
        assert_eq!(world.status["backend"]["namespace"], before["metadata"]["name"]);
    }
}

#[test]
fn offers_with_tenant_credentials_and_pools_are_separate() {
    // Without byoc: only real pools.
    let mut world = World::with_byoc();
    world.spec.as_object_mut().unwrap().remove("byoc");
    world.settle();
    assert_eq!(manifest(&world)["spec"]["clusterPoolName"], "aws-420");
    // With it: no pool, although one fits.
    let mut world = World::hive_claim();
    world.spec["byoc"] = byoc_spec();
    world.settle();
    is(&world, "RequestAccepted", "False", "PoolNotFound");
    assert!(message(&world).contains("credentials of a tenant"), "{}", message(&world));
    assert!(world.brought.is_empty() && world.made == 0);
    // Of another cloud: none.
    let mut world = World::with_byoc();
    world.spec["byoc"]["platform"] = json!({ "gcp": { "region": "europe-west1" } });
    world.settle();
    is(&world, "RequestAccepted", "False", "PoolNotFound");
}

#[test]
fn objects_around_a_foreign_claim_are_released() {
    let mut world = ready();
    world.remote.as_mut().unwrap()["metadata"]["uid"] = json!("somebody-elses");
    world.settle();
    is(&world, "ClusterReady", "False", "Failed");
    is(&world, "ProwJobCompleted", "True", "RemoteReplaced");
    for part in PARTS {
        assert_eq!(world.objects[part].object["spec"]["managementPolicies"], json!(["Observe"]), "{part}");
    }
    assert!(PARTS.iter().all(|part| world.has_part(part)) && world.remote.is_some());
}

#[test]
fn an_end_before_the_cluster_leaves_nothing() {
    for answered in [false, true] {
        let mut world = World::byoc_pending();
        if answered {
            world.report_copies(true, "Carried", "Carried");
            // The pool, and no ClusterClaim yet.
            world.reconcile_objects();
            world.pass();
            world.reconcile_objects();
        }
        assert_eq!(world.has_part("byoc-pool"), answered);
        tear_down(&mut world);
        assert_eq!((world.phase().as_str(), world.made), ("Deprovisioned", 0));
        world.reconcile_objects();
        world.reconcile_objects();
        assert!(world.brought.is_empty(), "{:?}", world.brought.keys());
    }
    let mut world = World::byoc_pending();
    world.advance_time(SignedDuration::from_hours(5));
    world.settle();
    is(&world, "ClusterReady", "False", "Failed");
    world.reconcile_objects();
    world.reconcile_objects();
    assert!(world.brought.is_empty() && world.made == 0);
}

#[test]
fn neither_a_hub_that_is_away_nor_a_restore_loses_anything() {
    let mut world = World::byoc_pending();
    world.reachable = false;
    world.settle();
    is(&world, "RequestAccepted", "False", "SecretsNotCarried");
    assert!(message(&world).contains("the connection is refused"), "{}", message(&world));
    world.reachable = true;
    world.settle();
    let mut world = ready();
    let before = PARTS.map(|part| world.objects[part].object["spec"].clone());
    world.drop_status();
    world.catalogue = None;
    world.environment = None;
    world.settle();
    assert_eq!(PARTS.map(|part| world.objects[part].object["spec"].clone()), before);
    assert_eq!((world.phase().as_str(), world.made), ("Ready", 1));
    // One of them lost is made anew, as it was.
    world.objects.remove("byoc-pool");
    world.refs.remove("byoc-pool");
    world.settle();
    assert_eq!(world.objects["byoc-pool"].object["spec"], before[3]);
}

#[test]
fn a_test_cluster_brings_them_too() {
    let mut world = World::with_byoc().in_namespace();
    world.settle();
    world.report_copies(true, "Carried", "Carried");
    world.settle();
    assert_eq!(world.made, 1, "{:#?}", world.conditions);
    assert_eq!(carried(&world, "byoc-request")["data"]["tenant"], "tenant-a");
    let depends = &world.objects["byoc-pool"].object["spec"]["references"][0]["dependsOn"];
    assert_eq!(
        (&depends["apiVersion"], &depends["namespace"]),
        (&json!("kubernetes.m.crossplane.io/v1alpha1"), &json!("tenant-a"))
    );
}

#[test]
fn every_error_of_byoc_is_reported_at_once() {
    let refused = |change: fn(&mut World)| {
        let mut world = World::with_byoc();
        change(&mut world);
        world.settle();
        assert_eq!((world.phase().as_str(), world.made), ("Failed", 0));
        is(&world, "RequestAccepted", "False", "InvalidClaim");
        assert!(world.brought.is_empty());
        message(&world)
    };
    let words = refused(|w| {
        w.spec["byoc"] = json!({
            "platform": { "aws": { "region": "US East" }, "gcp": {} }, "baseDomain": "a b", "bogus": 1,
            "credentialsSecretRef": { "name": "My_Secret" }, "sshKeySecretRef": { "name": "key" },
            "installConfigSecretRef": { "name": "config" },
        });
    });
    for part in [
        "spec.byoc.bogus: is not a field of byoc",
        "spec.byoc.platform: set exactly one of aws, azure and gcp",
        "spec.byoc.baseDomain: baseDomain must be a DNS domain",
        "spec.byoc.sshKeySecretRef: sshKeySecretRef is not served",
        "spec.byoc.installConfigSecretRef: installConfigSecretRef is not served",
        "spec.byoc.credentialsSecretRef.name: name must be an RFC 1123 subdomain",
    ] {
        assert!(words.contains(part), "{part} is not in: {words}");
    }
    let words = refused(|w| w.spec["byoc"]["platform"] = json!({ "azure": { "region": "eastus" } }));
    assert!(words.contains("spec.byoc.platform.azure.baseDomainResourceGroupName"), "{words}");
    let words = refused(|w| w.spec["byoc"]["platform"]["aws"]["credentialsAssumeRole"] = json!({}));
    assert!(words.contains("spec.byoc.platform.aws.credentialsAssumeRole"), "{words}");
    let words = refused(|w| w.spec["clusterClaim"]["cloud"] = json!("gcp"));
    assert!(words.contains("spec.clusterClaim.cloud: is not aws, of which spec.byoc.platform is"), "{words}");
    let words = refused(|w| w.spec = json!({ "ciOperator": { "test": {} }, "byoc": byoc_spec() }));
    assert!(words.contains("spec.byoc: byoc is served with clusterClaim and template only"), "{words}");
    let words = refused(|w| w.claim = false);
    assert!(words.contains("spec.byoc: needs a claim"), "{words}");
}
