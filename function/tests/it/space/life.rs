//! In which order a space is made, and what is in it.

use serde_json::{Value, json};
use testplatform_apis::names::ours;

use crate::space::world::{NAMESPACE, SpaceWorld, token};

const CONTENT: [&str; 7] = [
    "allow-from-openshift",
    "allow-same-namespace",
    "quota",
    "quota-not-terminating",
    "quota-terminating",
    "resource-limits",
    "serviceaccount",
];

#[test]
fn objects_of_a_space_are_created_in_order() {
    let mut world = SpaceWorld::default();
    world.pass();
    assert_eq!(world.names(), ["namespace"]);
    assert_eq!(world.reason(), "SpaceNamespacePending");
    world.look("namespace");
    world.pass();
    assert_eq!(world.names().len(), 8, "{:?}", world.names());
    assert_eq!(world.reason(), "SpaceContentPending");
    // Nobody has rights while one thing that limits them is missing.
    for name in &CONTENT[1..] {
        world.look(name);
        world.pass();
        assert!(!world.objects.contains_key("rolebinding"), "after {name}");
    }
    world.look(CONTENT[0]);
    world.pass();
    assert!(world.objects.contains_key("rolebinding"));
    let marked =
        |world: &SpaceWorld| world.manifest("namespace")["metadata"]["labels"][ours::SPACE_ACCOUNT].clone();
    assert_eq!(marked(&world), Value::Null);
    world.look("rolebinding");
    world.pass();
    assert_eq!(marked(&world), "namespace-manager");
    assert_eq!(world.reason(), "SpaceCredentialsPending");
    assert!(!world.objects.contains_key("credentials"), "what is not there is not looked for");
    world.look("namespace");
    world.publish(false);
    world.look("namespace");
    world.pass();
    assert_eq!(world.names().len(), 10, "{:?}", world.names());
    assert!(!world.ready);
    world.look("credentials");
    world.pass();
    assert!(world.ready);
    assert_eq!((world.reason().as_str(), &world.status["phase"]), ("SpaceAvailable", &json!("Ready")));
    assert_eq!(world.status["namespace"], NAMESPACE);
    assert_eq!(world.given["token"], token(1));
    assert_eq!(world.noise, [""; 0]);
    assert_eq!(world.events, ["SpaceAvailable"]);
    let before = world.objects.clone();
    world.settle();
    assert_eq!(world.objects, before, "at rest nothing changes");
}

