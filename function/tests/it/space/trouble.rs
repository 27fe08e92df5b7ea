//! Trouble of spaces, and the objects that stay through it.

use jiff::Timestamp;
use serde_json::json;
use testplatform_apis::names::ours;
use testplatform_composites::{Options, run, sdk::proto::Severity};

use crate::space::world::{NAMESPACE, SpaceWorld, token};

fn ready() -> SpaceWorld {
    let mut world = SpaceWorld::default();
    world.settle();
    world.events.clear();
    world
}

#[test]
fn unreachable_hub_withdraws_nothing() {
    let mut world = ready();
    for name in world.names() {
        world.fail(&name, "observe failed: cannot get object: Get \"https://api:6443\": dial tcp: connect: connection refused");
    }
    let before = world.objects.clone();
    world.pass();
    assert!(world.ready && world.given["token"] == token(1));
    assert_eq!(
        (world.reason().as_str(), &world.status["phase"]),
        ("SpaceHubUnreachable", &json!("Degraded"))
    );
    assert_eq!(world.events, ["SpaceHubUnreachable"]);
    for (name, object) in &before {
        assert_eq!(world.objects[name]["spec"], object["spec"], "{name}");
    }
    for name in world.names() {
        world.look(&name);
    }
    world.pass();
    assert_eq!(world.reason(), "SpaceAvailable");
    assert_eq!(world.events, ["SpaceHubUnreachable", "SpaceAvailable"]);
}

#[test]
fn refusal_is_reported_in_the_hubs_words() {
    let mut world = SpaceWorld::default();
    world.pass();
    let words = "namespaces \"x\" is forbidden: no more namespaces";
    world.fail("namespace", &format!("create failed: cannot create object: cannot create object: {words}"));
    world.pass();
    assert_eq!(world.reason(), "SpaceRefused");
    assert!(world.status["message"].as_str().unwrap().ends_with(words), "{}", world.status);
    assert_eq!(world.names(), ["namespace"]);
}

/// Whoever names a claim's composite names its namespace, too.
#[test]
fn existing_namespace_is_not_taken_over() {
    let mut world = SpaceWorld::default();
    let before = json!({ "metadata": { "name": NAMESPACE, "uid": "somebody-elses", "annotations": {} } });
    let at = format!("Namespace/{NAMESPACE}");
    world.hub.insert(at.clone(), before.clone());
    world.settle();
    assert_eq!((world.reason().as_str(), world.ready, world.issued), ("SpaceRefused", false, 0));
    assert!(world.status["message"].as_str().unwrap().ends_with("it is not used"), "{}", world.status);
    assert_eq!(world.names(), ["namespace"]);
    assert_eq!(world.hub, [(at, before)].into());
    // Nor does it go with the claim.
    assert_eq!(world.objects["namespace"]["spec"]["managementPolicies"], json!(["Observe", "Create"]));
    // One that was made here is this claim's from then on.
    let ready = ready();
    assert_eq!(ready.objects["namespace"]["spec"]["managementPolicies"], json!(null));
    // Nothing is left of it but what the tenant was given, as after a restore: that it was given tells whose it is.
    let mut restored = ready.clone();
    restored.objects.clear();
    restored.details.clear();
    restored.status = json!({});
    restored.settle();
    assert_eq!((restored.reason().as_str(), &restored.hub), ("SpaceAvailable", &ready.hub));
}

/// Deleted behind our back: it is made anew with all that was in it, and the tenant gets credentials of the new one.
#[test]
fn namespace_deleted_on_the_hub_is_recreated() {
    let mut world = ready();
    world.home().unwrap()["metadata"]["deletionTimestamp"] = "2026-11-23T10:00:00Z".into();
    world.look("namespace");
    world.pass();
    assert_eq!(world.reason(), "SpaceTerminating");
    assert!(world.ready);
    world.hub.clear();
    world.look("namespace");
    world.publish(false);
    world.settle();
    assert_eq!(world.given["token"], token(2));
    assert_eq!(world.reason(), "SpaceAvailable");
}

