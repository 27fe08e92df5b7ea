//! Spaces that the incumbent made.

use serde_json::{Value, json};

use crate::space::world::{NAMESPACE, SERVER, SpaceWorld, XR, token};

/// One of the incumbent's that is ready: its Objects have no policies, and beside them is the one with the token.
fn made() -> SpaceWorld {
    let mut world = SpaceWorld::default();
    world.settle();
    world.objects.remove("credentials");
    world.details.clear();
    world.published = None;
    world.issued = 0;
    for (name, object) in &mut world.objects {
        let spec = object["spec"].as_object_mut().unwrap();
        for field in ["managementPolicies", "readiness", "watch"] {
            spec.remove(field);
        }
        spec.insert("deletionPolicy".into(), "Delete".into());
        spec.insert("managementPolicies".into(), json!(["*"]));
        if name == "namespace" {
            for part in ["/spec/forProvider/manifest", "/status/atProvider/manifest"] {
                let manifest = object.pointer_mut(part).unwrap();
                manifest["metadata"]["labels"] = json!({ "konflux-ci.dev/namespace-type": "eaas" });
                manifest["metadata"].as_object_mut().unwrap().remove("annotations");
            }
        }
    }
    let home = world.home().unwrap();
    home["metadata"]["labels"] = json!({ "konflux-ci.dev/namespace-type": "eaas" });
    home["metadata"].as_object_mut().unwrap().remove("annotations");
    let secret = secret("namespace-manager");
    world.objects.insert("secret".into(), secret);
    world.look("secret");
    world.details.insert("secret".into(), read());
    world.given = given();
    (world.status, world.conditions, world.events) = (json!({}), [].into(), vec![]);
    // Nobody has seen it through this function yet.
    world.ready = false;
    world
}

fn secret(name: &str) -> Value {
    let detail = |key: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "name": name, "namespace": NAMESPACE,
            "fieldPath": format!("data.{key}"), "toConnectionSecretKey": key,
        })
    };
    json!({
        "apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object",
        "metadata": { "name": format!("{XR}-q7xkw") },
        "spec": {
            "deletionPolicy": "Delete",
            "managementPolicies": ["*"],
            "references": [{ "patchesFrom": {
                "apiVersion": "v1", "kind": "Secret", "name": "eaas-cluster", "namespace": "crossplane-system",
                "fieldPath": "data.apiserver",
            } }],
            "forProvider": { "manifest": {
                "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
                "metadata": {
                    "name": name, "namespace": NAMESPACE,
                    "annotations": { "kubernetes.io/service-account.name": name },
                },
                "data": { "apiserver": "aHR0cHM6Ly9hcGkuaHViLmV4YW1wbGUuY29tOjY0NDM=" },
            } },
            "connectionDetails": [detail("token"), detail("apiserver")],
            "providerConfigRef": { "name": "eaas-kubernetes-provider-config" },
            "writeConnectionSecretToRef": { "name": XR, "namespace": "crossplane-connections" },
            "somethingNewer": { "kept": true },
        },
    })
}

fn read() -> std::collections::BTreeMap<String, String> {
    [("token", token(9)), ("apiserver", SERVER.into())].map(|(k, v)| (k.to_owned(), v)).into()
}

fn given() -> std::collections::BTreeMap<String, String> {
    let mut given = crate::space::world::credentials(&token(9));
    given.insert("kubeconfig".into(), format!("as the incumbent wrote it, with {}", token(9)));
    given
}

#[test]
fn live_space_of_the_incumbent_stays_unchanged() {
    let mut world = made();
    let before = world.clone();
    world.pass();
    assert!(world.ready);
    world.settle();
    assert_eq!(world.given, before.given, "to the byte");
    assert_eq!(
        world.objects["secret"]["spec"], before.objects["secret"]["spec"],
        "what it does not know too"
    );
    assert!(!world.objects.contains_key("credentials") && world.issued == 0, "no second token");
    for (name, object) in &before.objects {
        assert_eq!(world.objects[name]["metadata"]["name"], object["metadata"]["name"]);
        assert_eq!(world.manifest(name), before.manifest(name), "{name}");
    }
    assert_eq!(world.hub, before.hub, "nothing of it changes on the hub");
    assert_eq!(world.reason(), "SpaceAvailable");
    assert_eq!(world.noise, [""; 0]);
}

/// Taken over before the token was there: it is waited for and put together as the incumbent does.
#[test]
fn unfinished_space_of_the_incumbent_is_finished() {
    let mut world = made();
    world.details.remove("secret");
    world.given.clear();
    world.pass();
    assert!(!world.ready);
    assert_eq!(world.reason(), "SpaceCredentialsPending");
    world.details.insert("secret".into(), [("token".to_owned(), token(9))].into());
    world.pass();
    assert!(!world.ready, "half known");
    world.details.insert("secret".into(), read());
    world.pass();
    assert!(world.ready);
    let config: Value = serde_json::from_str(&world.given["kubeconfig"]).unwrap();
    assert_eq!(config["clusters"][0]["cluster"], json!({ "server": SERVER }));
    assert_eq!(config["users"][0]["user"]["token"], token(9));
    assert_eq!(config["contexts"][0]["context"]["namespace"], NAMESPACE);
    // Somebody gives it another token.
    world.details.get_mut("secret").unwrap().insert("token".into(), token(10));
    world.pass();
    assert_eq!(world.given["token"], token(10));
    assert!(world.given["kubeconfig"].contains(&token(10)));
}

/// The token cannot be read for a while: what the tenant has stays.
#[test]
fn delivered_token_stays_when_unreadable() {
    let mut world = made();
    world.pass();
    world.details.remove("secret");
    world.fail("secret", "observe failed: cannot get object: Unauthorized");
    world.pass();
    assert!(world.ready && world.given == given());
    assert_eq!(
        (world.reason().as_str(), &world.status["phase"]),
        ("SpaceHubUnreachable", &json!("Degraded"))
    );
}

/// In its first pass the incumbent writes `<no value>` for the name: no hub ever took that, and it becomes a space of ours.
#[test]
fn nameless_object_of_the_incumbent_is_not_kept() {
    let mut world = made();
    world.given.clear();
    world.details.clear();
    world.objects.insert("secret".into(), secret("<no value>"));
    let request = function_model::request_from_json(&world.request());
    let response = testplatform_composites::run(
        &request,
        &testplatform_composites::Options::default(),
        jiff::Timestamp::UNIX_EPOCH,
    );
    let desired = response.desired.unwrap().resources;
    assert!(!desired.contains_key("secret") && desired.contains_key("namespace"), "{:?}", response.results);
    world.objects.remove("secret");
    world.settle();
    assert!(world.ready);
    assert_eq!(world.given["token"], token(1));
}