/// Figures, names and rights are today's; a test that repeats them sees a change.
#[test]
fn space_has_the_objects_of_the_incumbent() {
    let mut world = SpaceWorld::default();
    world.settle();
    let quota = world.manifest("quota");
    assert_eq!(quota["spec"]["hard"].as_object().unwrap().len(), 20);
    for (resource, amount) in [
        ("requests.storage", "50Gi"),
        ("limits.ephemeral-storage", "50Gi"),
        ("count/persistentvolumeclaims", "12"),
        ("count/deployments.apps", "30"),
        ("count/pods", "150"),
        ("count/secrets", "100"),
        ("count/ingresses.extensions", "0"),
        ("count/routes.route.openshift.io", "0"),
        ("count/clustertemplateinstances.clustertemplate.openshift.io", "5"),
    ] {
        assert_eq!(quota["spec"]["hard"][resource], amount, "{resource}");
    }
    let of = |name: &str| world.manifest(name)["spec"].clone();
    assert_eq!(
        of("quota-not-terminating"),
        json!({ "scopes": ["NotTerminating"], "hard": {
            "requests.cpu": "1750m", "requests.memory": "32Gi", "limits.cpu": "20", "limits.memory": "32Gi",
        } })
    );
    assert_eq!(
        of("quota-terminating"),
        json!({ "scopes": ["Terminating"], "hard": { "cpu": "0", "memory": "0", "pods": "0" } })
    );
    assert_eq!(
        of("resource-limits"),
        json!({ "limits": [{
            "type": "Container", "default": { "cpu": "2000m", "memory": "2Gi" },
            "defaultRequest": { "cpu": "10m", "memory": "256Mi" },
        }] })
    );
    assert_eq!(
        of("allow-same-namespace"),
        json!({ "podSelector": {}, "ingress": [{ "from": [{ "podSelector": {} }] }] })
    );
    let from: Vec<Value> = [
        ("network.openshift.io/policy-group", "console"),
        ("network.openshift.io/policy-group", "monitoring"),
        ("network.openshift.io/policy-group", "ingress"),
        ("openshift.io/scc", "anyuid"),
    ]
    .map(|(key, value)| json!({ "namespaceSelector": { "matchLabels": { (key): value } } }))
    .into();
    let open = json!({ "podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{ "from": from }] });
    assert_eq!(of("allow-from-openshift"), open);
    let binding = world.manifest("rolebinding");
    assert_eq!(binding["metadata"], json!({ "name": "namespace-manager-rb", "namespace": NAMESPACE }));
    assert_eq!(
        binding["roleRef"],
        json!({ "kind": "ClusterRole", "name": "edit", "apiGroup": "rbac.authorization.k8s.io" })
    );
    let account = json!({ "kind": "ServiceAccount", "name": "namespace-manager", "namespace": NAMESPACE });
    assert_eq!(binding["subjects"], json!([account]));
    let home = &world.objects["namespace"];
    assert_eq!(home["metadata"]["annotations"]["crossplane.io/external-name"], NAMESPACE);
    assert_eq!(world.manifest("namespace")["metadata"]["labels"]["konflux-ci.dev/namespace-type"], "eaas");
    for (name, object) in &world.objects {
        assert_eq!(object["spec"]["providerConfigRef"]["name"], "eaas-kubernetes-provider-config", "{name}");
        let policies = object["spec"]["managementPolicies"].to_string();
        assert_eq!(
            policies == "null",
            name == "namespace",
            "only the namespace is ever deleted: {name} {policies}"
        );
        assert!(!policies.contains("Delete"), "{name}");
    }
}

#[test]
fn a_token_that_is_replaced_reaches_the_tenant_at_once() {
    let mut world = SpaceWorld::default();
    world.settle();
    world.publish(true);
    world.look("namespace");
    world.pass();
    let noted = &world.objects["credentials"]["metadata"]["annotations"][ours::CREDENTIALS_REVISION];
    assert_eq!(noted, "2", "which makes provider-kubernetes read it again");
    assert_eq!(world.given["token"], token(1));
    world.look("credentials");
    world.pass();
    assert_eq!(world.given["token"], token(2));
    assert_eq!(world.events, ["SpaceAvailable"]);
}

#[test]
fn changed_input_reaches_live_spaces() {
    let mut world = SpaceWorld::default();
    world.settle();
    world.input = Some(json!({ "spaces": {
        "quotas": { "all": { "count/pods": 5 }, "terminating": {} },
        "limits": { "default": { "cpu": "1" } },
        "clusterRole": "view", "providerConfig": "other", "credentialsNamespace": "other",
    } }));
    world.settle();
    assert_eq!(world.manifest("quota")["spec"]["hard"], json!({ "count/pods": "5" }));
    assert_eq!(world.manifest("resource-limits")["spec"]["limits"][0]["default"], json!({ "cpu": "1" }));
    // Objects that the claim no longer names stay; their place and their values cannot change.
    assert_eq!(world.manifest("quota-terminating")["spec"]["hard"]["pods"], "0");
    assert_eq!(world.manifest("rolebinding")["roleRef"]["name"], "edit");
    assert_eq!(world.manifest("credentials")["metadata"]["namespace"], "testplatform-spaces");
    for (name, object) in &world.objects {
        assert_eq!(object["spec"]["providerConfigRef"]["name"], "eaas-kubernetes-provider-config", "{name}");
    }
    // A new one is made as it says.
    let mut new = SpaceWorld { input: world.input.clone(), ..SpaceWorld::default() };
    new.settle();
    assert!(new.ready && !new.objects.contains_key("quota-terminating"));
    assert_eq!(new.manifest("rolebinding")["roleRef"]["name"], "view");
    assert_eq!(new.manifest("credentials")["metadata"]["namespace"], "other");
    assert_eq!(new.objects["quota"]["spec"]["providerConfigRef"]["name"], "other");
}

#[test]
fn a_composite_without_a_claim_is_an_administrators() {
    let mut world = SpaceWorld { claimed: false, ..SpaceWorld::default() };
    world.settle();
    assert!(world.ready);
}