/// The old Secret is still there while the namespace is new already: it is nobody's.
#[test]
fn credentials_of_another_namespace_of_the_name_are_not_given() {
    let mut world = ready();
    world.given.clear();
    world.ready = false;
    let seen = world.objects.get_mut("credentials").unwrap();
    seen["status"]["atProvider"]["manifest"]["metadata"]["labels"][ours::OWNER_UID] = "of another".into();
    world.pass();
    assert!(!world.ready);
    assert_eq!(world.reason(), "SpaceCredentialsPending");
    let details = world.details.get_mut("credentials").unwrap();
    details.insert("namespace".into(), "kube-system".into());
    let seen = world.objects.get_mut("credentials").unwrap();
    seen["status"]["atProvider"]["manifest"]["metadata"]["labels"] = json!({});
    world.pass();
    assert!(!world.ready, "credentials of another namespace");
}

/// Whatever of the status is lost, nothing is taken from the tenant, and nothing of the space.
#[test]
fn status_is_a_copy() {
    let mut world = ready();
    (world.status, world.conditions) = (json!({}), [].into());
    for object in world.objects.values_mut() {
        object.as_object_mut().unwrap().remove("status");
    }
    world.details.clear();
    world.pass();
    assert!(world.ready && world.given["token"] == token(1));
    world.settle();
    assert_eq!(world.reason(), "SpaceAvailable");
    // The Object that carries the namespace is lost: it is made again, and finds what is there.
    let before = world.hub.clone();
    world.objects.remove("namespace");
    world.settle();
    assert_eq!(world.hub, before);
}

#[test]
fn a_name_that_is_none_is_refused() {
    let mut world = SpaceWorld { name: "x".repeat(64), ..SpaceWorld::default() };
    world.pass();
    assert_eq!(world.names(), [""; 0]);
    assert_eq!(world.reason(), "SpaceNameInvalid");
    let mut world = SpaceWorld { name: "a.b-c".into(), ..SpaceWorld::default() };
    world.pass();
    assert_eq!(world.manifest("namespace")["metadata"]["name"], "a-b-c");
}

/// An administrator's input that cannot be read changes nothing: live spaces stay as they were.
#[test]
fn an_input_that_cannot_be_read_changes_nothing() {
    for wrong in [json!({ "all": { "count/pods": "many" } }), json!({ "all": 3 })] {
        let mut world = ready();
        world.input = Some(json!({ "spaces": { "quotas": wrong } }));
        let request = function_model::request_from_json(&world.request());
        let response = run(&request, &Options::default(), Timestamp::UNIX_EPOCH);
        let result = &response.results[0];
        assert_eq!(result.severity(), Severity::Fatal);
        assert!(result.message.contains("input"), "{}", result.message);
        assert_eq!(response.conditions.len(), 1, "what is shown is said again");
    }
}

#[test]
fn objects_of_a_newer_version_stay() {
    let mut world = ready();
    let object = json!({
        "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object",
        "metadata": { "name": "x", "labels": { ours::COMPONENT: "mirror" } },
    });
    world.objects.insert("mirror".into(), object);
    let request = function_model::request_from_json(&world.request());
    let response = run(&request, &Options::default(), Timestamp::UNIX_EPOCH);
    assert_eq!(response.results[0].reason.as_deref(), Some("NewerVersion"));
    // Another step's is left alone.
    world.objects.get_mut("mirror").unwrap()["metadata"]["labels"] = json!({});
    let request = function_model::request_from_json(&world.request());
    let response = run(&request, &Options::default(), Timestamp::UNIX_EPOCH);
    assert!(!response.desired.unwrap().resources.contains_key("mirror"));
}

/// Another kind of this name, in another group, is none of ours.
#[test]
fn space_is_recognized_by_group_and_kind() {
    let mut request = SpaceWorld::default().request();
    assert!(testplatform_composites::space::handles_kind(&function_model::request_from_json(&request)));
    request["observed"]["composite"]["resource"]["apiVersion"] = "example.org/v1".into();
    assert!(!testplatform_composites::space::handles_kind(&function_model::request_from_json(&request)));
    assert_eq!(NAMESPACE.len(), crate::space::world::XR.len());
}
